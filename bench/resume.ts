/**
 * 10,000 open runs after `kill -9`: most wait for a time that comes while no server runs, the others were in the midst
 * of their steps. When does the first step begin after the restart, when has every run moved?
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { connectTo } from "./postgres.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, startOnly, type World } from "./world.ts";

/** `waitSeconds`: long enough to start all of them and the kill. */
type Effort = { waiting: number; slow: number; waitSeconds: number };
const FULL: Effort = { waiting: 9_000, slow: 1_000, waitSeconds: 20 };
const QUICK: Effort = { waiting: 900, slow: 100, waitSeconds: 6 };
const CONNECTIONS = 16;
/** The slow ones take three seconds when they have slots. */
const BEFORE_KILL_MS = 500;
const POLL_MS = 500;
const MOVE_TIMEOUT_MS = 60_000;

export async function measureResume(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using killed = await startServer({ folder: folder.path });
  const world = await makeWorld(killed, sinkUrl);
  const waits = await publishWait(killed, world, effort.waitSeconds);
  const since = Date.now();
  await startMany(generator, killed, { ...world, agents: { ...world.agents, slow: waits } }, effort.waiting);
  const lastStart = Date.now();
  await startMany(generator, killed, world, effort.slow);
  await sleep(BEFORE_KILL_MS);
  await killed.kill();
  const open = await countOpen(killed);
  if (Date.now() > since + effort.waitSeconds * 1000)
    throw new Error(`waits of ${effort.waitSeconds} s ended before the kill`);
  await sleep(lastStart + effort.waitSeconds * 1000 - Date.now());
  await using server = await startServer({ folder: folder.path, port: Number(new URL(killed.url).port) });
  const movedMs = await untilMoved(server, open);
  const at = `kill -9 with ${open.toLocaleString("en")} open runs`;
  return {
    figures: [
      { figure: `${at}: runs that went on`, unit: "", ours: movedMs.length, aim: { least: open } },
      {
        figure: `${at}: first step after the restart`,
        unit: "s",
        ours: (movedMs[0] ?? Infinity) / 1000,
        aim: { most: 1 },
      },
      { figure: `${at}: half have moved`, unit: "s", ours: (movedMs[movedMs.length >> 1] ?? Infinity) / 1000 },
      { figure: `${at}: every run has moved`, unit: "s", ours: (movedMs.at(-1) ?? Infinity) / 1000, aim: { most: 10 } },
    ],
    details: { resume: { readyMs: server.readyMs, startMs: lastStart - since, deciles: decilesOf(movedMs) } },
  };
}

/** An agent that waits once, answers its id. */
async function publishWait(server: Server, world: World, seconds: number): Promise<string> {
  const { projectId } = world as World & { projectId: string };
  const query = "query ($id: ID!) { project(id: $id) { handle } }";
  const { project } = await graphql<{ project: { handle: string } }>(server, world, query, { id: projectId });
  const document = { dsl: "1.0.3", namespace: project.handle, name: "nap", version: "1.0.0" };
  const definition = JSON.stringify({
    document,
    do: [{ nap: { wait: { seconds } } }, { on: { set: { awake: true } } }],
  });
  const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  type Answer = { publishAgent: { id: string } };
  const { publishAgent } = await graphql<Answer>(server, world, publish, { input: { projectId, definition } });
  return publishAgent.id;
}

const startMany = (generator: Generator, server: Server, world: World, requests: number) =>
  generator.run({ ...startOnly(server, world, "slow"), connections: CONNECTIONS, requests });

async function countOpen(server: Server): Promise<number> {
  await using postgres = await connectTo(server);
  const [row] = await postgres.query("select count(*)::int as open from runs where finished_at is null");
  return row!["open"] as number;
}

/** For each run that was open at the kill: when its first step since the restart began, in ms after it. Ascending. */
async function untilMoved(server: Server, open: number): Promise<number[]> {
  await using postgres = await connectTo(server);
  const end = Date.now() + MOVE_TIMEOUT_MS;
  for (;;) {
    const rows = await postgres.query(
      `select extract(epoch from min(started_at) - $1) * 1000 as ms from steps where started_at >= $1 group by run_id order by 1`,
      [new Date(server.spawnedAt)],
    );
    if (rows.length >= open || Date.now() > end) return rows.map(({ ms }) => Number(ms));
    await sleep(POLL_MS);
  }
}

const decilesOf = (sorted: number[]): number[] =>
  Array.from({ length: 11 }, (_, tenth) => sorted[Math.floor(((sorted.length - 1) * tenth) / 10)] ?? Number.NaN);
