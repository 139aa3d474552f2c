/**
 * `npm run bench -- --against REF`: what each part costs here and at another commit, on the same machine in the same minutes. Both servers
 * run at once, each as its own `npm start` starts it, and are loaded in turn: theirs, ours, ours, theirs, … What else the machine does
 * changes within seconds, so each pair of neighbours gives a ratio, and the median of the ratios is what counts.
 */
import fs from "node:fs";
import path from "node:path";
import { checkOut, type Checkout } from "./checkout.ts";
import { eventRequest } from "./events.ts";
import { markdown, short } from "./figures.ts";
import { ROOT, startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, median, type Sample, type Target } from "./measure.ts";
import { measureFresh } from "./once.ts";
import { webhookRequest } from "./webhooks.ts";
import { makeWorld, runToResult, startOnly, untilEnded, type Request, type World } from "./world.ts";

export const AGAINST_PARTS = ["three", "call", "start", "webhook", "event", "memory"] as const;
export type AgainstPart = (typeof AGAINST_PARTS)[number];
type LoadPart = Exclude<AgainstPart, "memory">;

type Side = "theirs" | "ours";
type Subject = { server: Server; world: World };

type Load = {
  /** The length of one measurement: seconds of it on two cores, so that clock ticks of 10 ms are nothing. */
  requests: number;
  request: (subject: Subject) => Request | Promise<Request>;
  /** Runs go on after the answer. */
  settles?: boolean;
  /** A field of the schema without which a commit can't do it. */
  needs?: string;
};

const LOADS: Record<LoadPart, Load> = {
  three: { requests: 3_000, request: ({ server, world }) => runToResult(server, world, "three") },
  call: { requests: 1_500, request: ({ server, world }) => runToResult(server, world, "call") },
  start: { requests: 3_000, request: ({ server, world }) => startOnly(server, world, "three"), settles: true },
  webhook: {
    requests: 3_000,
    request: ({ server, world }) => webhookRequest(server, world),
    settles: true,
    needs: "createTrigger",
  },
  event: { requests: 6_000, request: ({ server, world }) => eventRequest(server, world), needs: "publishEvent" },
};

const TOGETHER = 16;
const FULL = { rounds: 10, warmUps: 2, share: 1, fresh: 4, memoryRuns: 20_000 };
const QUICK = { rounds: 4, warmUps: 1, share: 1 / 2, fresh: 2, memoryRuns: 5_000 };

type Row = { figure: string; unit: string; theirs: number[]; ours: number[] };
const COLUMNS = ["figure", "theirs", "ours", "ratio", "half of them", "all"] as const;

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

/** Returns the table. */
export async function measureAgainst(
  reference: string,
  parts: AgainstPart[],
  isQuick: boolean,
  generator: Generator,
  sinkUrl: string,
): Promise<string> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  const theirs = await checkOut(reference, folder.path);
  const able = parts.filter((part) => part === "memory" || canDo(theirs, LOADS[part]));
  const rows = await measureLoads(theirs, able.filter(isLoad), effort, generator, sinkUrl);
  if (able.includes("memory")) rows.push(...(await measureMemories(theirs, effort, generator, sinkUrl)));
  const missing = parts.filter((part) => !able.includes(part)).map((part) => `${theirs.name} has no ${part}.`);
  return [`Theirs is ${theirs.name}.`, ...missing, tableOf(rows)].join("\n\n");
}

const isLoad = (part: AgainstPart): part is LoadPart => part !== "memory";

const canDo = ({ root }: Checkout, { needs }: Load): boolean =>
  needs === undefined || fs.readFileSync(path.join(root, "schema.graphql"), "utf8").includes(`${needs}(`);

