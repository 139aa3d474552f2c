/**
 * `npm run bench`: the figures of README.md, measured and printed. Starts everything itself on loopback, in temporary
 * folders and on free ports; ends within forty minutes.
 *
 *     --only three,call,start,memory,open,ready,recovery,mastra,scale,subscribers,resume,overload,websockets,cron,events,webhooks,million,ui,streams,script,growth   some of it
 *     --case 'cancel|retry'   of growth only what this matches
 *     --quick     one short round: to see that it works, not for figures
 *     --against REF   the same load on this and another commit: three,call,start,webhook,event,memory
 *     --profile   where the server's CPU goes during `three`, 16 at once; with `--only call` during that
 *
 * A full run writes results/<date>.json and the table in README.md; all of growth writes its own table there.
 */
import { parseArgs } from "node:util";
import { AGAINST_PARTS, measureAgainst, type AgainstPart } from "./against.ts";
import { tableOf } from "./figures.ts";
import { measureCron } from "./cron.ts";
import { measureEvents } from "./events.ts";
import { measureGrowth } from "./growth.ts";
import { endEverything, startFloor, startServer, startSinkProcess, temporaryFolder } from "./launch.ts";
import { measureAssistant } from "./assistant.ts";
import { measureLlm } from "./llm.ts";
import { startGenerator, type Generator } from "./load.ts";
import { measureMastra } from "./mastra.ts";
import { measureMemory, measureOpen, measureReady, measureRecovery } from "./once.ts";
import { profile } from "./profile.ts";
import { aboutLine, machine, today, writeReadme, writeResult } from "./report.ts";
import { measureResume } from "./resume.ts";
import { measureMcp } from "./mcp.ts";
import { measureScript } from "./script.ts";
import { measureMillion } from "./million-events.ts";
import { measureNeighbours } from "./neighbours.ts";
import { measureOverload } from "./overload.ts";
import { measureScale } from "./scale.ts";
import { measureCall, measureStarts, measureThree, type Effort, type Measured, type Setting } from "./speed.ts";
import { measureStreams } from "./streams.ts";
import { measureSubscribers } from "./subscribers.ts";
import { measureUi } from "./ui.ts";
import { measureWebhooks } from "./webhooks.ts";
import { measureWebSockets } from "./websockets.ts";
import { makeWorld } from "./world.ts";

const FULL: Effort = { rounds: 3, togetherMs: 5_000, aloneMs: 3_000, warmUpMs: 6_000 };
const QUICK: Effort = { rounds: 1, togetherMs: 2_000, aloneMs: 1_000, warmUpMs: 1_000 };
const LONGEST_MS = 40 * 60_000;

const SPEED = { three: measureThree, call: measureCall, start: measureStarts };
const ONCE = {
  memory: (generator: Generator, sinkUrl: string) => measureMemory(generator, sinkUrl),
  open: (_generator: Generator, sinkUrl: string) => measureOpen(sinkUrl),
  ready: () => measureReady(5),
  recovery: (generator: Generator, sinkUrl: string) => measureRecovery(generator, sinkUrl),
  mastra: measureMastra,
  scale: measureScale,
  subscribers: measureSubscribers,
  resume: measureResume,
  neighbours: measureNeighbours,
  overload: measureOverload,
  websockets: measureWebSockets,
  cron: measureCron,
  events: measureEvents,
  webhooks: measureWebhooks,
  million: measureMillion,
  ui: measureUi,
  llm: measureLlm,
  mcp: measureMcp,
  script: measureScript,
  streams: measureStreams,
  assistant: measureAssistant,
};
type Part = keyof typeof SPEED | keyof typeof ONCE | "growth";
const USUAL = [...Object.keys(SPEED), ...Object.keys(ONCE)] as Part[];
/** `growth` takes longer than all others together, and is asked for by its name. */
const PARTS: Part[] = [...USUAL, "growth"];

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

type Options = { only: Part[]; case?: string; quick: boolean; profile: boolean };

