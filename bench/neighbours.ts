/**
 * Twenty organizations with 2,000 runs each that hang in a call, and a twenty-first that runs, waits and decides: how long
 * it waits for a run's end, beyond the end of a wait, and from a decision to the run's end. Then all calls are answered at
 * once, and the same while the 40,000 runs go on. Last, 10,000 runs of one organization whose waits end at one instant, and how
 * late another one's runs come back from theirs, at that instant and while the 10,000 go on.
 *
 * Then large payloads: each way to use them on a server of its own, and the times of another organization beside it.
 */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { multiplyRuns, multiplyWaits, startDoor } from "../test/flood.ts";
import { CASES, createNeighbour, p99, startLargeDoor, type Party } from "../test/large-payloads.ts";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { connectTo, type Postgres } from "./postgres.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, type World } from "./world.ts";

const ORGANIZATIONS = 20;
const RUNS = 2_000;
/** Each has so many of each kind at once. */
const ROUNDS = { full: 40, quick: 12 };
const AT_ONCE = 5;
/** The length of a wait: the run is unloaded. */
const WAIT_MS = 1_200;
const POLL_MS = 5;
const LATE_MS = 1_000;
const QUERY_MS = 250;
/** How long the other organization is measured before the large payloads come. */
const ALONE_MS = 3_000;
/** Most of what a server can hold in memory hangs by then. */
const LEAST_HANGING = 900;
/** Waits that end together, when, and how many of another organization end then and every 100 ms from then on. */
const WAITS = 10_000;
const TOGETHER_AFTER_MS = 12_000;
const BACK = 30;
const BACK_EVERY_MS = 100;
const LOOK_MS = 500;
/** After the calls are answered: less than the flood needs. */
const ANSWERED_MS = 15_000;

export async function measureNeighbours(_generator: Generator, _sinkUrl: string, isQuick = false): Promise<Measured> {
  await using door = await startDoor();
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using postgres = await connectTo(server);
  await flood(server, postgres, door.url);
  const canary = await makeCanary(server, await makeWorld(server, door.url));
  await canary.run();
  while (door.calls() < LEAST_HANGING) await sleep(POLL_MS);
  const hanging = noTimes();
  for (let round = 0; round < (isQuick ? ROUNDS.quick : ROUNDS.full); round++) await measureRound(canary, hanging);
  const answered = noTimes();
  door.open();
  for (const end = performance.now() + ANSWERED_MS; performance.now() < end;) await measureRound(canary, answered);
  const [left] = await postgres.query("select count(*)::int as count from runs where finished_at is null");
  const all = `${ORGANIZATIONS} × ${RUNS.toLocaleString("en")}`;
  const figures = [
    ...figuresOf(hanging, `beside ${all} runs that hang`),
    ...figuresOf(answered, `beside ${all} whose calls are answered`),
    { figure: "runs that were left of them in the end", unit: "", ours: left!["count"] as number },
  ];
  const back = await measureBack(isQuick ? 1 : 5);
  const payloads = await measurePayloads(isQuick ? 0.3 : 1);
  return {
    figures: [...figures, ...figuresOf({ wait: back }, BESIDE_WAITS), ...payloads],
    details: { neighbours: { hanging, answered, back } },
  };
}

const BESIDE_WAITS = `that ends with ${WAITS.toLocaleString("en")} of another organization`;

/** How late, ms, by the server's clock: from the end of a wait to the end of its run. A server of its own for each round. */
async function measureBack(rounds: number): Promise<number[]> {
  const late: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await using door = await startDoor();
    using folder = temporaryFolder();
    await using server = await startServer({ folder: folder.path });
    await using postgres = await connectTo(server);
    const flood = await makeCanary(server, await makeWorld(server, door.url));
    const other = await makeCanary(server, await makeWorld(server, door.url));
    const end = performance.now() + TOGETHER_AFTER_MS;
    await flood.startPause(end);
    const unloaded = async (): Promise<number> =>
      (await postgres.query("select count(*)::int as count from runs where owner is null and wake_at is not null"))[0]!
        .count;
    while ((await unloaded()) < 1) await sleep(POLL_MS);
    await multiplyWaits(postgres, WAITS - 1);
    for (let index = 0; index < BACK; index++) await other.startPause(end + index * BACK_EVERY_MS);
    while ((await unloaded()) < WAITS + BACK) await sleep(POLL_MS);
    const asked = (await postgres.query("select id, wake_at from runs order by created_at desc limit $1", [BACK])).map(
      ({ id, wake_at }) => [id, wake_at] as const,
    );
    if (performance.now() > end) throw new Error("the waits ended before all of them were there");
    const open = async (): Promise<boolean> =>
      (await postgres.query("select 1 from runs where finished_at is null limit 1")).length > 0;
    while (await open()) await sleep(LOOK_MS);
    const ended = await postgres.query("select id, finished_at from runs where id = any ($1)", [
      asked.map(([id]) => id),
    ]);
    const finishedAt = new Map(ended.map((row) => [row["id"], row["finished_at"]]));
    late.push(...asked.map(([id, wakeAt]) => finishedAt.get(id) - wakeAt));
  }
  return late;
}

