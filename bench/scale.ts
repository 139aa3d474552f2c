/** The figures of growth: a server with a million finished runs of two years against one with a thousand, and its lists. */
import fs from "node:fs";
import path from "node:path";
import { decodeId } from "../server/src/lib/ids.ts";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Target } from "./measure.ts";
import { connectTo } from "./postgres.ts";
import { memoryOf } from "./processes.ts";
import { createMonths, fill, settle, type Fill, type Kind } from "./scale-fill.ts";
import { measureCounts, publishMany, type ManyAgents } from "./scale-counts.ts";
import { measureLists, type Worlds } from "./scale-lists.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, runToResult, type World } from "./world.ts";

type Size = { runs: number; months: number };
type Effort = { small: Size; large: Size; rounds: number; ms: number; warmUp: number; requests: number };

const FULL: Effort = {
  small: { runs: 1_000, months: 1 },
  large: { runs: 1_000_000, months: 24 },
  rounds: 5,
  ms: 4_000,
  warmUp: 4_000,
  requests: 500,
};
const QUICK: Effort = {
  ...FULL,
  large: { runs: 20_000, months: 24 },
  rounds: 1,
  ms: 2_000,
  warmUp: 2_000,
  requests: 100,
};
const TOGETHER = 16;
const CPU = { most: 1.15 };

type Filled = { server: Server; worlds: Worlds & { big: ManyAgents } };

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

export async function measureScale(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using stack = new AsyncDisposableStack();
  const open = async (name: "small" | "large"): Promise<Filled> => {
    const own = path.join(folder.path, name);
    fs.mkdirSync(own, { mode: 0o711 });
    const worlds = await fillOne(own, sinkUrl, effort[name]);
    // Restarted: it knows the months, and neither it nor PostgreSQL has anything of the filling left.
    return { server: stack.use(await startServer({ folder: own })), worlds };
  };
  const small = await open("small");
  const since = performance.now();
  const large = await open("large");
  const filledMs = performance.now() - since;
  say(`filled in ${(filledMs / 1000).toFixed(0)} s`);
  const cpu = await measureCpu(generator, { small, large }, effort);
  const before = memoryOf(large.server.roots());
  const lists = await measureLists(generator, large.server, large.worlds, effort.requests);
  const counts = await measureCounts(generator, large.server, large.worlds.big, effort.requests);
  const memory = { before, after: memoryOf(large.server.roots()) };
  return {
    figures: [...cpu.figures, ...lists.figures, ...counts.figures],
    details: { scale: { filledMs, memory, ...cpu.details, ...lists.details, ...counts.details } },
  };
}

async function fillOne(folder: string, sinkUrl: string, { runs, months }: Size): Promise<Filled["worlds"]> {
  await using server = await startServer({ folder });
  const big = await makeWorld(server, sinkUrl);
  const worlds: Worlds & { big: ManyAgents } = {
    big: { ...big, many: await publishMany(server, big) },
    middle: await makeWorld(server, sinkUrl),
    small: await makeWorld(server, sinkUrl),
  };
  await createMonths(server, months);
  await fill(server, await finishedRun(server, worlds.big), await fillsOf(server, worlds, runs, months - 1));
  await settle(server);
  return worlds;
}

async function finishedRun(server: Server, world: World): Promise<string> {
  const { runAgent } = await graphql<{ runAgent: { id: string; status: string } }>(
    server,
    world,
    "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }",
    { input: { agentId: world.agents.three, input: { n: 1 }, wait: 10 } },
  );
  if (runAgent.status !== "completed") throw new Error(`the run to copy is ${runAgent.status}`);
  return decodeId("run", runAgent.id)!;
}

type Owner = Pick<Kind, "organizationId" | "projectId" | "agentId">;

/** 95 % of the big organization, 5 % of the middle one; in the oldest month what a list has to go far back for. */
async function fillsOf(server: Server, worlds: Filled["worlds"], count: number, first: number): Promise<Fill[]> {
  await using postgres = await connectTo(server);
  const of = async (name: keyof Worlds, agent: keyof World["agents"]): Promise<Owner> => {
    const id = decodeId("agent", worlds[name].agents[agent]);
    const [row] = await postgres.query("select organization_id, project_id from agents where id = $1", [id]);
    return { organizationId: row!["organization_id"], projectId: row!["project_id"], agentId: id! };
  };
  const big = await of("big", "three");
  const middle = await of("middle", "three");
  const small = await of("small", "three");
  const kinds: Kind[] = [
    { ...big, status: "completed", share: 0.77 },
    { ...(await of("big", "slow")), status: "completed", share: 0.15 },
    { ...big, status: "failed", share: 0.02 },
    { ...big, status: "cancelled", share: 0.01 },
    { ...middle, status: "completed", share: 0.05 },
  ];
  const old = { first, last: first };
  const many = worlds.big.many.map((id) => ({ ...big, agentId: decodeId("agent", id)! }));
  return [
    { kinds, count, first, last: 0 },
    { ...manyFill(many), first: Math.min(first, MANY_MONTHS - 1), last: 0 },
    { ...old, count: 60, kinds: [{ ...(await of("big", "call")), status: "completed", share: 1 }] },
    { ...old, count: 30, kinds: [{ ...middle, status: "failed", share: 1 }] },
    { ...old, count: 100, kinds: [{ ...small, status: "completed", share: 1 }] },
    { ...old, count: 100, kinds: [{ ...small, status: "failed", share: 1 }] },
  ];
}

/** Each of the many agents has had a run a day for some months. */
const MANY_MONTHS = 3;
const manyFill = (owners: Owner[]): Pick<Fill, "kinds" | "count"> => ({
  kinds: owners.map((owner) => ({ ...owner, status: "completed", share: 1 / owners.length })),
  count: owners.length * 30 * MANY_MONTHS,
});

type Part = { figures: Figure[]; details: Record<string, unknown> };

async function measureCpu(
  generator: Generator,
  filled: Record<"small" | "large", Filled>,
  { rounds, ms, warmUp, small, large }: Effort,
): Promise<Part> {
  const targetOf = ({ server, worlds }: Filled): Target => ({
    request: runToResult(server, worlds.big, "three"),
    roots: server.roots,
  });
  const targets = { small: targetOf(filled.small), large: targetOf(filled.large) };
  for (const { request } of Object.values(targets)) {
    await generator.run({ ...request, connections: TOGETHER, requests: warmUp });
  }
  const measured = await interleaved(generator, targets, { connections: TOGETHER, ms, rounds });
  const { small: few, large: many } = measured.median;
  const at = `three, ${TOGETHER} at once, ${large.runs.toLocaleString("en")} runs against ${small.runs.toLocaleString("en")}`;
  return {
    figures: [
      { figure: `${at}: CPU a run`, unit: "ms", ours: many.totalMs, floor: few.totalMs, aim: CPU },
      { figure: `${at}: CPU of PostgreSQL`, unit: "ms", ours: many.postgresMs, floor: few.postgresMs },
      { figure: `${at}: rate`, unit: "/s", ours: many.rate, floor: few.rate },
    ],
    details: { cpu: measured },
  };
}
