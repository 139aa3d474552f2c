/** A number of hostile cases of several kinds against one server, and what came of it. */
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { scaled } from "../scale.ts";
import { connectionReaders, connectionSenders } from "./connections.ts";
import { messages } from "./messages.ts";
import { bodies, definitions, documents } from "./requests.ts";
import { definitionRuns, expressions } from "./runs.ts";
import { startTrial, type Finding, type Kind, type Spent } from "./trial.ts";
import { startHostileWorld } from "./world.ts";

export const KINDS: Record<string, Kind> = Object.fromEntries(
  [documents, bodies, messages, definitions, expressions, definitionRuns, connectionReaders, connectionSenders].map(
    (kind) => [kind.name, kind],
  ),
);

/** As many cases of a kind, or as fit into the time when the machine is busy. */
export type Share = { kind: Kind; cases: number; seconds: number };

export type Report = {
  seed: number;
  findings: Finding[];
  spent: Spent[];
  canary: { count: number; mostMs: number };
  /** The memory that the server holds at the end beyond the beginning. */
  keptBytes: number;
};

/** Caches fill up, and are bounded. */
const KEPT_BYTES = 64 * 1024 * 1024;
const SETTLE_MS = 10_000;
/** They fill an answer twice. */
const LARGE_RUNS = scaled({ whole: 40, part: 16 });

export type SessionOptions = {
  shares: readonly Share[];
  /** Drawn, or `SEED` of the environment. */
  seed?: number;
  /** One case alone, `kind:seed`; else `HOSTILE_CASE` of the environment. */
  only?: string | undefined;
  say?: (line: string) => void;
};

export async function hostileSession({
  shares,
  seed = Number(process.env["SEED"] ?? randomInt(2 ** 31)),
  only = process.env["HOSTILE_CASE"],
  say = (line) => void process.stderr.write(`hostile: ${line}\n`),
}: SessionOptions): Promise<Report> {
  say(only === undefined ? `SEED=${seed}` : `HOSTILE_CASE=${only}`);
  await using world = await startHostileWorld({ largeRuns: LARGE_RUNS, smallRuns: 10 });
  const { heapBytes } = await world.server.measure(true);
  await using trial = startTrial(world);
  if (only === undefined) await tryAll(trial, shares, seed);
  else {
    const [name, number] = only.split(":");
    await trial.try(KINDS[name!]!, Number(number));
  }
  const kept = async (): Promise<number> => (await world.server.measure(true)).heapBytes - heapBytes;
  let keptBytes = await kept();
  for (const end = Date.now() + SETTLE_MS; keptBytes > KEPT_BYTES && Date.now() < end; keptBytes = await kept())
    await sleep(200);
  if (keptBytes > KEPT_BYTES) {
    trial.findings.push({ case: "end:0", what: `${Math.round(keptBytes / 2 ** 20)} MiB are still held`, about: "" });
  }
  // Else the later cases were refused for want of a credential, and proved nothing.
  await world.server.data("{ me { id } }");
  const { count, queryMs, runMs } = trial.canary;
  const mostMs = Math.max(queryMs, runMs);
  const spent = trial.spent();
  say(`the neighbour: ${count} queries and runs, ${Math.round(mostMs)} ms at most`);
  for (const { kind, count: cases, cpuMs, mostMs: most, mostHeldBytes } of spent) {
    say(
      `${cases} × ${kind}: ${(cpuMs / cases).toFixed(1)} ms each, ${Math.round(most)} at most, ${Math.round(mostHeldBytes / 2 ** 20)} MiB held`,
    );
  }
  return {
    seed,
    findings: trial.findings,
    spent,
    canary: { count, mostMs },
    keptBytes,
  };
}

async function tryAll(trial: ReturnType<typeof startTrial>, shares: readonly Share[], seed: number): Promise<void> {
  // A kind that comes again goes on behind its last case.
  const numbers = new Map<Kind, number>();
  for (const { kind, cases, seconds } of shares) {
    const end = Date.now() + seconds * 1000;
    let number = numbers.get(kind) ?? 0;
    for (const last = number + cases; number < last && Date.now() < end && !trial.isOver(); number++) {
      await trial.try(kind, (seed + number) % 2 ** 31);
    }
    numbers.set(kind, number);
  }
}

/** How to have it again. */
export const lineOf = ({ case: one, what, about }: Finding): string => `HOSTILE_CASE=${one} ${what}\n    ${about}`;
