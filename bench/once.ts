/** The figures that need a server of their own: memory, time to ready, recovery. */
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { measure, median, type Sample } from "./measure.ts";
import { memoryOf, peakOf, type Memory } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, runToResult, startOnly, type World } from "./world.ts";

const MEMORY_RUNS = 20_000;
const MEMORY_SETTLE_MS = 1_000;

const FIRST_RUNS = 1_000;
const WARM_UP = { most: 1.5 };

/** `last`: the same number of runs as `first`. */
type Fresh = { atStart: Memory; first: Sample; last: Sample; after: Memory };

/**
 * The memory of a new server after so many runs of *three*, and the cost of the first and the last thousand of them.
 *
 * On a copy of Node of its own: the bench's processes would else carry a part of what the server maps from that file.
 * PostgreSQL's files are shared with other servers of this installation, so none should run meanwhile.
 */
export async function measureFresh(
  generator: Generator,
  sinkUrl: string,
  runs: number,
  checkout?: string,
): Promise<Fresh> {
  using folder = temporaryFolder();
  const node = path.join(folder.path, "node");
  fs.copyFileSync(process.execPath, node);
  await using server = await startServer({ folder: folder.path, node, ...(checkout && { checkout }) });
  const atStart = memoryOf(server.roots());
  const request = runToResult(server, await makeWorld(server, sinkUrl), "three");
  const amount = { connections: 16, requests: FIRST_RUNS };
  const target = { request, roots: server.roots };
  const first = await measure(generator, target, amount);
  await generator.run({ ...request, ...amount, requests: runs - 2 * FIRST_RUNS });
  const last = await measure(generator, target, amount);
  await sleep(MEMORY_SETTLE_MS);
  return { atStart, first, last, after: memoryOf(server.roots()) };
}

export async function measureMemory(generator: Generator, sinkUrl: string, runs = MEMORY_RUNS): Promise<Measured> {
  const { atStart, first, last, after } = await measureFresh(generator, sinkUrl, runs);
  const warmUp = `first ${FIRST_RUNS.toLocaleString("en")} runs after a start, against the last`;
  const figure = `memory after ${runs.toLocaleString("en")} runs`;
  const total = after.node + after.postgres;
  return {
    figures: [
      { figure: `${warmUp}: CPU a run`, unit: "ms", ours: first.totalMs, floor: last.totalMs, aim: WARM_UP },
      { figure: `${warmUp}: CPU of Node`, unit: "ms", ours: first.nodeMs, floor: last.nodeMs },
      { figure: "memory when ready", unit: "MB", ours: atStart.node + atStart.postgres },
      { figure, unit: "MB", ours: total, aim: { most: 240 } },
      { figure: `${figure}: Node`, unit: "MB", ours: after.node },
      { figure: `${figure}: PostgreSQL`, unit: "MB", ours: after.postgres },
    ],
    details: { memory: { atStart, first, last, after } },
  };
}

const LARGE_RUNS = 1_000;
const HALF_MEGABYTE = 500_000;

/** Runs with an input and a result of 500 kB each, which then wait in a call: what the process holds of them. */
export async function measureOpen(sinkUrl: string): Promise<Measured> {
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const agentId = await publishLarge(server, world, sinkUrl);
  const x = "x".repeat(HALF_MEGABYTE);
  let left = LARGE_RUNS;
  const starter = async (): Promise<void> => {
    while (left-- > 0) {
      await graphql(server, world, START_LARGE, { input: { agentId, input: { x } } });
    }
  };
  await Promise.all(Array.from({ length: 8 }, starter));
  await sleep(MEMORY_SETTLE_MS);
  const most = peakOf(server.roots()[0]!);
  const figure = `most memory while ${LARGE_RUNS.toLocaleString("en")} runs of 1 MB each are open: Node`;
  return { figures: [{ figure, unit: "MB", ours: most }], details: { open: { most } } };
}

const START_LARGE = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";

