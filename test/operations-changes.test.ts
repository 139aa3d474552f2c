/** `runsChanged` and `approvalsChanged`: what changes in an organization, a project or an agent, as it changes. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start, type AgentName } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { decide, until } from "./runs.ts";
import type { World } from "./server.ts";
import { stalledReader } from "./stalled-reader.ts";

let server: TestServer;
let agents: Record<AgentName, string>;
let other: World;
let foreignAgent: string;
beforeAll(async () => {
  server = await startTestServer();
  const names: AgentName[] = ["three", "echo", "slow", "patient", "approve"];
  agents = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await publish(server, name)])));
  other = await server.organization("other");
  foreignAgent = await publish(server, "echo", other);
});
afterAll(() => server[Symbol.asyncDispose]());

const RUNS =
  "subscription($p: ID, $a: ID) { runsChanged(projectId: $p, agentId: $a) { id status progress agent { id } } }";
const APPROVALS =
  "subscription($p: ID, $a: ID) { approvalsChanged(projectId: $p, agentId: $a) { id status question run { id } } }";

/** Everything that came so far over WebSocket. */
function watch(query: string, variables: object, token?: string): { seen: Data[] } & AsyncDisposable {
  const seen: Data[] = [];
  const client = server.webSocket(token);
  client.subscribe(
    { query, variables: variables as Record<string, unknown> },
    {
      next: ({ data }) => seen.push(Object.values(data!)[0]),
      error: (error) => seen.push({ error }),
      complete: () => {},
    },
  );
  return { seen, [Symbol.asyncDispose]: async () => client.dispose() };
}

/** Nothing is sent at the start, so something is done until the first is there. */
const open = (seen: Data[], prod: () => Promise<unknown>): Promise<unknown> =>
  eventually(async () => {
    await prod();
    await sleep(100);
    return seen.length > 0;
  });

const statusesOf = (seen: Data[], id: string): string[] =>
  seen.filter((one) => one.id === id).map(({ status }) => status);

/** They begin in an hour: nothing of them changes. */
async function startPending(world: World, agentId: string, count: number, input: object): Promise<void> {
  const runAt = new Date((await server.clock.now()) + 3_600_000).toISOString();
  await startMany(world, { agentId, input, runAt }, count);
}

/** Returns their ids. */
async function startMany(world: World, input: object, count: number): Promise<string[]> {
  const variables = { input };
  const ids: string[] = [];
  let left = count;
  const line = async (): Promise<void> => {
    while (left > 0) {
      const some = Math.min(left, LIMITS.queryAliases);
      left -= some;
      const fields = Array.from({ length: some }, (_, at) => `r${at}: runAgent(input: $input) { id }`).join(" ");
      const data = await server.data(`mutation($input: RunAgentInput!) { ${fields} }`, variables, world.apiKey);
      ids.push(...Object.values<Data>(data).map(({ id }) => id as string));
    }
  };
  await Promise.all(Array.from({ length: 8 }, line));
  return ids;
}

describe("runsChanged", () => {
  test("sends each run that starts and changes, its final state too, and no more often than every 250 ms", async () => {
    await using changes = watch(RUNS, {});
    const { seen } = changes;
    await open(seen, () => start(server, agents.echo));
    const since = performance.now();
    const [slow, three, patient] = [
      await start(server, agents.slow),
      await start(server, agents.three, { n: 1 }),
      await start(server, agents.patient),
    ];
    await until(server, slow, "completed");
    await eventually(() => statusesOf(seen, slow).at(-1) === "completed");
    const tookMs = performance.now() - since;
    const ofSlow = seen.filter(({ id }) => id === slow);
    // 30 steps in 3 s: a change in every 100 ms at least.
    expect(ofSlow.length).toBeGreaterThan(5);
    expect(ofSlow.length).toBeLessThan(tookMs / 250 + 2);
    const progress = ofSlow.map((one) => one.progress);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    await eventually(() => statusesOf(seen, three).at(-1) === "completed");
    await eventually(() => statusesOf(seen, patient).at(-1) === "running");
    await server.data(`mutation { cancelRun(runId: "${patient}") { id } }`);
    await eventually(() => statusesOf(seen, patient).at(-1) === "cancelled");
  });

  test("of an agent or a project sends no other's, and of an organization none of another", async () => {
    await using ofAgent = watch(RUNS, { a: agents.three });
    await using ofProject = watch(RUNS, { p: server.world.projectId });
    await using ofBoth = watch(RUNS, { p: server.world.projectId, a: agents.echo });
    await using ofOther = watch(RUNS, {}, other.apiKey);
    await open(ofAgent.seen, () => start(server, agents.three, { n: 1 }));
    await open(ofProject.seen, () => start(server, agents.echo));
    await open(ofBoth.seen, () => start(server, agents.echo));
    await open(ofOther.seen, () => start(server, foreignAgent, {}, other.apiKey));
    const ids = [await start(server, agents.three, { n: 1 }), await start(server, agents.echo)];
    const theirs = await start(server, foreignAgent, {}, other.apiKey);
    await eventually(() => statusesOf(ofAgent.seen, ids[0]!).at(-1) === "completed");
    await eventually(() => ids.every((id) => statusesOf(ofProject.seen, id).at(-1) === "completed"));
    await eventually(() => statusesOf(ofBoth.seen, ids[1]!).at(-1) === "completed");
    await eventually(() => statusesOf(ofOther.seen, theirs).at(-1) === "completed");
    const agentsIn = (seen: Data[]): unknown => new Set(seen.map(({ agent }) => agent.id));
    expect(agentsIn(ofAgent.seen)).toEqual(new Set([agents.three]));
    expect(agentsIn(ofBoth.seen)).toEqual(new Set([agents.echo]));
    expect(agentsIn(ofProject.seen)).toEqual(new Set([agents.three, agents.echo]));
    expect(agentsIn(ofOther.seen)).toEqual(new Set([foreignAgent]));
  });
});