async function measurePayloads(scale: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { what, flood } of Object.values(CASES)) {
    await using door = await startLargeDoor();
    using folder = temporaryFolder();
    await using server = await startServer({ folder: folder.path });
    const [other, large] = [await partyOf(server), await partyOf(server)];
    const neighbour = await createNeighbour(other);
    const alone = neighbour.start();
    await sleep(ALONE_MS);
    const without = await alone.stop();
    const beside = neighbour.start();
    await flood(large, door, scale);
    const times = await beside.stop();
    for (const [kind, most] of [
      ["run", LATE_MS],
      ["wait", LATE_MS],
      ["query", QUERY_MS],
    ] as const) {
      figures.push(
        { figure: `${kind} beside ${what}, p99`, unit: "ms", ours: p99(times[kind]), aim: { most } },
        { figure: `${kind} in the seconds before, p99`, unit: "ms", ours: p99(without[kind]) },
      );
    }
    const peak = Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${server.child.pid}/status`, "utf8"))![1]) / 1024;
    figures.push({ figure: `most memory of the process then`, unit: "MB", ours: peak });
  }
  return figures;
}

/** Asks again when there is too much to do. */
async function partyOf(server: Server): Promise<Party> {
  const world = (await makeWorld(server, "http://127.0.0.1:9")) as World & { projectId: string };
  const data: Party["data"] = async (query, variables) => {
    for (;;) {
      try {
        return await graphql(server, world, query, variables);
      } catch (error) {
        if (!/more to do|too much memory|try again/.test((error as Error).message)) throw error;
        await sleep(200);
      }
    }
  };
  const { project } = await data("query ($id: ID!) { project(id: $id) { handle } }", { id: world.projectId });
  return { data, projectId: world.projectId, handle: project.handle };
}

type Times = { run: number[]; wait: number[]; decision: number[] };
const noTimes = (): Times => ({ run: [], wait: [], decision: [] });

async function measureRound(canary: Awaited<ReturnType<typeof makeCanary>>, times: Times): Promise<void> {
  const kinds = ["run", "wait", "decision"] as const;
  await Promise.all(
    kinds.flatMap((kind) => Array.from({ length: AT_ONCE }, async () => void times[kind].push(await canary[kind]()))),
  );
}

const figuresOf = (times: Partial<Times>, beside: string): Figure[] =>
  Object.entries(times).flatMap(([what, unsorted]) => {
    const sorted = unsorted.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1]!;
    return [
      { figure: `${what} ${beside}, p50`, unit: "ms", ours: at(0.5) },
      { figure: `${what} ${beside}, p99`, unit: "ms", ours: at(0.99), aim: { most: LATE_MS } },
    ];
  });

/** One run of each by the API, the others as its copies: as their starts leave them when no place is free. */
async function flood(server: Server, postgres: Postgres, doorUrl: string): Promise<void> {
  for (let count = 0; count < ORGANIZATIONS; count++) {
    const world = await makeWorld(server, doorUrl);
    await graphql(server, world, START, { input: { agentId: world.agents.call } });
  }
  await multiplyRuns(postgres, RUNS - 1);
}

const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const START = `mutation ($input: RunAgentInput!) {
  runAgent(input: $input) { id status approvals { nodes { id } } }
}`;
const START_ALONE = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
const pauseUntil = (agentId: string, end: number) => ({
  agentId,
  input: { pause: { milliseconds: Math.round(end - performance.now()) } },
});
const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }";
type Started = { runAgent: { id: string; status: string; approvals: { nodes: { id: string }[] } } };

/** The work of the twenty-first; each answers in ms how long it waited. */
async function makeCanary(server: Server, world: World) {
  const { projectId } = world as World & { projectId: string };
  const { project } = await graphql<{ project: { handle: string } }>(
    server,
    world,
    "query ($id: ID!) { project(id: $id) { handle } }",
    { id: projectId },
  );
  const publish = async (name: string, first: object): Promise<string> => {
    const document = { dsl: "1.0.3", namespace: project.handle, name, version: "1.0.0" };
    const definition = JSON.stringify({ document, do: [{ first }, { after: { set: { a: 1 } } }] });
    const answer = await graphql<{ publishAgent: { id: string } }>(server, world, PUBLISH, {
      input: { projectId, definition },
    });
    return answer.publishAgent.id;
  };
  const agents = {
    run: await publish("canary-run", { set: { a: 0 } }),
    wait: await publish("canary-wait", { wait: { milliseconds: WAIT_MS } }),
    pause: await publish("canary-pause", { wait: "${ .pause }" }),
    ask: await publish("canary-ask", { call: "approval:1.0.0@default", with: { question: "Now?" } }),
  };
  const start = async (agentId: string, status: string): Promise<Started["runAgent"]> => {
    const { runAgent } = await graphql<Started>(server, world, START, { input: { agentId, wait: 30 } });
    if (runAgent.status !== status) throw new Error(`the run is ${runAgent.status}, not ${status}`);
    return runAgent;
  };
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const since = performance.now();
    await work();
    return performance.now() - since;
  };
  return {
    run: () => timed(() => start(agents.run, "completed")),
    startPause: (end: number) => graphql(server, world, START_ALONE, { input: pauseUntil(agents.pause, end) }),
    wait: async () => (await timed(() => start(agents.wait, "completed"))) - WAIT_MS,
    async decision() {
      const { id, approvals } = await start(agents.ask, "paused");
      return timed(async () => {
        const input = { approvalId: approvals.nodes[0]!.id, decision: "approve" };
        await graphql(server, world, DECIDE, { input });
        while (!(await hasEnded(server, world, id))) await sleep(POLL_MS);
      });
    },
  };
}

async function hasEnded(server: Server, world: World, id: string): Promise<boolean> {
  type Answer = { run: { status: string } };
  const { run } = await graphql<Answer>(server, world, "query ($id: ID!) { run(id: $id) { status } }", { id });
  return run.status === "completed";
}
