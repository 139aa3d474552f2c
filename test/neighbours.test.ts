/**
 * Twenty organizations with 2,000 runs each that hang in calls, more than a process advances at once, and a twenty-first
 * with single runs, waits and approvals: it does not notice them. The figures are printed by `npm run bench -- --only neighbours`.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import type { World } from "./server.ts";

const FLOODING = 20;
const RUNS = 2_000;
/** Ten times what is promised. */
const DEADLINE_MS = 10_000;
const WAIT_MS = 1_500;

const DEFINITIONS = {
  hang: (url: string) => `do: [{hold: {call: http, with: {method: post, endpoint: '${url}'}}}]`,
  single: () => "do: [{one: {set: {a: 1}}}, {two: {set: {a: 2}}}]",
  wait: () => `do: [{pause: {wait: {milliseconds: ${WAIT_MS}}}}, {after: {set: {a: 1}}}]`,
  ask: () => "do: [{ask: {call: approval:1.0.0@default, with: {question: Now?}}}, {after: {set: {a: 1}}}]",
};

/** Answers nobody. */
async function startDoor(): Promise<{ url: string; calls(): number } & AsyncDisposable> {
  let calls = 0;
  const server = createServer(() => calls++).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

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
      await eventually(async () => (await server.data(STATUS, { id }, apiKey)).run.status === "completed", 30_000);
      return performance.now() - since;
    },
  };
}

test("20 organizations with 2,000 hanging runs each delay no run, wait or decision of another by 10 s", async () => {
  await using door = await startDoor();
  await using server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  const worlds: World[] = [];
  for (let count = 1; count <= FLOODING; count++) worlds.push(await server.organization(`flood-${count}`));
  for (const world of worlds) {
    const agentId = await publish(server, world, "hang", door.url);
    await server.data(START, { input: { agentId } }, world.apiKey);
  }
  const client = await connectTo(server);
  await multiply(client, RUNS - 1);
  const neighbour = await server.organization("neighbour");
  const agents = {
    single: await publish(server, neighbour, "single"),
    wait: await publish(server, neighbour, "wait"),
    ask: await publish(server, neighbour, "ask"),
  };
  const { single, wait, approval } = canary(server, neighbour, agents);
  // They are under way, as many as have a place: all of them hang, and most of the runs wait for them.
  await eventually(() => door.calls() > LIMITS.runsInMemory * 0.9, 60_000);
  const measured: number[] = [];
  const round = async (): Promise<void> => {
    measured.push(...(await Promise.all([single(), wait(), approval()])));
  };
  for (let count = 0; count < 5; count++) await round();
  expect(door.calls()).toBeLessThan(LIMITS.runsInMemory + LIMITS.runsInMemoryOwn * (FLOODING + 1));
  expect(Math.max(...measured)).toBeLessThan(DEADLINE_MS);
  await client.end();
}, 120_000);

/** So many copies of each run, as their starts would have left them when no place was free. */
const multiply = (client: Awaited<ReturnType<typeof connectTo>>, copies: number): Promise<unknown> =>
  client.query(
    `with columns as (select r.*, row_number() over (order by r.id, copy) as nth from runs r, generate_series(1, $1) copy)
     insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, revision, progress, epoch, wake_at, wake_seq)
     select overlay(id::text placing lpad(to_hex(nth), 12, '0') from 25)::uuid, organization_id, project_id, agent_id, version,
       'pending', started_by_kind, started_by_id, input, created_at, 1, 0, 0, 'epoch', 0
       from columns`,
    [copies],
  );