async function measureLoads(
  theirs: Checkout,
  parts: LoadPart[],
  effort: typeof FULL,
  generator: Generator,
  sinkUrl: string,
): Promise<Row[]> {
  if (parts.length === 0) return [];
  using first = temporaryFolder();
  using second = temporaryFolder();
  await using their = await startServer({ folder: first.path, checkout: theirs.root });
  await using our = await startServer({ folder: second.path, checkout: ROOT });
  const subjects: Record<Side, Subject> = {
    theirs: { server: their, world: await makeWorld(their, sinkUrl) },
    ours: { server: our, world: await makeWorld(our, sinkUrl) },
  };
  const rows: Row[] = [];
  for (const part of parts) {
    say(part);
    const { theirs: before, ours } = await measurePart(LOADS[part], subjects, effort, generator);
    rows.push(...rowsOf(part, before, ours));
  }
  return rows;
}

async function measurePart(
  load: Load,
  subjects: Record<Side, Subject>,
  { rounds, warmUps, share }: typeof FULL,
  generator: Generator,
): Promise<Record<Side, Sample[]>> {
  const targetOf = async (subject: Subject): Promise<Target> => ({
    request: await load.request(subject),
    roots: subject.server.roots,
    ...(load.settles && { settled: untilEnded(subject.server, subject.world) }),
  });
  const targets = { theirs: await targetOf(subjects.theirs), ours: await targetOf(subjects.ours) };
  const amount = { connections: TOGETHER, requests: load.requests };
  await interleaved(generator, targets, { ...amount, rounds: warmUps });
  const each = { ...amount, requests: load.requests * share, rounds };
  return (await interleaved(generator, targets, each)).rounds;
}

/** Each with nothing else running, theirs first and ours first in turn. */
async function measureMemories(
  theirs: Checkout,
  { fresh, memoryRuns }: typeof FULL,
  generator: Generator,
  sinkUrl: string,
): Promise<Row[]> {
  const found: Record<Side, Awaited<ReturnType<typeof measureFresh>>[]> = { theirs: [], ours: [] };
  const roots: Record<Side, string> = { theirs: theirs.root, ours: ROOT };
  for (let round = 0; round < fresh; round++) {
    say(`memory, ${round + 1} of ${fresh}`);
    const order: Side[] = round % 2 === 0 ? ["theirs", "ours"] : ["ours", "theirs"];
    for (const side of order) found[side].push(await measureFresh(generator, sinkUrl, memoryRuns, roots[side]));
  }
  const row = (figure: string, unit: string, of: (one: (typeof found)["ours"][number]) => number): Row => ({
    figure,
    unit,
    theirs: found.theirs.map(of),
    ours: found.ours.map(of),
  });
  const after = `memory after ${memoryRuns.toLocaleString("en")} runs`;
  return [
    row("first 1,000 runs: CPU a run", "ms", ({ first }) => first.totalMs),
    row(after, "MB", ({ after: { node, postgres } }) => node + postgres),
    row(`${after}: Node`, "MB", ({ after: { node } }) => node),
    row(`${after}: PostgreSQL`, "MB", ({ after: { postgres } }) => postgres),
  ];
}

function rowsOf(part: LoadPart, theirs: Sample[], ours: Sample[]): Row[] {
  const row = (figure: string, unit: string, of: (sample: Sample) => number): Row => ({
    figure: `${part}: ${figure}`,
    unit,
    theirs: theirs.map(of),
    ours: ours.map(of),
  });
  return [
    row("CPU", "ms", ({ totalMs }) => totalMs),
    row("CPU of Node", "ms", ({ nodeMs }) => nodeMs),
    row("CPU of PostgreSQL", "ms", ({ postgresMs }) => postgresMs),
    row("rate", "/s", ({ rate }) => rate),
  ];
}

function tableOf(rows: Row[]): string {
  return markdown(
    COLUMNS,
    rows.map(({ figure, unit, theirs, ours }) => {
      const ratios = ours.map((value, index) => value / theirs[index]!).toSorted((a, b) => a - b);
      const at = (share: number): string => ratios[Math.round((ratios.length - 1) * share)]!.toFixed(2);
      return {
        figure,
        theirs: `${short(median(theirs))} ${unit}`,
        ours: `${short(median(ours))} ${unit}`,
        ratio: median(ratios).toFixed(2),
        "half of them": `${at(1 / 4)} to ${at(3 / 4)}`,
        all: `${at(0)} to ${at(1)}`,
      };
    }),
  );
}
