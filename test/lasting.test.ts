/** Subscriptions and waits of one organization, over every way in: how many it may have open on a small heap, and who else may. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { ask, send, type Sent } from "./mcp-client.ts";
import { connect, head, type Raw } from "./raw.ts";
import type { World } from "./server.ts";
import { acknowledged } from "./web-socket.ts";
import { call, webhookOf } from "./webhooks.ts";

/** With such a heap all may have about 1,200, and one organization half of it. */
const HEAP_MB = 128;
const CONNECTIONS = 18;
const EACH = 50;
const TOO_MANY =
  /^too many subscriptions and waits of this organization are open \(its share of the server's \d+ is used up\)/;
const CHANGES = "subscription { runsChanged { id } }";

let server: TestServer;
let flooding: World;
beforeAll(async () => {
  server = await startTestServer({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`, METRICS_PORT: "0" } });
  flooding = await server.organization("flooding");
});
afterAll(() => server[Symbol.asyncDispose]());

const subscriptions = async (): Promise<number> =>
  Number(/^autograph_subscriptions (\d+)$/m.exec(await (await fetch(server.metricsUrl!)).text())![1]);

/** Five in a turn: of more that come together some would be refused for that. */
async function write(connections: readonly Raw[], one: string): Promise<void> {
  for (let sent = 0; sent < EACH; sent += 5) {
    for (const raw of connections) raw.write(one.repeat(5));
    await server.graphql("{ __typename }");
  }
}

async function openMany(one: string): Promise<Raw[]> {
  const all = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(server)));
  await write(all, one);
  return all;
}

/** A busy machine refuses some of them, as they would wait too long: others take their place. */
const untilFull = (all: Raw[], one: string, isFull: () => Promise<boolean>): Promise<unknown> =>
  eventually(async () => {
    if (await isFull()) return true;
    const more = await connect(server);
    all.push(more);
    await write([more], one);
    return false;
  });

test("a caller that opens ever more on many connections has its share; then a neighbour's open, and its own again", async () => {
  const body = JSON.stringify({ query: CHANGES });
  const one = head(body.length, flooding.apiKey, "accept: text/event-stream\r\n") + body;
  const all = await openMany(one);
  const agentId = await publish(server, "echo", flooding);
  const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { status } }";
  const run = (more: object): Promise<Data> => server.graphql(RUN, { input: { agentId, ...more } }, flooding.apiKey);
  // Requests that have not begun by then are refused in the same way. A busy machine also refuses with 503 what would wait too long.
  await untilFull(all, one, async () => TOO_MANY.test((await run({ wait: 1 })).errors?.[0].message));
  const most = await subscriptions();
  expect(most).toBeGreaterThan(300);
  expect(most).toBeLessThan((CONNECTIONS * EACH * 4) / 5);

  using own = await acknowledged(server, flooding.apiKey);
  own.send({ type: "subscribe", id: "one", payload: { query: CHANGES } });
  const refusal = (await own.next("error")).payload[0];
  expect(refusal).toMatchObject({
    message: expect.stringMatching(TOO_MANY),
    extensions: { code: "UNAVAILABLE", retryAfter: 1 },
  });
  expect(await run({ wait: 1 })).toMatchObject({ status: 503, errors: [{ message: refusal.message }] });
  expect(await run({})).toMatchObject({ status: 200, data: { runAgent: { status: expect.any(String) } } });
  // A client of MCP sends the call again: so nothing may have been started.
  const runs = async (): Promise<Data[]> =>
    (await server.data("{ runs(first: 10) { nodes { id } } }", {}, flooding.apiKey)).runs.nodes;
  const before = await runs();
  const params = { name: "test_echo", arguments: {} };
  expect(await ask(server, flooding.apiKey, "tools/call", params)).toMatchObject({
    status: 503,
    body: { error: { code: 503, message: refusal.message } },
  });
  expect(await runs()).toEqual(before);
  const looked = { name: "get_run", arguments: { runId: before[0]!["id"], wait: 30 } };
  expect(await ask(server, flooding.apiKey, "tools/call", looked)).toMatchObject({ status: 503 });

  using neighbour = await acknowledged(server, server.world.apiKey);
  for (let count = 0; count < 100; count++)
    neighbour.send({ type: "subscribe", id: `${count}`, payload: { query: CHANGES } });
  await eventually(async () => (await subscriptions()) === most + 100);
  expect(neighbour.messages.filter(({ type }) => type === "error")).toEqual([]);

  for (const raw of all) raw[Symbol.dispose]();
  await eventually(async () => (await subscriptions()) === 100);
  expect(await run({ wait: 30 })).toMatchObject({ data: { runAgent: { status: "completed" } } });
});

test("answers that wait for one that comes before them on their connection are one listener to its socket", async () => {
  const requestOf = (query: string, headers = ""): string => {
    const body = JSON.stringify({ query });
    return head(body.length, flooding.apiKey, headers) + body;
  };
  const agentId = await publish(server, "echo", flooding);
  // A busy machine refuses some of them.
  const started = async (): Promise<number> =>
    (await server.data(`{ runs(first: 50, filter: { agentId: "${agentId}" }) { nodes { id } } }`, {}, flooding.apiKey))
      .runs.nodes.length;
  using raw = await connect(server);
  raw.write(requestOf(CHANGES, "accept: text/event-stream\r\n"));
  await write([raw], requestOf(`mutation { runAgent(input: { agentId: "${agentId}" }) { id } }`));
  await eventually(async () => (await started()) > 10);
  expect(server.log()).not.toContain("MaxListenersExceededWarning");
});

test("calls of a webhook that wait have the same share, and give it back when their client hangs up", async () => {
  const hook = await webhookOf(server, await publish(server, "patient"), {});
  const url = new URL(hook.url);
  // All of one delivery: they wait for the same run.
  const one = `${head(2, undefined, "idempotency-key: one\r\n", `${url.pathname}?wait=30`)}{}`;
  const all = await openMany(one);
  const again = () => call(`${hook.url}?wait=1`, {}, { headers: { "idempotency-key": "one" } });
  const refused = async (): Promise<boolean> => {
    const { status, errors } = await again();
    return status === 503 && TOO_MANY.test(errors![0]!.message);
  };
  // None of them ends by its time meanwhile, however slow the machine is.
  await untilFull(all, one, async () => {
    await server.clock.advance(-60_000);
    return refused();
  });
  await server.clock.advance(-3_600_000);
  for (const raw of all) raw[Symbol.dispose]();
  // A busy machine refuses for a moment what would wait for those that hang up.
  await eventually(async () => (await again()).status < 500);
});

test("calls of MCP give back what their bodies and answers held", async () => {
  await publish(server, "echo");
  const token = server.world.apiKey;
  const text = '"'.repeat(200_000);
  const call = (given: object): Promise<Sent> =>
    ask(server, token, "tools/call", { name: "test_echo", arguments: given });
  const answers = await Promise.all([
    call({ text }),
    call({ text, unknown: true }),
    send(server, token, { jsonrpc: "1.0", text }),
    send(server, token, { jsonrpc: "2.0", method: "notifications/none", params: { text } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 202]);
  await eventually(async () => {
    const figures = await (await fetch(server.metricsUrl!)).text();
    return ["requests", "answers"].every((what) =>
      new RegExp(`^autograph_memory_held_bytes\\{[^}]*"${what}"\\} 0$`, "m").test(figures),
    );
  });
});
