/**
 * Twenty organizations with 2,000 runs each that hang in calls, more than a process advances at once, and a twenty-first
 * with single runs, waits and approvals: it does not notice them, nor 10,000 waits that end together. The figures are
 * printed by `npm run bench -- --only neighbours`.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { multiplyRuns, multiplyWaits, startDoor } from "./flood.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf } from "./runs.ts";
import { scaled } from "./scale.ts";
import type { World } from "./server.ts";

const FLOODING = scaled({ whole: 20, part: 3 });
const RUNS = 2_000;
const ROUNDS = scaled({ whole: 5, part: 2 });
/** Queries of a thousand statements each. */
const ASKING = scaled({ whole: 6, part: 4 });
/** Runs that are due together. */
const DUE = scaled({ whole: 10_000, part: 3_000 });
/** Ten times what is promised. */
const DEADLINE_MS = 10_000;
const WAIT_MS = 1_500;
/** By then it is found what nobody told of. */
const SWEEP_MS = 5_000;

const DEFINITIONS = {
  hang: (url: string) => `do: [{hold: {call: http, with: {method: post, endpoint: '${url}'}}}]`,
  single: () => "do: [{one: {set: {a: 1}}}, {two: {set: {a: 2}}}]",
  wait: () => `do: [{pause: {wait: {milliseconds: ${WAIT_MS}}}}, {after: {set: {a: 1}}}]`,
  ask: () => "do: [{ask: {call: approval:1.0.0@default, with: {question: Now?}}}, {after: {set: {a: 1}}}]",
};

async function publish(server: TestServer, world: World, name: keyof typeof DEFINITIONS, url = ""): Promise<string> {
  const definition = `document: {dsl: '1.0.3', namespace: test, name: ${name}, version: '1.0.0'}\n${DEFINITIONS[name](url)}`;
  const query = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  return (await server.data(query, { input: { projectId: world.projectId, definition } }, world.apiKey)).publishAgent
    .id;
}

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status approvals { nodes { id } } } }";
const STATUS = "query($id: ID!) { run(id: $id) { status } }";
const DECIDE = "mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }";

/** How long the twenty-first waits, ms: for a run's end, past the end of a wait, from a decision to the run's end. */
function canary(server: TestServer, { apiKey }: World, agents: Record<"single" | "wait" | "ask", string>) {
  const start = async (agentId: string): Promise<Data> =>
    (await server.data(START, { input: { agentId, wait: 30 } }, apiKey)).runAgent;
  return {
    async single(): Promise<number> {
      const since = performance.now();
      expect((await start(agents.single)).status).toBe("completed");
      return performance.now() - since;
    },
    async wait(): Promise<number> {
      const since = performance.now();
      expect((await start(agents.wait)).status).toBe("completed");
      return performance.now() - since - WAIT_MS;
    },
    async approval(): Promise<number> {
      const { id, status, approvals } = await start(agents.ask);
      expect(status).toBe("paused");
      const since = performance.now();
      const input = { approvalId: approvals.nodes[0].id, decision: "approve" };
      await server.data(DECIDE, { input }, apiKey);
      await eventually(async () => (await server.data(STATUS, { id }, apiKey)).run.status === "completed");
      return performance.now() - since;
    },
  };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
});
afterAll(() => server[Symbol.asyncDispose]());

// The first: it multiplies the runs that there are.
test(`behind ${ASKING},000 statements of one organization's queries another's query is answered before the third of them`, async () => {
  const flood = await server.organization("asking");
  const neighbour = await server.organization("asking-neighbour");
  for (const world of [flood, neighbour]) {
    const input = { agentId: await publish(server, world, "single"), wait: 30 };
    expect((await server.data(START, { input }, world.apiKey)).runAgent.status).toBe("completed");
  }
  const client = await connectTo(server);
  await multiplyRuns(client, 99);
  await client.query(
    "update runs set status = 'cancelled', finished_at = created_at, wake_at = null where status = 'pending'",
  );
  // A statement each: what a run asked for is read run by run.
  const asked = Array.from({ length: 10 }, (_, index) => `a${index}: approvals(first: 1) { nodes { id } }`);
  const many = `{ runs(first: 100) { nodes { ${asked.join(" ")} } } }`;
  const one = "{ runs(first: 1) { nodes { approvals(first: 1) { nodes { id } } } } }";
  // The statements wait at the lock until the neighbour's is among them: sent too late it would be the last.
  await using held = await holdTable(server, "approvals");
  let answered = 0;
  const all = Array.from({ length: ASKING }, async () => {
    expect((await server.data(many, {}, flood.apiKey)).runs.nodes).toHaveLength(100);
    answered++;
  });
  const standing = async (): Promise<number> => {
    const { rows } = await client.query(
      "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' group by query order by 1 desc",
    );
    return rows[0]?.count ?? 0;
  };
  await eventually(async () => (await standing()) === 2);
  const before = server.data(one, {}, neighbour.apiKey).then(({ runs }) => {
    expect(runs.nodes).toHaveLength(1);
    return answered;
  });
  await eventually(async () => (await standing()) === 3);
  await held.letGo();
  expect(await before).toBeLessThanOrEqual(2);
  await Promise.all(all);
  await client.end();
});

/** Locks the table for everyone else until it is let go. */
async function holdTable(of: TestServer, table: string): Promise<{ letGo(): Promise<void> } & AsyncDisposable> {
  const client = await connectTo(of);
  await client.query(`begin; lock table ${table} in access exclusive mode`);
  const letGo = (): Promise<void> => client.end();
  return { letGo, [Symbol.asyncDispose]: letGo };
}

