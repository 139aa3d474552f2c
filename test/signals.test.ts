/** `signalRun` over the wire: an event for one run. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { createKey } from "./narrowed-keys.ts";
import { eventTriggerOf, publishEvent } from "./published-events.ts";
import { agentOf, CANCEL, ENDED, readRun, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
beforeAll(async () => void (server = await movedServer()));
afterAll(() => server[Symbol.asyncDispose]());

const SIGNAL = "mutation($input: SignalRunInput!) { signalRun(input: $input) { id status } }";
type Given = { data?: unknown; idempotencyKey?: string };
const signal = async (runId: string, name: string, given: Given = {}): Promise<Data> =>
  (await server.data(SIGNAL, { input: { runId, name, ...given } })).signalRun;
const refused = async (input: object, secret?: string): Promise<Data> => {
  const { data, errors } = await server.graphql(SIGNAL, { input }, secret);
  expect(data?.signalRun ?? null).toBeNull();
  return errors![0]!;
};

const HEAR = "{listen: {to: {one: {with: {type: go}}}}}";
const waiting = (id: string, step = "hear"): Promise<Data> =>
  eventually(async () => {
    const run = await readRun(server, id);
    return run["steps"].some(({ name, status }: Data) => name === step && status === "running") && run;
  });
const started = async (body: string, step?: string): Promise<string> => {
  const id = await start(server, await agentOf(server, body));
  await waiting(id, step);
  return id;
};
const outputOf = async (id: string): Promise<unknown> => (await until(server, id, ...ENDED))["output"];

describe("a signal", () => {
  test("is taken by the step that listens to its name, of this run alone", async () => {
    const agent = await agentOf(server, `do: [{hear: ${HEAR}}]`);
    const [id, other] = await Promise.all([start(server, agent), start(server, agent)]);
    await Promise.all([waiting(id), waiting(other)]);
    expect(await signal(id, "other")).toEqual({ id, status: "running" });
    await signal(id, "go", { data: { n: 1 } });
    expect(await outputOf(id)).toEqual([{ n: 1 }]);
    expect(await readRun(server, other)).toMatchObject({ status: "running" });
    await signal(other, "go");
    expect(await outputOf(other)).toEqual([{}]);
  });

  test("is an event with a source of its own, by which it is told from what others publish", async () => {
    const id = await started(
      "do: [{hear: {listen: {to: {one: {with: {type: go, source: autograph/signal}}}, read: envelope}}}]",
    );
    await publishEvent(server, { source: "shop", event: "go", id: "not this", data: {} });
    const { errors } = await publishEvent(server, { source: "autograph/signal", event: "go", id: "forged", data: {} });
    expect(errors![0]).toMatchObject({ message: expect.stringContaining("it is reserved for signals") });
    await signal(id, "go", { data: { n: 1 }, idempotencyKey: "mine" });
    expect(await outputOf(id)).toMatchObject([
      { id: "mine", source: "autograph/signal", type: "go", time: expect.stringMatching(/Z$/), data: { n: 1 } },
    ]);
  });

  test("decides what the recipe in docs/definitions.md says", async () => {
    const page = readFileSync(path.join(import.meta.dirname, "../docs/definitions.md"), "utf8");
    const [, body] = /### Signals[^]*?```yaml\n([^]*?)```/.exec(page)!;
    const id = await started(body!, "decide");
    await publishEvent(server, { source: "shop", event: "decided", id: "no signal", data: { decision: "forged" } });
    await signal(id, "decided", { data: { decision: "pay" } });
    expect(await outputOf(id)).toEqual({ decision: "pay" });
  });

  test("is matched as an event is: values, a condition, what correlates", async () => {
    const ids = await Promise.all(
      [
        "{with: {type: go, data: {kind: [a, b]}}}",
        "{with: {type: go, data: '${ .n > 1 }'}}",
        "{with: {type: go}, correlate: {order: {from: .orderId, expect: '${ 7 }'}}}",
      ].map((filter) => started(`do: [{hear: {listen: {to: {one: ${filter}}}}}]`)),
    );
    for (const id of ids) {
      await signal(id, "go", { data: { kind: "c", n: 1, orderId: 8 } });
      await signal(id, "go", { data: { kind: "b", n: 2, orderId: 7 } });
    }
    for (const id of ids) expect(await outputOf(id)).toEqual([{ kind: "b", n: 2, orderId: 7 }]);
  });

  test("fires no trigger, is no event in the list, and no other run looks back at it", async () => {
    const id = await started(`do: [{hear: ${HEAR}}]`);
    const agent = await agentOf(server, "do: [{one: {set: {n: 1}}}]");
    await eventTriggerOf(server, agent, { source: "shop", event: "go" });
    await signal(id, "go");
    await outputOf(id);
    const { runs, events } = await server.data(
      `{ runs(filter: {agentId: "${agent}"}) { nodes { id } } events(filter: {source: ["autograph/signal"]}) { nodes { id } } }`,
    );
    expect([runs.nodes, events.nodes]).toEqual([[], []]);
  });

  test("counts if it comes before the step listens; steps that follow one another take each once", async () => {
    const listens = ["one", "two"].map((name) => `{${name}: ${HEAR}}`).join(", ");
    const id = await started(`do: [{nap: {wait: {hours: 1}}}, ${listens}, {all: {set: {last: '\${ . }'}}}]`, "nap");
    for (const n of [1, 2]) await signal(id, "go", { data: { n } });
    await server.clock.advance(3_600_000);
    expect(await outputOf(id)).toEqual({ last: [{ n: 2 }] });
  });

  test("counts for a run that is yet to start", async () => {
    const agentId = await agentOf(server, `do: [{hear: ${HEAR}}]`);
    const runAt = new Date((await server.clock.now()) + 3_600_000).toISOString();
    const { runAgent } = await server.data("mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
      input: { agentId, runAt },
    });
    expect(await signal(runAgent.id, "go", { data: { n: 1 } })).toMatchObject({ status: "pending" });
    await server.clock.advance(3_600_000);
    expect(await outputOf(runAgent.id)).toEqual([{ n: 1 }]);
  });

  test("that nobody took is heard by the retry of the run", async () => {
    const id = await started(
      `do: [{nap: {wait: {hours: 1}}}, {break: {raise: {error: {type: "https://serverlessworkflow.io/spec/1.0.0/errors/runtime", status: 500}}}}, {hear: ${HEAR}}]`,
      "nap",
    );
    await signal(id, "go", { data: { n: 1 } });
    await server.data("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: { projectId: server.world.projectId, definition: await mended(id) },
    });
    await server.clock.advance(3_600_000);
    await until(server, id, "failed");
    const { retryRun } = await server.data(
      'mutation($id: ID!) { retryRun(input: {runId: $id, version: "2.0.0"}) { id } }',
      { id },
    );
    expect(await outputOf(retryRun.id)).toEqual([{ n: 1 }]);
  });

  test("reaches each of the branches that listen at the same time", async () => {
    const id = await started(`do: [{both: {fork: {branches: [{hear: ${HEAR}}, {too: ${HEAR}}]}}}]`, "too");
    await waiting(id);
    await signal(id, "go", { data: { n: 1 } });
    expect(await outputOf(id)).toEqual([[{ n: 1 }], [{ n: 1 }]]);
  });

  test("outlives kill -9, before and after its step begins", async () => {
    const id = await started(`do: [{hear: ${HEAR}}, {nap: {wait: {hours: 1}}}, {last: ${HEAR}}]`);
    await signal(id, "go", { data: { n: 1 } });
    await waiting(id, "nap");
    await signal(id, "go", { data: { n: 2 } });
    await server.kill();
    await server.restart();
    await server.clock.advance(3_600_000);
    expect(await outputOf(id)).toEqual([{ n: 2 }]);
  });
});

/** The definition of a run's agent, in which a step that broke passes. */
async function mended(id: string): Promise<string> {
  const { run } = await server.data(`{ run(id: "${id}") { agent { definition } } }`);
  return run.agent.definition
    .replace("version: '1.0.0'", "version: '2.0.0'")
    .replace(/\{raise: .*?\}\}\}\}/, "{set: {n: 0}}}");
}

