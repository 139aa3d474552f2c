/**
 * The product above another engine (engine/leases.testsuite.ts), by which both processes of a database advance runs: what
 * test/crash.test.ts asks of the embedded one holds here too.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { askedAs } from "./faults/asked-as.ts";
import { violations } from "./faults/audit.ts";
import { startAt, startPair, type Pair } from "./faults/pair.ts";
import { expectNothingLost, publishCalls, startThroughKills } from "./kills.ts";
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

const APPROVE = `
do:
  - ask: {call: approval:1.0.0@default, with: {question: Really?}}
  - done: {set: {approved: '\${ .approved }'}}
`;
const PARENT = "do: [{sub: {run: {workflow: {namespace: test, name: child, version: latest, input: {}}}}}]";