test(`beside ${DUE} runs whose waits end with it, and while they go on, a run comes back from its wait within 10 s`, async () => {
  const waits = (body: string): string => `do: [{pause: {wait: ${body}}}, {after: {set: {a: 1}}}]`;
  const flood = await agentOf(server, waits("P1D"));
  await server.data(START, { input: { agentId: flood } });
  const client = await connectTo(server);
  const unloaded = async (organization: string): Promise<boolean> =>
    (
      await client.query(
        "select bool_and(owner is null and wake_at is not null) as all from runs where organization_id = $1",
        [decodeId("organization", organization)],
      )
    ).rows[0].all;
  await eventually(() => unloaded(server.world.organizationId));
  await multiplyWaits(client, DUE - 1);
  const neighbour = await server.organization("neighbour");
  const theirs = { data: (query: string, variables = {}) => server.data(query, variables, neighbour.apiKey) };
  for (const body of ["P1D", "P1DT1S", "P1DT2S"]) {
    const agentId = await agentOf({ ...server, ...theirs, world: neighbour }, waits(body));
    await theirs.data(START, { input: { agentId } });
  }
  await eventually(() => unloaded(neighbour.organizationId));
  const { rows: due } = await client.query("select id, wake_at from runs where organization_id = $1 order by wake_at", [
    decodeId("organization", neighbour.organizationId),
  ]);
  // The neighbour's first is the last of all that are due then.
  const jump = due[0].wake_at.getTime() - (await server.clock.now());
  await server.clock.advance(jump);
  const end = "select finished_at from runs where id = $1 and finished_at is not null";
  const late: number[] = [];
  for (const { id, wake_at } of due) {
    const [run] = await eventually(async () => {
      const { rows } = await client.query(end, [id]);
      return rows.length > 0 ? rows : undefined;
    }, 60_000);
    late.push(run.finished_at - wake_at);
  }
  const left = "select count(*)::int as left from runs where agent_id = $1 and finished_at is null";
  const agent = [decodeId("agent", flood)];
  await eventually(async () => (await client.query(left, agent)).rows[0].left === 0, 200_000);
  const { rows: before } = await client.query(
    `select (select count(*)::int from runs where agent_id = $1 and finished_at < theirs.finished_at and status = 'completed') as ended
     from runs theirs where organization_id = $2 order by finished_at`,
    [...agent, decodeId("organization", neighbour.organizationId)],
  );
  const ended = before.map((row) => row.ended);
  process.stderr.write(
    `back from a wait: ${late.join(", ")} ms late, after ${ended.join(", ")} of ${DUE} others had ended\n`,
  );
  // In the order of their times it would be the last.
  expect(ended[0]).toBeLessThan(DUE / 4);
  expect(Math.max(...late)).toBeLessThan(DEADLINE_MS);
  await client.end();
});

test(`${FLOODING} organizations with 2,000 hanging runs each delay no run, wait or decision of another by 10 s; answered at once, a few end before its own`, async () => {
  await using door = await startDoor();
  const flooding: string[] = [];
  for (let count = 1; count <= FLOODING; count++) {
    const world = await server.organization(`flood-${count}`);
    const agentId = await publish(server, world, "hang", door.url);
    await server.data(START, { input: { agentId } }, world.apiKey);
    flooding.push(decodeId("agent", agentId)!);
  }
  const client = await connectTo(server);
  await multiplyRuns(client, RUNS - 1, flooding);
  const neighbour = await server.organization("flooded-neighbour");
  const agents = {
    single: await publish(server, neighbour, "single"),
    wait: await publish(server, neighbour, "wait"),
    ask: await publish(server, neighbour, "ask"),
  };
  const { single, wait, approval } = canary(server, neighbour, agents);
  await server.clock.advance(SWEEP_MS);
  // All that have a place are under way and hang, and most of the runs wait for them.
  await eventually(() => door.calls() > LIMITS.runsInMemory * 0.9, 60_000);
  const measured: number[] = [];
  const round = async (): Promise<void> => {
    measured.push(...(await Promise.all([single(), wait(), approval()])));
  };
  for (let count = 0; count < ROUNDS; count++) await round();
  expect(door.calls()).toBeLessThan(LIMITS.runsInMemory + LIMITS.runsInMemoryOwn * (FLOODING + 1));
  expectInTime(Math.max(...measured), DEADLINE_MS);

  /** How many of the others had ended when each of the neighbour's did: what the test takes to look does not count. */
  const ended = async (): Promise<number[]> => {
    const { rows } = await client.query(
      `select (select count(*)::int from runs where agent_id = any ($1) and finished_at <= theirs.finished_at) as ended
         from runs theirs where agent_id = $2 order by finished_at`,
      [flooding, decodeId("agent", agents.single)],
    );
    return rows.map((row) => row.ended as number);
  };
  const since = performance.now();
  door.open();
  for (let count = 0; count < 11; count++) await single();
  expectInTime(performance.now() - since, 11 * DEADLINE_MS);
  const all = await ended();
  // These were before the door was opened.
  expect(all.slice(0, ROUNDS)).toEqual(Array(ROUNDS).fill(0));
  const after = all.slice(ROUNDS);
  expect(after).toHaveLength(11);
  expect(after[0]).toBeLessThan(2_000);
  expect(after[10]).toBeLessThan(4_000);
  await client.end();
});