function choose<Name extends string>(
  only: string | undefined,
  known: readonly Name[],
  usual: readonly Name[] = known,
): Name[] {
  const names = (only?.split(",") ?? usual) as Name[];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--only takes ${known.join(", ")}; not ${unknown}`);
  return names;
}

const readArguments = () =>
  parseArgs({
    options: {
      only: { type: "string" },
      case: { type: "string" },
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      against: { type: "string" },
    },
  }).values;

/** The figures that need server and floor side by side. */
async function measureSpeed(parts: Part[], effort: Effort, generator: Generator, sinkUrl: string): Promise<Measured[]> {
  const chosen = (Object.keys(SPEED) as (keyof typeof SPEED)[]).filter((part) => parts.includes(part));
  if (chosen.length === 0) return [];
  using folder = temporaryFolder();
  await using floor = await startFloor(folder.path, sinkUrl);
  await using server = await startServer({ folder: folder.path });
  const setting: Setting = { generator, server, floor, effort, world: await makeWorld(server, sinkUrl) };
  const measured: Measured[] = [];
  for (const part of chosen) {
    say(part);
    measured.push(await SPEED[part](setting));
  }
  return measured;
}

async function measureAll({ only, quick, ...options }: Options): Promise<Measured[]> {
  await using sink = await startSinkProcess();
  await using generator = startGenerator();
  const measured: Measured[] = [];
  for (const part of Object.keys(ONCE) as (keyof typeof ONCE)[]) {
    if (!only.includes(part)) continue;
    say(part);
    measured.push(await ONCE[part](generator, sink.url, quick));
  }
  if (only.includes("growth")) {
    const growth = await measureGrowth(sink.url, quick, new RegExp(options.case ?? ""));
    if (!quick && options.case === undefined) writeReadme("growth", `${aboutLine(machine())}\n\n${growth.table!}`);
    measured.push(growth);
  }
  return [...(await measureSpeed(only, quick ? QUICK : FULL, generator, sink.url)), ...measured];
}

async function showProfile({ only, quick }: Options, about: string): Promise<void> {
  const agent = only.length === 1 && only[0] === "call" ? "call" : "three";
  const text = `${agent} · ${about}\n\n${await profile(agent)}`;
  console.log(text);
  if (!quick && agent === "three") writeReadme("profile", text);
}

async function showAgainst(reference: string, parts: AgainstPart[], isQuick: boolean): Promise<void> {
  const before = aboutLine(machine());
  await using sink = await startSinkProcess();
  await using generator = startGenerator();
  console.log(`${before}\n\n${await measureAgainst(reference, parts, isQuick, generator, sink.url)}`);
}

async function main(): Promise<void> {
  const { only, case: wanted, against, ...rest } = readArguments();
  if (against !== undefined) return showAgainst(against, choose(only, AGAINST_PARTS), rest.quick);
  const options: Options = { ...rest, only: choose(only, PARTS, USUAL), ...(wanted !== undefined && { case: wanted }) };
  const about = machine();
  if (options.profile) return showProfile(options, aboutLine(about));
  const measured = await measureAll(options);
  const figures = measured.flatMap((one) => one.figures);
  const details = Object.assign({}, ...measured.map((one) => one.details)) as Record<string, unknown>;
  const tables = [tableOf(figures), ...measured.flatMap((one) => one.table ?? [])];
  const table = [aboutLine(about), ...tables].join("\n\n");
  console.log(table);
  if (options.quick || options.only.length < USUAL.length) return;
  writeReadme("figures", table);
  say(`written to ${writeResult(today(), { ...about, figures, details })}`);
}

if (import.meta.main) {
  if (process.platform !== "linux") throw new Error("the bench reads CPU and memory from Linux's /proc");
  const giveUp = (why: string): void => {
    say(`given up: ${why}`);
    void endEverything().finally(() => process.exit(1));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, giveUp);
  const tooLong = setTimeout(giveUp, LONGEST_MS, `more than ${LONGEST_MS / 60_000} minutes`);
  await main().catch(async (error: unknown) => {
    await endEverything();
    throw error;
  });
  clearTimeout(tooLong);
}
