/**
 * `npm run soak`: kills the server with -9 at random moments of a stream of acknowledged starts and starts it again at
 * once, as a supervisor would; then every acknowledged run must be completed and no finished step called twice.
 *
 *     --starts 100000   acknowledged starts: `three` 60 %, `call` 38 %, `slow` 2 %; every second one with a key
 *     --kills 50
 *     --seed            of a run to be repeated: the same kinds and kills at the same starts
 *     --minutes 20      at most
 *
 * A full one writes results/soak-<date>.json and its place in README.md. Exit code 1 when a promise was broken.
 */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { markdown, short } from "./figures.ts";
import { endEverything, startServer, temporaryFolder, type Server } from "./launch.ts";
import { median } from "./measure.ts";
import { aboutLine, machine, today, writeReadme, writeResult } from "./report.ts";
import { CALLS_PER_KILL, check, isKept, untilSettled, type Verdict } from "./soak-check.ts";
import { startSoakSink, type SoakSink } from "./soak-sink.ts";
import { startStream, type Stream } from "./soak-stream.ts";
import { makeWorld } from "./world.ts";

type Options = { starts: number; kills: number; seed: number; minutes: number };

const SETTLE_MS = 5 * 60_000;
const POLL_MS = 2;
/** A kill comes up to this long after the start that was drawn for it. */
const JITTER_MS = 20;
/** For calls that it meets. */
const MAX_WAIT_MS = 10_000;
const FULL_STARTS = 100_000;

const say = (text: string): void => void process.stderr.write(`soak: ${text}\n`);

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      starts: { type: "string", default: String(FULL_STARTS) },
      kills: { type: "string", default: "50" },
      seed: { type: "string", default: String(randomInt(2 ** 31)) },
      minutes: { type: "string", default: "20" },
    },
  });
  const entries = Object.entries(values).map(([name, value]) => [name, Number(value)]);
  return Object.fromEntries(entries) as Options;
}

/** From 0 to 1, by number: splitmix32 of seed and number. */
export const randomOf =
  (seed: number) =>
  (number: number): number => {
    let mixed = (seed + Math.imul(number + 1, 0x9e3779b9)) | 0;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };

/** Kills at random starts, one in each stretch of the stream. */
async function killAndRestart(
  { kills, starts, seed }: Options,
  stream: Stream,
  sink: SoakSink,
  supervised: { server: Server; folder: string },
): Promise<{ underWay: number; callsMet: number; readyMs: number[] }> {
  const random = randomOf(seed ^ 0x5eed);
  const readyMs: number[] = [];
  const port = Number(new URL(supervised.server.url).port);
  let underWay = 0;
  let callsMet = 0;
  for (let kill = 0; kill < kills; kill++) {
    const at = Math.floor(((kill + random(kill)) / kills) * starts);
    while (stream.count() < at) await sleep(POLL_MS);
    await sleep(random(kills + kill) * JITTER_MS);
    // Soon after a start there are few: what was interrupted is taken up with care first.
    const latest = performance.now() + MAX_WAIT_MS;
    while (sink.waiting() < CALLS_PER_KILL && performance.now() < latest) await sleep(POLL_MS);
    callsMet += sink.waiting();
    underWay += sink.underWay();
    stream.killed();
    await supervised.server.kill();
    supervised.server = await startServer({ folder: supervised.folder, port });
    readyMs.push(supervised.server.readyMs);
    if ((kill + 1) % 10 === 0) say(`${kill + 1} kills, ${stream.count()} starts`);
  }
  return { underWay, callsMet, readyMs };
}

async function soak(options: Options): Promise<boolean> {
  const about = machine();
  const since = performance.now();
  using folder = temporaryFolder();
  await using sink = await startSoakSink();
  await using stack = new AsyncDisposableStack();
  const supervised = { folder: folder.path, server: await startServer({ folder: folder.path }) };
  // Whichever serves at the end.
  stack.defer(() => supervised.server[Symbol.asyncDispose]());
  const world = await makeWorld(supervised.server, sink.url);
  const { starts, seed } = options;
  const stream = startStream({ starts, random: randomOf(seed), server: supervised.server, world, sink });
  const killing = killAndRestart(options, stream, sink, supervised);
  const [{ underWay, callsMet, readyMs }] = await Promise.all([killing, stream.done]);
  const streamMs = performance.now() - since;
  say(`${stream.count()} starts acknowledged; waiting for the last runs`);
  await untilSettled(supervised.server, world, SETTLE_MS);
  const verdicts = await check(
    { server: supervised.server, world, stream, sink },
    { kills: options.kills, callsMet, repeatsAllowed: underWay },
  );
  const { outagesMs } = stream;
  const facts = {
    acknowledged: stream.count(),
    kills: options.kills,
    seed,
    minutes: (performance.now() - since) / 60_000,
    startsPerSecond: (stream.count() / streamMs) * 1000,
    sentAgain: stream.sentAgain(),
    unanswered: stream.unanswered(),
    readyMs: { median: median(readyMs), most: Math.max(...readyMs) },
    outageMs: { median: median(outagesMs), most: Math.max(...outagesMs) },
  };
  const text = textOf(facts, verdicts);
  console.log(text);
  if (starts >= FULL_STARTS) {
    writeReadme("soak", `${aboutLine(about)}\n\n${text}`);
    say(`written to ${writeResult(`soak-${today()}`, { ...about, ...facts, verdicts })}`);
  }
  return verdicts.every(isKept);
}

function textOf(facts: Record<string, unknown>, verdicts: Verdict[]): string {
  const lines = Object.entries(facts).map(([name, value]) => `- ${name}: ${JSON.stringify(value, tidy)}`);
  const rows = verdicts.map((verdict) => ({
    what: verdict.what,
    found: short(verdict.found),
    allowed: "least" in verdict ? `≥ ${short(verdict.least)}` : short(verdict.allowed),
    kept: isKept(verdict) ? "yes" : "NO",
  }));
  return `${lines.join("\n")}\n\n${markdown(["what", "found", "allowed", "kept"], rows)}`;
}

const tidy = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(3)) : value;

if (import.meta.main) {
  const options = readOptions();
  say(`seed ${options.seed}`);
  const giveUp = (why: string): void => {
    say(`given up: ${why}`);
    void endEverything().finally(() => process.exit(1));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, giveUp);
  const tooLong = setTimeout(giveUp, options.minutes * 60_000, `more than ${options.minutes} minutes`);
  const kept = await soak(options).catch(async (error: unknown) => {
    await endEverything();
    throw error;
  });
  clearTimeout(tooLong);
  process.exit(kept ? 0 : 1);
}