describe("a signal is refused", () => {
  test("by a run that has ended", async () => {
    const id = await started(`do: [{hear: ${HEAR}}]`);
    await server.data(CANCEL, { id });
    expect(await refused({ runId: id, name: "go" })).toMatchObject({
      message: "the run is already cancelled",
      extensions: { code: "CONFLICT", reason: "wrong_state" },
    });
  });

  test("with a name or data that no event can have", async () => {
    const id = await started(`do: [{hear: ${HEAR}}]`);
    for (const [input, path, code] of [
      [{ name: " " }, "input.name", "required"],
      [{ name: "x".repeat(256) }, "input.name", "too_long"],
      [{ name: "go", data: [1] }, "input.data", "wrong_type"],
      [{ name: "go", data: { text: "x".repeat(65_536) } }, "input.data", "too_large"],
    ] as const)
      expect(await refused({ runId: id, ...input }), JSON.stringify(input).slice(0, 40)).toMatchObject({
        extensions: { code: "BAD_USER_INPUT", fields: [{ path, code }] },
      });
    await server.data(CANCEL, { id });
  });

  test("under an idempotency key that stands for another; the same is sent once, also when the run has ended", async () => {
    const id = await started("do: [{hear: {listen: {to: {any: [{with: {type: go}}], until: 'length == 2'}}}}]");
    for (const _ of [1, 2]) await signal(id, "go", { data: { n: 1 }, idempotencyKey: "k" });
    expect(await refused({ runId: id, name: "go", data: { n: 2 }, idempotencyKey: "k" })).toMatchObject({
      extensions: { code: "CONFLICT", reason: "key_reused" },
    });
    await signal(id, "go", { data: { n: 3 } });
    expect(await outputOf(id)).toEqual([{ n: 1 }, { n: 3 }]);
    expect(await signal(id, "go", { data: { n: 1 }, idempotencyKey: "k" })).toMatchObject({ status: "completed" });
  });

  test("from a key without runs:start, or one that does not reach the run", async () => {
    const id = await started(`do: [{hear: ${HEAR}}]`);
    const input = { runId: id, name: "go" };
    const reader = await createKey(server, { scopes: ["runs:read"] });
    expect(await refused(input, reader.secret)).toMatchObject({
      extensions: { code: "FORBIDDEN", scope: "runs:start" },
    });
    const { createProject } = await server.data(
      'mutation { createProject(input: {handle: "other", name: "Other"}) { id } }',
    );
    const elsewhere = await createKey(server, { scopes: ["runs:start"], projectIds: [createProject.id] });
    expect(await refused(input, elsewhere.secret)).toMatchObject({ extensions: { code: "NOT_FOUND" } });
    const here = await createKey(server, { scopes: ["runs:start"], projectIds: [server.world.projectId] });
    const { data } = await server.graphql(SIGNAL, { input }, here.secret);
    expect(data.signalRun.id).toBe(id);
    expect(await outputOf(id)).toEqual([{}]);
  });
});
