/** One measurement is a load with the CPU of what it falls on; rounds are interleaved, so that what else the machine does falls on all alike. */
import { cpuOf } from "./processes.ts";
import type { Generator, LoadResult } from "./load.ts";
import type { Request } from "./world.ts";

export type Target = {
  request: Request;
  /** The processes whose CPU counts: these and all below them. */
  roots: () => number[];
  /** Resolves when nothing of the load is left to do; its CPU counts too. */
  settled?: () => Promise<void>;
};

export type Sample = LoadResult & {
  /** CPU a request in ms, of Node and of all PostgreSQL processes. */
  nodeMs: number;
  postgresMs: number;
  totalMs: number;
};

export type Amount = { connections: number; ms?: number; requests?: number };

export async function measure(generator: Generator, target: Target, amount: Amount): Promise<Sample> {
  const before = cpuOf(target.roots());
  const result = await generator.run({ ...target.request, ...amount });
  await target.settled?.();
  const after = cpuOf(target.roots());
  const nodeMs = (after.node - before.node) / result.requests;
  const postgresMs = (after.postgres - before.postgres) / result.requests;
  return { ...result, nodeMs, postgresMs, totalMs: nodeMs + postgresMs };
}

export type Rounds<Name extends string> = { median: Record<Name, Sample>; rounds: Record<Name, Sample[]> };

/** Floor, ours, ours, floor, …: each round measures every target once, in the opposite order of the one before. */
export async function interleaved<Name extends string>(
  generator: Generator,
  targets: Record<Name, Target>,
  amount: Amount & { rounds: number },
): Promise<Rounds<Name>> {
  const names = Object.keys(targets) as Name[];
  const rounds = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>;
  for (let round = 0; round < amount.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed())
      rounds[name].push(await measure(generator, targets[name], amount));
  }
  const median = Object.fromEntries(names.map((name) => [name, medianOf(rounds[name])])) as Record<Name, Sample>;
  return { median, rounds };
}

/** Each number's own median. */
function medianOf(samples: Sample[]): Sample {
  const keys = Object.keys(samples[0]!) as (keyof Sample)[];
  return Object.fromEntries(keys.map((key) => [key, median(samples.map((sample) => sample[key]))])) as Sample;
}

export function median(numbers: number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