test("100 subscriptions with 150 changes each hold the thread for less than 100 ms in one stretch", async () => {
  const world = await server.organization("watched");
  const agentId = await publish(server, "patient", world);
  const all = Array.from({ length: 100 }, () => new Set<string>());
  const clients = [server.webSocket(world.apiKey), server.webSocket(world.apiKey)];
  for (const [index, seen] of all.entries()) {
    const query = "subscription { runsChanged { id } }";
    clients[index % 2]!.subscribe(
      { query },
      {
        next: ({ data }) => seen.add((data as Data)["runsChanged"].id),
        error: () => {},
        complete: () => {},
      },
    );
  }
  const tell = (count: number): Promise<string[]> => startMany(world, { agentId }, count);
  await eventually(async () => {
    await tell(1);
    await sleep(100);
    return all.every((seen) => seen.size > 0);
  });
  const stretches: number[] = [];
  // Once more where the collector or a busy machine had its share.
  for (let time = 0; time < 3 && Math.min(...stretches) >= 100; time++) {
    await sleep(300);
    await server.measure();
    for (const seen of all) seen.clear();
    // Earlier runs may still send a change.
    const ids = new Set(await tell(150));
    await eventually(() => all.every((seen) => seen.isSupersetOf(ids)));
    stretches.push((await server.measure()).longestMs);
  }
  expect(Math.min(...stretches)).toBeLessThan(MAIN_THREAD_MS);
  for (const client of clients) await client.dispose();
});

describe("a reader that stalls", () => {
  test(`is told so when more than ${LIMITS.changesWaiting} runs wait, and what it had is gone`, async () => {
    const world = await server.organization("busy");
    const agentId = await publish(server, "echo", world);
    const reader = await stalledReader(server, "subscription { runsChanged { id input } }", world.apiKey);
    // More than the sockets' buffers take, and the reader on a slow machine.
    const large = 100;
    await startPending(world, agentId, large, { text: "x".repeat(LIMITS.inputBytes - 100) });
    await startPending(world, agentId, LIMITS.changesWaiting, { small: true });
    const lines = await reader.rest();
    expect(lines.length).toBeLessThan(large + 5);
    expect(JSON.parse(lines.at(-1)!.slice("data: ".length)).errors).toEqual([
      expect.objectContaining({
        message: `more than ${LIMITS.changesWaiting} changes wait to be read: subscribe again, then read the list`,
        extensions: { code: "UNAVAILABLE", retryAfter: 1 },
      }),
    ]);
  });
});

describe("approvalsChanged", () => {
  test("sends what is asked for, and what became of it", async () => {
    await using changes = watch(APPROVALS, { a: agents.approve });
    const { seen } = changes;
    await open(seen, () => start(server, agents.approve));
    expect(seen[0]).toEqual({
      id: expect.stringMatching(/^approval_/),
      status: "open",
      question: "May it go on?",
      run: { id: expect.stringMatching(/^run_/) },
    });
    const [decided, cancelled] = [await start(server, agents.approve), await start(server, agents.approve)];
    const statuses = (runId: string): string[] =>
      seen.filter(({ run }) => run.id === runId).map(({ status }) => status);
    await eventually(() => statuses(decided).length > 0 && statuses(cancelled).length > 0);
    await decide(server, decided, "approve", { answer: { costCentre: "office" } });
    await server.data(`mutation { cancelRun(runId: "${cancelled}") { id } }`);
    await eventually(() => statuses(decided).length > 1 && statuses(cancelled).length > 1);
    expect(statuses(decided)).toEqual(["open", "approved"]);
    expect(statuses(cancelled)).toEqual(["open", "withdrawn"]);
  });

  test("of an organization sends none of another", async () => {
    const theirs = await publish(server, "approve", other);
    await using changes = watch(APPROVALS, {}, other.apiKey);
    await open(changes.seen, () => start(server, theirs, {}, other.apiKey));
    const mine = await start(server, agents.approve);
    await until(server, mine, "paused");
    const last = await start(server, theirs, {}, other.apiKey);
    await eventually(() => changes.seen.some(({ run }) => run.id === last));
    expect(changes.seen.filter(({ run }) => run.id === mine)).toEqual([]);
  });
});

test("they come over Server-Sent Events too, and end with the reader", async () => {
  const events = server.events(RUNS, { a: agents.echo });
  const first = events.next();
  const prodding = new AbortController();
  const prod = (async () => {
    while (!prodding.signal.aborted) {
      await start(server, agents.echo);
      await sleep(100);
    }
  })();
  expect((await first).value).toMatchObject({
    event: "next",
    data: { data: { runsChanged: { agent: { id: agents.echo } } } },
  });
  prodding.abort();
  await prod;
  await events.return(undefined);
});

test("an agent that is not there is NOT_FOUND before anything is sent", async () => {
  for (const field of ["runsChanged", "approvalsChanged"]) {
    const results: Data[] = [];
    for await (const result of server.watch(
      `subscription { ${field}(agentId: "agent_01kb3v0000e00000000000000x") { id } }`,
    ))
      results.push(result);
    expect(results).toEqual([
      {
        data: null,
        errors: [expect.objectContaining({ message: "Agent not found", extensions: { code: "NOT_FOUND" } })],
      },
    ]);
  }
});
