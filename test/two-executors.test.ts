/**
 * The product above another engine (engine/leases.testsuite.ts), by which both processes of a database advance runs: what
 * test/crash.test.ts asks of the embedded one holds here too.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { PRICE, startChangingShop } from "./changing-shop.ts";
import { eventually, type Data } from "./client.ts";
import { askedAs } from "./faults/asked-as.ts";
import { violations } from "./faults/audit.ts";
import { startAt, startPair, type Pair } from "./faults/pair.ts";
import { expectNothingLost, publishCalls, startThroughKills } from "./kills.ts";
import { startLlmService, toolCall } from "./llm-service.ts";
import { agentOf, decide, ENDED, until } from "./runs.ts";
import { scaled } from "./scale.ts";

const KILLS = scaled({ whole: 6, part: 2 });
const STARTS = KILLS * scaled({ whole: 100, part: 40 });

let pair: Pair;
beforeAll(async () => {
  pair = await startPair({ TEST_ENGINE: "leases" });
});
afterAll(() => pair[Symbol.asyncDispose]());

// The first: it counts all the runs and calls that there are.
test(`${KILLS} times kill -9 of one of two that execute during ${STARTS} starts of call`, async () => {
  const { a, b, sink, client } = pair;
  const calls = await publishCalls(a, sink);
  const servers = [a, b].map((server) => ({ server, start: (id: string) => startAt(askedAs(server, a.world), id) }));
  const acknowledged = await startThroughKills(calls, servers, { starts: STARTS, kills: KILLS });
  await expectNothingLost(a, calls, acknowledged, KILLS);
  const { rows } = await client.query("select distinct program from audit where step is not null order by program");
  expect(rows.map(({ program }) => program)).toEqual(["a", "b"]);
  expect(await violations(client)).toEqual([]);
});

test("an approval, a wait and a child that a kill of both meets go on, decided at either", async () => {
  const { a, b, client } = pair;
  const [atA, atB] = [askedAs(a, a.world), askedAs(b, a.world)];
  await agentOf(a, "do: [{pause: {wait: PT1S}}, {done: {set: {child: true}}}]", "child");
  const asking = await startAt(atB, await agentOf(a, APPROVE));
  const parent = await startAt(atA, await agentOf(a, PARENT));
  const long = await startAt(atB, await agentOf(a, "do: [{pause: {wait: PT1H}}, {after: {set: {n: 1}}}]"));
  await until(atA, asking, "paused");
  for (const server of [a, b]) await server.kill();
  for (const server of [a, b]) await server.restart();
  expect((await decide(atB, asking, "approve")).errors).toBeUndefined();
  expect((await until(atA, asking, ...ENDED)).output).toEqual({ approved: true });
  expect((await until(atB, parent, ...ENDED)).output).toEqual({ child: true });
  for (const server of [a, b]) await server.clock.advance(3_600_000);
  expect((await until(atA, long, ...ENDED)).output).toEqual({ n: 1 });
  expect(await violations(client)).toEqual([]);
});

test("two first runs, one at each, that a server shows other lists: one list is pinned, and the other run calls nothing", async () => {
  const { a, b, client } = pair;
  await using shop = await startChangingShop();
  await using model = await startLlmService();
  const { projectId } = a.world;
  const connection = { projectId, name: "main", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  const create = "mutation($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
  await a.data(create, { input: { ...connection, isDefault: true } });
  model.think = ({ body: { messages } }) =>
    messages.at(-1).role === "tool" ? messages.at(-1).content : toolCall("price", {});
  let list!: () => void;
  shop.hold = new Promise((resolve) => (list = resolve));
  let listed = 0;
  shop.tools = () => [{ ...PRICE, description: `List ${++listed}.` }];
  const tools = [{ mcp: { endpoint: shop.url, allow: ["price"] } }];
  const work = { work: { call: "assistant:1.0.0@default", with: { prompt: "How much?", tools } } };
  const agentId = await agentOf(a, `do: ${JSON.stringify([work])}`);
  const ids = await Promise.all([a, b].map((server) => startAt(askedAs(server, a.world), agentId)));
  await eventually(() => shop.lists === 2, 60_000);
  list();
  const runs = await Promise.all(ids.map((id) => until(askedAs(a, a.world), id, ...ENDED)));
  const said = runs.map(({ output }) => (output as string).slice(0, 11)).toSorted();
  expect(said).toEqual(["Error: noth", "It costs 5."]);
  expect(shop.calls).toHaveLength(1);
  const read = model.asked.map(({ body }) => body.tools[0].function.description);
  expect(new Set(read).size).toBe(1);
  const { rows } = await client.query("select pinned, changed from pinned_tools");
  expect(rows).toHaveLength(1);
  expect(rows.map(({ pinned }: Data) => JSON.parse(pinned).description)).toEqual([read[0]]);
});

const APPROVE = `
do:
  - ask: {call: approval:1.0.0@default, with: {question: Really?}}
  - done: {set: {approved: '\${ .approved }'}}
`;
const PARENT = "do: [{sub: {run: {workflow: {namespace: test, name: child, version: latest, input: {}}}}}]";