async function publishLarge(server: Server, world: World, sinkUrl: string): Promise<string> {
  const { agent } = await graphql<{ agent: { project: { id: string; handle: string } } }>(
    server,
    world,
    "query ($id: ID!) { agent(id: $id) { project { id handle } } }",
    { id: world.agents.three },
  );
  const definition = `document: {dsl: '1.0.3', namespace: ${agent.project.handle}, name: large, version: '1.0.0'}
do:
- result: {set: {x: '\${ .x + "y" }'}}
- hold: {input: {from: {}}, call: http, with: {method: get, endpoint: '${sinkUrl}/hang'}}
`;
  const { publishAgent } = await graphql<{ publishAgent: { id: string } }>(
    server,
    world,
    "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }",
    { input: { projectId: agent.project.id, definition } },
  );
  return publishAgent.id;
}

/** From the spawn of the server's process to its line `ready at`. */
export async function measureReady(starts: number): Promise<Measured> {
  using folder = temporaryFolder();
  const readyMs: number[] = [];
  for (let count = 0; count <= starts; count++) {
    await using server = await startServer({ folder: folder.path });
    readyMs.push(server.readyMs);
  }
  const [first, ...later] = readyMs;
  return {
    figures: [
      { figure: "ready, first start (makes the database)", unit: "s", ours: first! / 1000 },
      { figure: "ready, later starts", unit: "s", ours: median(later) / 1000, aim: { most: 1.5 } },
    ],
    details: { readyMs },
  };
}

const OPEN_RUNS = 200;
const BEFORE_KILL_MS = 1_000;
const AFTER_READY_MS = 2_000;

/** `kill -9` in the midst of open runs, the server started again at once: when does the first step begin, when has every run moved? */
export async function measureRecovery(generator: Generator, sinkUrl: string): Promise<Measured> {
  using folder = temporaryFolder();
  await using killed = await startServer({ folder: folder.path });
  const world = await makeWorld(killed, sinkUrl);
  await generator.run({ ...startOnly(killed, world, "slow"), connections: 16, requests: OPEN_RUNS });
  await sleep(BEFORE_KILL_MS);
  await killed.kill();
  await using server = await startServer({ folder: folder.path, port: Number(new URL(killed.url).port) });
  await sleep(AFTER_READY_MS);
  const first = (await firstSteps(server, world)).map((at) => at - server.spawnedAt);
  return {
    figures: [
      {
        figure: `kill -9 with ${OPEN_RUNS} open runs: first step after the restart`,
        unit: "s",
        ours: Math.min(...first) / 1000,
        aim: { most: 1 },
      },
      {
        figure: `kill -9 with ${OPEN_RUNS} open runs: every run has moved`,
        unit: "s",
        ours: Math.max(...first) / 1000,
      },
    ],
    details: { recovery: { readyMs: server.readyMs, firstStepsMs: first } },
  };
}

type Page = {
  runs: { nodes: { steps: { startedAt: string }[] }[]; pageInfo: { endCursor: string; hasNextPage: boolean } };
};
const PAGE = `query ($agentId: ID!, $after: String) {
  runs(filter: { agentId: $agentId }, first: 50, after: $after) {
    nodes { steps(first: 100) { startedAt } }
    pageInfo { endCursor hasNextPage }
  }
}`;

/** When each run's first step since the server was spawned began. */
async function firstSteps(server: Server, world: World): Promise<number[]> {
  const found: number[] = [];
  for (let after: string | undefined, more = true; more;) {
    const { runs } = await graphql<Page>(server, world, PAGE, { agentId: world.agents.slow, after });
    for (const { steps } of runs.nodes) {
      const begun = steps.map(({ startedAt }) => Date.parse(startedAt)).filter((at) => at >= server.spawnedAt);
      found.push(Math.min(...begun));
    }
    after = runs.pageInfo.endCursor;
    more = runs.pageInfo.hasNextPage;
  }
  return found;
}
