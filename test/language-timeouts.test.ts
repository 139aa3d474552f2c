/** The language over the wire: `timeout`, of tasks and of the run; and how long a check may hold the thread. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { stretchMs } from "./raw.ts";
import { agentOf, answered, ENDED, ran, readRun, runOf, stepsOf, until } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const LONG = "{pause: {wait: PT1H}}";

test.each([
  ["sat out in memory", "{milliseconds: 300}", 300],
  ["unloaded", "PT1.5S", 1_500],
  ["by name", "short", 300],
  ["from an expression", "{after: '${ .most }'}", 300],
])("of a task, %s", async (_, after, least) => {
  const timeout = after === "short" || after.startsWith("{after") ? after : `{after: ${after}}`;
  const run = await runOf(
    server,
    `use: {timeouts: {short: {after: {milliseconds: 300}}}}\ndo: [{work: {timeout: ${timeout}, do: [${LONG}]}}, {after: {set: {a: 1}}}]`,
    { most: { milliseconds: 300 } },
  );
  expect(run.error).toMatchObject({
    type: expect.stringMatching(/\/timeout$/),
    status: 408,
    detail: "work took longer than its timeout",
    instance: "/do/0/work",
    stepNumber: 1,
  });
  expect(stepsOf(run)).toEqual(["work failed", "pause cancelled"]);
  expect(run.steps[0].duration).toBeGreaterThanOrEqual(least);
  expect(run.steps[0].duration).toBeLessThan(least + 10_000);
});

test("is caught like any error; the nearer of two comes first", async () => {
  const run = await runOf(
    server,
    `
do:
- attempt:
    timeout: {after: PT20S}
    try: [{work: {timeout: {after: {milliseconds: 100}}, do: [${LONG}]}}]
    catch: {errors: {with: {type: timeout}}}
- after: {set: {a: 1}}
`,
  );
  expect(run.output).toEqual({ a: 1 });
});

test("an outer one passes the catch inside it", async () => {
  const run = await runOf(
    server,
    `do: [{work: {timeout: {after: {milliseconds: 200}}, do: [{attempt: {try: [${LONG}], catch: {retry: {limit: {attempt: {count: 9}}}}}}]}}]`,
  );
  expect(run.error).toMatchObject({ detail: "work took longer than its timeout" });
  expect(stepsOf(run)).toEqual(["work failed", "attempt cancelled", "pause cancelled"]);
});

test("ends work that never waits", async () => {
  const run = await runOf(
    server,
    `
do:
- work:
    timeout: {after: {milliseconds: 300}}
    do: [{loop: {for: {in: '\${ [range(9000)] }'}, do: [{spin: {set: {n: '\${ [range(20000)] | add }'}}}]}}]
`,
  );
  expect(run.error).toMatchObject({ detail: "work took longer than its timeout" });
  expect(run.steps[0].duration).toBeLessThan(10_000);
});

test("between two items of an each: none is left out in silence", async () => {
  const slow = "{sum: (reduce range(600000) as $n (0; . + $n))}";
  const run = await runOf(
    server,
    `
do:
- all:
    timeout: {after: {milliseconds: 30}}
    call: each:1.0.0@default
    with: {in: '\${ [range(3)] }', concurrency: 1, do: [{add: {set: '\${ ${slow} }'}}]}
- after: {set: {a: 1}}
`,
  );
  expect(run.error).toMatchObject({ detail: "all took longer than its timeout" });
});

test("of the run: in memory, and after it was unloaded", async () => {
  for (const [after, least] of [
    ["{milliseconds: 200}", 200],
    ["PT1.5S", 1_500],
  ] as const) {
    const run = await runOf(server, `timeout: {after: ${after}}\ndo: [${LONG}]`);
    expect(run.error).toMatchObject({ detail: expect.stringMatching(/the run took longer/), stepNumber: null });
    expect(stepsOf(run)).toEqual(["pause cancelled"]);
    expect(Date.parse(run.finishedAt) - Date.parse(run.startedAt)).toBeGreaterThanOrEqual(least);
  }
});

test("a run lasts 30 days at most", async () => {
  const id = await start(server, await agentOf(server, "do: [{one: {wait: P29D}}, {two: {wait: P29D}}]"));
  // The first wait has begun: the run is running before that.
  await eventually(async () => (await readRun(server, id)).steps.length === 1);
  await server.clock.advance(29 * 86_400_000);
  await eventually(async () => (await readRun(server, id)).steps.length === 2);
  await server.clock.advance(86_400_000 + 1_000);
  const run = await until(server, id, ...ENDED);
  expect(run.error).toMatchObject({ detail: expect.stringMatching(/the run took longer/) });
  // GraphQL's Int ends at 24.8 days of milliseconds.
  expect(stepsOf(run)).toEqual(["one completed", "two cancelled"]);
  expect(run.steps[0].duration).toBe(2 ** 31 - 1);
  expect((await ran(server, await agentOf(server, "do: [{a: {set: {a: 1}}}]"))).status).toBe("completed");
});

test("thirteen tasks within tasks that each check a list of 90,000 items twice hold the thread for no 200 ms", async () => {
  const document = "document: {properties: {x: {uniqueItems: true}}}";
  const schemas = `input: {schema: {${document}}}, output: {schema: {${document}}}, export: {as: '\${ null }'}`;
  let task = "{set: '${ . }'}";
  for (let depth = 0; depth < 13; depth++) task = `{do: [{inner: ${task}}], ${schemas}}`;
  const agentId = await agentOf(server, `do: [{outer: ${task}}]`);
  const input = { agentId, input: { x: Array.from({ length: 90_000 }, (_, index) => index) } };
  const longest = await stretchMs(server, async () =>
    expect((await answered(server, "", input)).status).toBe("completed"),
  );
  expect(longest).toBeLessThan(200);
});
