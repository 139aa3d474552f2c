/** Subscriptions and waits of one organization, over every way in: how many it may have open on a small heap, and who else may. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connect, head, type Raw } from "./raw.ts";
import type { World } from "./server.ts";
import { acknowledged } from "./web-socket.ts";

/** With such a heap all may have about 2,000, and one organization half of it. */
const HEAP_MB = 256;
const CONNECTIONS = 30;
const EACH = 50;
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

test("whoever opens ever more, one behind the other on many connections, has its share; then a neighbour's open and its own again", async () => {
  const body = JSON.stringify({ query: CHANGES });
  const one = head(body.length, flooding.apiKey, "accept: text/event-stream\r\n") + body;
  const all: Raw[] = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(server)));
  // Five in a turn: of more that come together some would be refused for that.
  for (let sent = 0; sent < EACH; sent += 5) {
    for (const raw of all) raw.write(one.repeat(5));
    await server.graphql("{ __typename }");
  }
  let before = -1;
  const most = await eventually(async () => {
    const now = await subscriptions();
    if (now === before && now > 500) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return undefined;
  }, 30_000);
  expect(most).toBeLessThan((CONNECTIONS * EACH * 4) / 5);

  using own = await acknowledged(server, flooding.apiKey);
  own.send({ type: "subscribe", id: "one", payload: { query: CHANGES } });
  const refusal = (await own.next("error")).payload[0];
  expect(refusal).toMatchObject({
    message: expect.stringMatching(/^too many subscriptions and waits of this organization are open \(of \d+ for all/),
    extensions: { code: "UNAVAILABLE", retryAfter: 1 },
  });
  const agentId = await publish(server, "echo", flooding);
  const RUN = "mutation($input: RunAgentInput!) { runAgent(input: $input) { status } }";
  const run = (more: object): Promise<Data> => server.graphql(RUN, { input: { agentId, ...more } }, flooding.apiKey);
  expect(await run({ wait: 1 })).toMatchObject({ status: 503, errors: [{ message: refusal.message }] });
  expect(await run({})).toMatchObject({ status: 200, data: { runAgent: { status: expect.any(String) } } });

  using neighbour = await acknowledged(server, server.world.apiKey);
  for (let count = 0; count < 100; count++)
    neighbour.send({ type: "subscribe", id: `${count}`, payload: { query: CHANGES } });
  await eventually(async () => (await subscriptions()) === most + 100);
  expect(neighbour.messages.filter(({ type }) => type === "error")).toEqual([]);

  for (const raw of all) raw[Symbol.dispose]();
  await eventually(async () => (await subscriptions()) === 100);
  expect(await run({ wait: 30 })).toMatchObject({ data: { runAgent: { status: "completed" } } });
});
