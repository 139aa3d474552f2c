/** The figures of speed and CPU: our server against the floor, 16 at once and alone. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import type { Floor, Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Amount, type Rounds, type Target } from "./measure.ts";
import { onFloor, runToResult, SETTLED_POLL_MS, startOnly, typename, untilEnded, type World } from "./world.ts";

export type Effort = {
  rounds: number;
  /** The length of one measurement at 16 at once, and of one alone. */
  togetherMs: number;
  aloneMs: number;
  /** Requests to each target before anything is measured, at least `WARM_REQUESTS`: the JIT and the prepared statements. */
  warmUpMs: number;
};

export type Setting = { generator: Generator; server: Server; world: World; floor: Floor; effort: Effort };
/** `details`: each round's samples, for the results' file. */
export type Measured = {
  figures: Figure[];
  details: Record<string, unknown>;
  /** One of its own, below the figures. */
  table?: string;
};

const TOGETHER = 16;
const WARM_REQUESTS = 2_000;
const RATE = { least: 0.8 };
const CPU = { most: 0.8 };
const ALONE = { most: 1.4 };

type Pair = { floor: Target; ours: Target };

async function warmUp({ generator, effort }: Setting, targets: Record<string, Target>): Promise<void> {
  for (const { request, settled } of Object.values(targets)) {
    const load = { ...request, connections: TOGETHER };
    const { requests } = await generator.run({ ...load, ms: effort.warmUpMs });
    if (requests < WARM_REQUESTS) await generator.run({ ...load, requests: WARM_REQUESTS - requests });
    await settled?.();
  }
}

async function bothWays<Name extends string>(
  setting: Setting,
  targets: Record<Name, Target>,
): Promise<Record<"together" | "alone", Rounds<Name>>> {
  const { generator, effort } = setting;
  await warmUp(setting, targets);
  const { rounds } = effort;
  const many: Amount = { connections: TOGETHER, ms: effort.togetherMs };
  const one: Amount = { connections: 1, ms: effort.aloneMs };
  const together = await interleaved(generator, targets, { ...many, rounds });
  return { together, alone: await interleaved(generator, targets, { ...one, rounds }) };
}

/**
 * How often each commits for a run. Ours writes start and end of `three` in one statement where the caller waits for the
 * end; the floor does what a durable run asks for, in two.
 */
const COMMITS = { three: "one commit against two", call: "four commits each", start: "two commits each" };

function figuresOf(
  agent: "three" | "call",
  { together, alone }: Record<"together" | "alone", Rounds<keyof Pair>>,
): Figure[] {
  const { ours, floor } = together.median;
  const single = alone.median;
  const name = `${agent} (${COMMITS[agent]})`;
  const at = `${name}, ${TOGETHER} at once`;
  return [
    { figure: `${at}: rate`, unit: "/s", ours: ours.rate, floor: floor.rate, aim: RATE },
    { figure: `${at}: CPU a run`, unit: "ms", ours: ours.totalMs, floor: floor.totalMs, aim: CPU },
    { figure: `${at}: CPU of Node`, unit: "ms", ours: ours.nodeMs, floor: floor.nodeMs },
    { figure: `${at}: CPU of PostgreSQL`, unit: "ms", ours: ours.postgresMs, floor: floor.postgresMs },
    { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms, floor: floor.p50Ms },
    { figure: `${at}: p99`, unit: "ms", ours: ours.p99Ms, floor: floor.p99Ms },
    { figure: `${name}, alone: p50`, unit: "ms", ours: single.ours.p50Ms, floor: single.floor.p50Ms, aim: ALONE },
    { figure: `${name}, alone: p99`, unit: "ms", ours: single.ours.p99Ms, floor: single.floor.p99Ms },
    { figure: `${name}, alone: CPU of Node`, unit: "ms", ours: single.ours.nodeMs, floor: single.floor.nodeMs },
    {
      figure: `${name}, alone: CPU of PostgreSQL`,
      unit: "ms",
      ours: single.ours.postgresMs,
      floor: single.floor.postgresMs,
    },
  ];
}

const pairOf = ({ server, world, floor }: Setting, agent: "three" | "call"): Pair => ({
  floor: { request: onFloor(floor, agent), roots: floor.roots },
  ours: { request: runToResult(server, world, agent), roots: server.roots },
});

/** Three `set` steps to the result, which is one commit, also against the least that our API does. */
export async function measureThree(setting: Setting): Promise<Measured> {
  const { server, world } = setting;
  const least = { request: typename(server, world), roots: server.roots };
  const measured = await bothWays(setting, { ...pairOf(setting, "three"), least });
  const { ours, least: floor } = measured.together.median;
  const against: Figure[] = [
    { figure: "three against {__typename}: rate", unit: "/s", ours: ours.rate, floor: floor.rate },
    { figure: "three against {__typename}: CPU", unit: "ms", ours: ours.totalMs, floor: floor.totalMs },
  ];
  return { figures: [...figuresOf("three", measured), ...against], details: { three: measured } };
}

/** Three calls to the sink, three commits after the start's. */
export async function measureCall(setting: Setting): Promise<Measured> {
  const measured = await bothWays(setting, pairOf(setting, "call"));
  return { figures: figuresOf("call", measured), details: { call: measured } };
}

/** Starts without `wait`: answered when accepted, run behind it. CPU is counted until all have ended. */
export async function measureStarts(setting: Setting): Promise<Measured> {
  const { generator, server, world, floor, effort } = setting;
  const targets: Pair = {
    floor: { request: onFloor(floor, "start"), roots: floor.roots, settled: () => sleep(SETTLED_POLL_MS) },
    ours: { request: startOnly(server, world, "three"), roots: server.roots, settled: untilEnded(server, world) },
  };
  await warmUp(setting, targets);
  const amount = { connections: TOGETHER, ms: effort.togetherMs, rounds: effort.rounds };
  const measured = await interleaved(generator, targets, amount);
  const { ours, floor: bare } = measured.median;
  const at = `start of three (${COMMITS.start}), ${TOGETHER} at once`;
  const figures: Figure[] = [
    { figure: `${at}: acknowledged`, unit: "/s", ours: ours.rate, floor: bare.rate },
    { figure: `${at}: CPU to the end`, unit: "ms", ours: ours.totalMs, floor: bare.totalMs },
    { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms, floor: bare.p50Ms },
  ];
  return { figures, details: { start: measured } };
}
