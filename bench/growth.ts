/**
 * The cost that grows with its input: each operation with a quarter, half and all of the largest input that it takes, in processor
 * time of the whole server. The exponent is that of the last doubling: 1 is linear, 2 quadratic.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { markdown, short } from "./figures.ts";
import { growthCases } from "./growth-cases.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import { nanosecondsOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, type World } from "./world.ts";

export type Subject = { server: Server; world: World & { projectId: string }; sinkUrl: string };

/** `prepare` is not measured; what it answers is, until it resolves. */
export type GrowthCase = {
  operation: string;
  /** The thing that there is `full` of. */
  input: string;
  full: number;
  prepare: (subject: Subject, size: number) => Promise<() => Promise<unknown>>;
  /** `kill -9` and a restart come between: what takes the run up again counts. */
  restarts?: boolean;
};

const PARTS = [1 / 4, 1 / 2, 1];
const MAX_EXPONENT = 1.5;
/** An operation that takes less with its largest input hurts nobody, however it grows. */
const FLOOR_MS = 100;
const MAX_STRETCH_MS = 100;
const QUICK = 1 / 20;
/** A short operation is tried this often, and the least counts: a collection or PostgreSQL's own work beside it takes as long. */
const TRIES = 3;
const SHORT_MS = 300;

type Cost = { cpuMs: number; stretchMs: number };
type Row = { operation: string; input: string; full: number; costs: Cost[] };

/** `wanted`: only those whose operation and input it matches. */
export async function measureGrowth(sinkUrl: string, isQuick: boolean, wanted = /^/): Promise<Measured> {
  const rows: Row[] = [];
  for (const one of growthCases.filter(({ operation, input }) => wanted.test(`${operation}, ${input}`))) {
    const full = isQuick ? Math.ceil(one.full * QUICK) : one.full;
    rows.push({ ...one, full, costs: await measureCase({ ...one, full }, sinkUrl) });
    process.stderr.write(`${lineOf(rows.at(-1)!).join("  ")}\n`);
  }
  const steep = rows.filter(isSteep);
  if (steep.length > 0 && !isQuick) process.exitCode = 1;
  return {
    figures: [
      { figure: "operations that grow faster than their input", unit: "", ours: steep.length, aim: { most: 0 } },
      {
        figure: "longest stretch of the main thread for the largest inputs",
        unit: "ms",
        ours: Math.max(...rows.flatMap(({ costs }) => costs.map(({ stretchMs }) => stretchMs))),
        aim: { most: MAX_STRETCH_MS },
      },
    ],
    table: tableOf(rows),
    details: { growth: rows },
  };
}

/** Each case on a server of its own, whose tables are new and have no statistics. */
async function measureCase(one: GrowthCase, sinkUrl: string): Promise<Cost[]> {
  using folder = temporaryFolder();
  const probe = new Probe(path.join(folder.path, "stretch"));
  let server = await probe.start(folder.path);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => server[Symbol.asyncDispose]());
  const subject: Subject = { server, world: (await makeWorld(server, sinkUrl)) as Subject["world"], sinkUrl };
  // The first round compiles and plans.
  await (
    await one.prepare(subject, Math.ceil(one.full / 20))
  )();
  const costs: Cost[] = [];
  const measure = async (size: number): Promise<Cost> => {
    const work = await one.prepare(subject, size);
    let before: number | undefined;
    if (one.restarts) {
      await server.kill();
      // PostgreSQL alone is left: what the new process does from its first moment counts.
      before = nanosecondsOf(server.roots());
      subject.server = server = await probe.start(folder.path);
    }
    await probe.read(server);
    before ??= nanosecondsOf(server.roots());
    await work();
    return { cpuMs: (nanosecondsOf(server.roots()) - before) / 1e6, stretchMs: await probe.read(server) };
  };
  for (const part of PARTS) {
    const tries: Cost[] = [];
    do tries.push(await measure(Math.ceil(one.full * part)));
    while (tries.length < TRIES && tries.at(-1)!.cpuMs < SHORT_MS);
    costs.push({
      cpuMs: Math.min(...tries.map(({ cpuMs }) => cpuMs)),
      stretchMs: Math.max(...tries.map(({ stretchMs }) => stretchMs)),
    });
  }
  return costs;
}

class Probe {
  readonly #file: string;
  constructor(file: string) {
    this.#file = file;
  }

  start(folder: string): Promise<Server> {
    const flags = ["--import", path.join(import.meta.dirname, "growth-probe.ts")];
    return startServer({ folder, flags, env: { PROBE_FILE: this.#file } });
  }

  /** Since the last one. */
  async read({ child }: Server): Promise<number> {
    rmSync(this.#file, { force: true });
    child.kill("SIGUSR2");
    while (!existsSync(this.#file)) await sleep(2);
    return Number(readFileSync(this.#file, "utf8"));
  }
}

const exponentOf = ({ costs }: Row): number => Math.log2(costs[2]!.cpuMs / costs[1]!.cpuMs);
const isSteep = (row: Row): boolean => row.costs[2]!.cpuMs > FLOOR_MS && exponentOf(row) > MAX_EXPONENT;

const COLUMNS = ["operation", "with", "1/4", "1/2", "all", "exponent", "longest stretch"] as const;

function lineOf(row: Row): string[] {
  const ms = (value: number): string => `${short(value)} ms`;
  const { operation, input, full, costs } = row;
  const stretch = Math.max(...costs.map(({ stretchMs }) => stretchMs));
  return [
    operation,
    `${full.toLocaleString("en")} ${input}`,
    ...costs.map(({ cpuMs }) => ms(cpuMs)),
    `${exponentOf(row).toFixed(1)}${isSteep(row) ? " !" : ""}`,
    `${ms(stretch)}${stretch > MAX_STRETCH_MS ? " !" : ""}`,
  ];
}

const tableOf = (rows: Row[]): string =>
  markdown(
    COLUMNS,
    rows.map((row) => {
      const cells = lineOf(row);
      return Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index]!])) as Record<
        (typeof COLUMNS)[number],
        string
      >;
    }),
  );
