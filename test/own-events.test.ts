/** Events of the service itself, by which agents chain. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { eventTriggerOf } from "./published-events.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { firingsOf } from "./webhooks.ts";

let server: SharedServer;
let agents: Record<"echo" | "three" | "failing" | "approve" | "patient", string>;
beforeAll(async () => {
  server = await sharedServer();
  const [echo, three, failing, approve, patient] = [
    await publish(server, "echo"),
    await publish(server, "three"),
    await publish(server, "failing"),
    await publish(server, "approve"),
    await publish(server, "patient"),
  ];
  agents = { echo, three, failing, approve, patient };
});
afterAll(() => server[Symbol.asyncDispose]());

const listen = (event: string, filter: object): Promise<{ id: string }> =>
  eventTriggerOf(server, agents.echo, { source: "autograph", event, filter });
const firstOf = (trigger: { id: string }): Promise<Data> =>
  eventually(async () => (await firingsOf(server, trigger))[0]);

test("the end of a run is published, in whatever state, and starts the agent that listens", async () => {
  const completed = await listen("run.completed", { agent: ["three"] });
  const failed = await listen("run.failed", { agent: ["failing"] });
  const cancelled = await listen("run.cancelled", { agent: ["patient"] });
  const runs = {
    completed: await start(server, agents.three, { n: 1 }),
    failed: await start(server, agents.failing),
    cancelled: await start(server, agents.patient),
  };
  await server.data(`mutation { cancelRun(runId: "${runs.cancelled}") { id } }`);
  const data = (runId: string, status: string) => ({
    runId,
    status,
    version: "1.0.0",
    projectId: server.world.projectId,
    startedBy: { kind: "key", id: expect.stringMatching(/^key_/) },
    finishedAt: expect.any(String),
  });
  expect(await firstOf(completed)).toMatchObject({
    outcome: "started",
    delivery: runs.completed,
    payload: { ...data(runs.completed, "completed"), agentId: agents.three, output: { n: 4 }, error: null },
  });
  expect(await firstOf(failed)).toMatchObject({
    payload: { ...data(runs.failed, "failed"), output: null, error: { status: 422, title: "Broken" } },
  });
  expect(await firstOf(cancelled)).toMatchObject({ payload: data(runs.cancelled, "cancelled") });
  for (const trigger of [completed, failed, cancelled]) expect(await firingsOf(server, trigger)).toHaveLength(1);
  const { events } = await server.data("{ events(first: 1) { nodes { source publishedBy { kind } } } }");
  expect(events.nodes).toEqual([{ source: "autograph", publishedBy: { kind: "system" } }]);
});

test("the end of a run is published with an output of 16,384 bytes, and without a larger one", async () => {
  const completed = await listen("run.completed", { agent: ["large-echo"] });
  const { publishAgent: agent } = await server.data(
    "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }",
    {
      definition:
        "document: {dsl: '1.0.3', namespace: test, name: large-echo, version: '1.0.0'}\ndo: [{echo: {set: '${ . }'}}]\n",
    },
  );
  const sized = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });
  for (const [bytes, isTold] of [
    [1_001, true],
    [LIMITS.eventPayloadBytes, true],
    [LIMITS.eventPayloadBytes + 1, false],
  ] as const) {
    const delivery = await start(server, agent.id, sized(bytes));
    const firing = await eventually(async () =>
      (await firingsOf(server, completed)).find((one) => one["delivery"] === delivery),
    );
    expect(firing["payload"]["output"], String(bytes)).toEqual(isTold ? sized(bytes) : null);
  }
});

test("a run of another project is named neither as the starter of a child nor in the error of a parent", async () => {
  await server.data('mutation { createProject(input: {handle: "beyond", name: "Beyond"}) { id } }');
  const make = async (namespace: string, name: string, body: string): Promise<string> =>
    (
      await server.data("mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
        definition: `document: {dsl: '1.0.3', namespace: ${namespace}, name: ${name}, version: '1.0.0'}\ndo: [{${body}}]\n`,
      })
    ).publishAgent.id;
  const child = (namespace: string, name: string): string =>
    `down: {run: {workflow: {namespace: ${namespace}, name: ${name}, version: latest}}}`;
  await make("test", "reached", "done: {set: {ok: true}}");
  await make("beyond", "hanging", "ask: {call: 'approval:1.0.0@default', with: {question: Beyond?}}");
  const [near, far, above] = [
    await make("test", "near-starter", child("test", "reached")),
    await make("beyond", "far-starter", child("test", "reached")),
    await make("test", "above", child("beyond", "hanging")),
  ];
  const completed = await listen("run.completed", { agent: ["reached"] });
  const failed = await listen("run.failed", { agent: ["above"] });
  const run = await start(server, near);
  expect((await firstOf(completed))["payload"]["startedBy"]).toEqual({ kind: "run", id: run });
  await start(server, far);
  const second = await eventually(
    async () => (await firingsOf(server, completed))[1] && (await firingsOf(server, completed))[0],
  );
  expect(second["payload"]["startedBy"]).toEqual({ kind: "run", id: null });
  await start(server, above);
  const hanging = await eventually(async () =>
    (await server.data("{ runs(filter: {status: [paused]}) { nodes { id agent { handle } } } }")).runs.nodes.find(
      ({ agent }: Data) => agent.handle === "hanging",
    ),
  );
  await server.data(`mutation { cancelRun(runId: "${hanging.id}") { id } }`);
  const { payload } = await firstOf(failed);
  expect(payload.error.detail).toBe("the child run was cancelled");
  expect(JSON.stringify(payload)).not.toContain(hanging.id);
});

test("a question and a published agent are told", async () => {
  const asked = await listen("approval.requested", { agent: ["approve"] });
  const published = await listen("agent.published", {});
  const run = await start(server, agents.approve);
  expect(await firstOf(asked)).toMatchObject({
    outcome: "started",
    payload: { runId: run, agent: "approve", question: "May it go on?", approvalId: expect.any(String) },
  });
  await server.data(`mutation { cancelRun(runId: "${run}") { id } }`);
  const slow = await publish(server, "slow");
  expect(await firstOf(published)).toMatchObject({ payload: { agentId: slow, agent: "slow", version: "1.0.0" } });
  expect(await firingsOf(server, asked)).toHaveLength(1);
});

test("without a trigger for it nothing is published", async () => {
  // In an organization without any: runs that other tests here start end at any time.
  const other = await server.organization("quiet");
  const definition =
    "document: {dsl: '1.0.3', namespace: test, name: echo, version: '1.0.0'}\ndo: [{a: {set: {b: 1}}}]\n";
  const publishIt = "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  const { publishAgent: agent } = await server.data(publishIt, { definition }, other.apiKey);
  for (let count = 0; count < 5; count++) {
    await server.data(
      "mutation($input: RunAgentInput!) { runAgent(input: $input) { status } }",
      { input: { agentId: agent.id, input: {}, wait: 10 } },
      other.apiKey,
    );
  }
  expect((await server.data("{ events { nodes { id } } }", {}, other.apiKey)).events.nodes).toEqual([]);
});

test("a loop ends: 10 events lead to one another, and the next firing is refused and says so", async () => {
  // An event of other tests here would start one more.
  await eventually(async () => (await server.data("{ badges { openRuns } }")).badges.openRuns === 0);
  const loop = await listen("run.completed", { agent: ["echo"] });
  await start(server, agents.echo);
  const refused = await eventually(async () => (await firingsOf(server, loop, ["refused"]))[0]);
  expect(refused).toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining("10 events led to this one"),
    run: null,
  });
  expect(await firingsOf(server, loop, ["started"])).toHaveLength(10);
  // They are counted by the first of them, the refused one too.
  const database = await connectTo(server);
  const { rows } = await database.query(
    `select e.root_number, e.root_id = first.id as is_of_first from events e, events first
      where first.depth = 0 and first.id in (select event_id from firings where trigger_id = $1) and e.depth > 0
        and e.id in (select event_id from firings where trigger_id = $1) order by e.depth`,
    [decodeId("trigger", loop.id)],
  );
  await database.end();
  expect(rows).toEqual(Array.from({ length: 10 }, (_, index) => ({ root_number: index + 1, is_of_first: true })));
});
