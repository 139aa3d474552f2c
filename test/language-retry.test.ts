/** The language over the wire: `retry`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { agentOf, decide, ENDED, readRun, runOf, stepsOf, until } from "./runs.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const RAISE = (): string =>
  `raise: {error: {type: 'https://example.org/errors/broken', status: 418, title: Broken, detail: as it should}}`;

/** Fails `.failures` times; the rest of the policy is given. */
const flaky = (policy: string, more = ""): string => `
do:
- work:
    try:
      - first: {set: {try: '\${ $task.attempt }'}}
      - fail: {if: '\${ $task.attempt <= $workflow.input.failures }', ${RAISE()}}
      - last: {set: {tries: '\${ $task.attempt }'}}
    catch: {retry: {${policy}}${more}}
`;

/** After so many attempts the error goes on, or `catch.do` runs. */
async function usesUp(policy: string, attempts: number): Promise<void> {
  const failures = 9_999;
  const run = await runOf(server, flaky(policy), { failures });
  expect(run).toMatchObject({ status: "failed", error: { status: 418, step: 3 } });
  expect(run.steps[0].attempts).toHaveLength(attempts);
  const caught = await runOf(server, flaky(policy, ", do: [{mend: {set: {mended: '${ $error.status }'}}}]"), {
    failures,
  });
  expect(caught.output).toEqual({ mended: 418 });
}

test("tries again until it goes well; each try is an attempt of every step in it", async () => {
  const run = await runOf(server, flaky("delay: {milliseconds: 1}, limit: {attempt: {count: 5}}"), { failures: 2 });
  expect(run.output).toEqual({ tries: 3 });
  const [work, first, fail, last] = run.steps;
  expect(stepsOf(run)).toEqual(["work completed", "first completed", "fail skipped", "last completed"]);
  expect(work.attempts.map(({ number, status, error }: Data) => [number, status, error?.status ?? null])).toEqual([
    [1, "failed", 418],
    [2, "failed", 418],
    [3, "completed", null],
  ]);
  expect(first.attempts.map(({ status }: Data) => status)).toEqual(["completed", "completed", "completed"]);
  expect(first.output).toEqual({ try: 3 });
  expect(fail.attempts.map(({ status }: Data) => status)).toEqual(["failed", "failed"]);
  expect(last.attempts).toHaveLength(1);
});

test("a step that was skipped at one try and done at the next shows both", async () => {
  const run = await runOf(
    server,
    `
do:
- work:
    try:
      - later: {if: '\${ $task.attempt > 1 }', set: {done: true}}
      - fail: {if: '\${ $task.attempt == 1 }', ${RAISE()}}
    catch: {retry: {limit: {attempt: {count: 1}}}}
`,
  );
  expect(run.status).toBe("completed");
  expect(run.steps[1].attempts.map(({ status }: Data) => status)).toEqual(["skipped", "completed"]);
});

test("limit.attempt.count is how often it is tried again; then the error goes on, or catch.do runs", async () => {
  await usesUp("delay: {milliseconds: 1}, limit: {attempt: {count: 2}}", 3);
});

test("the failing step of the run's error is the one that raised it, not a later one of an earlier try", async () => {
  const run = await runOf(
    server,
    `
do:
- work:
    try:
      - one: {if: '\${ $task.attempt == 2 }', raise: {error: {type: 'https://example.org/first', status: 401}}}
      - two: {raise: {error: {type: 'https://example.org/second', status: 402}}}
    catch: {retry: {limit: {attempt: {count: 1}}}}
`,
  );
  expect(run.error).toMatchObject({ type: "https://example.org/first", status: 401, step: 2 });
});

test("when and exceptWhen of the policy decide whether it is tried again", async () => {
  const limit = "limit: {attempt: {count: 3}}";
  for (const [rule, tries] of [
    ["when: '${ .status == 418 }'", 3],
    ["when: '${ .status == 1 }'", 1],
    ["exceptWhen: '${ $error.title == \"Broken\" }'", 1],
  ] as const) {
    const run = await runOf(server, flaky(`${rule}, ${limit}`), { failures: 2 });
    expect(run.steps[0].attempts).toHaveLength(tries);
    expect(run.status).toBe(tries === 3 ? "completed" : "failed");
  }
});

/** The pauses between the attempts of the first step, ms. */
const pausesOf = (run: Data): number[] =>
  run.steps[1].attempts.slice(1).map((attempt: Data, index: number) => {
    const before = run.steps[1].attempts[index];
    return Date.parse(attempt.finishedAt) - Date.parse(before.finishedAt);
  });

test.each([
  ["constant", "delay: {milliseconds: 60}, backoff: {constant: {}}", [60, 60, 60]],
  ["linear", "delay: {milliseconds: 40}, backoff: {linear: {increment: {milliseconds: 30}}}", [40, 70, 100]],
  ["linear without increment", "delay: {milliseconds: 40}, backoff: {linear: {}}", [40, 80, 120]],
  ["exponential", "delay: {milliseconds: 30}, backoff: {exponential: {factor: 3}}", [30, 90, 270]],
  [
    "exponential with a longest",
    "delay: {milliseconds: 30}, backoff: {exponential: {factor: 3, maxDelay: {milliseconds: 100}}}",
    [30, 90, 100],
  ],
  [
    "with jitter",
    "delay: {milliseconds: 30}, jitter: {from: {milliseconds: 20}, to: {milliseconds: 40}}",
    [50, 50, 50],
  ],
])("delays: %s", async (_, policy, least) => {
  const run = await runOf(server, flaky(`${policy}, limit: {attempt: {count: 3}}`), { failures: 3 });
  const pauses = pausesOf(run);
  expect(pauses).toHaveLength(3);
  // The last pause is no shorter than said; a busy machine may make it longer.
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(least[index]!);
});

test("limit.duration: no try begins after it", async () => {
  const run = await runOf(server, flaky("delay: {milliseconds: 100}, limit: {duration: {milliseconds: 350}}"), {
    failures: 99,
  });
  expect(run.status).toBe("failed");
  expect(run.steps[0].attempts.length).toBeGreaterThanOrEqual(2);
  expect(run.steps[0].attempts.length).toBeLessThanOrEqual(4);
});

test("limit.attempt.duration ends a try; what it stopped is cancelled, its questions are withdrawn", async () => {
  const id = await start(
    server,
    await agentOf(
      server,
      `
do:
- work:
    try:
      - group: {do: [{ask: {call: approval:1.0.0@default, with: {question: Now?}}}]}
    catch: {retry: {delay: PT2S, limit: {attempt: {count: 1, duration: PT2S}}}}
- after: {set: {a: 1}}
`,
    ),
  );
  await until(server, id, "paused");
  const between = await eventually(async () => {
    const run = await readRun(server, id);
    return run.steps[2].status === "cancelled" && run;
  });
  expect(stepsOf(between)).toEqual(["work running", "group cancelled", "ask cancelled"]);
  const [first] = between.approvals.nodes;
  expect(first.status).toBe("withdrawn");
  await decide(server, id, "approve");
  const run = await until(server, id, ...ENDED);
  expect(run).toMatchObject({ status: "completed", output: { a: 1 } });
  expect(run.approvals.nodes.map(({ status }: Data) => status)).toEqual(["approved", "withdrawn"]);
  expect(run.steps[2].attempts.map(({ status }: Data) => status)).toEqual(["cancelled", "completed"]);
  expect(run.steps[0].attempts[0].error.detail).toMatch(/attempt took longer/);
});

test.each([
  ["with the most that may be written", "limit: {attempt: {count: 1000}}"],
  ["without a count", "delay: {milliseconds: 1}"],
])("a step has at most 1,000 attempts, %s: the retry is used up then", async (_, policy) => {
  await usesUp(policy, 1_000);
});

test.each([
  ["they are shared out", 1, "as it should"],
  ["and the one too many fails", 2, "a step has at most 1000 attempts"],
])("within another retry a step has 1,000 attempts in all: %s", async (_, count, problem) => {
  const run = await runOf(
    server,
    `
do:
- outer:
    try:
      - inner:
          try: [{fail: {${RAISE()}}}]
          catch: {retry: {limit: {attempt: {count: 600}}}}
    catch: {retry: {limit: {attempt: {count: ${count}}}}, do: [{mend: {set: {problem: '\${ $error.detail }'}}}]}
`,
  );
  expect(run.output).toEqual({ problem });
  expect(run.steps[2].attempts).toHaveLength(1_000);
});

test("a larger count is refused at publish", async () => {
  await expect(runOf(server, flaky("limit: {attempt: {count: 1001}}"))).rejects.toThrow(
    /count\\*" must be at most 1000; write a whole number from 1 to 1000/,
  );
});

test("tries within tries; a long pause survives a restart", async () => {
  const run = await runOf(
    server,
    `
do:
- outer:
    try:
      - inner:
          try: [{fail: {if: '\${ $context.n // 0 | . < 5 }', ${RAISE()}}}]
          catch: {retry: {limit: {attempt: {count: 1}}}}
          export: {as: '\${ $context }'}
      - done: {set: {ok: true}}
    catch:
      as: problem
      retry: {limit: {attempt: {count: 2}}}
      do: [{mend: {set: {problem: '\${ $problem.status }'}}}]
`,
  );
  expect(run.output).toEqual({ problem: 418 });
  // Three tries of the outer block with two of the inner one in each.
  expect(run.steps[2].attempts).toHaveLength(6);
  const long = await start(server, await agentOf(server, flaky("delay: PT1H, limit: {attempt: {count: 2}}")), {
    failures: 1,
  });
  expect(long).toBeDefined();
  await until(server, long, "running");
  await server.kill();
  await server.restart();
  expect((await readRun(server, long)).steps[0].attempts).toHaveLength(2);
  await server.clock.advance(3_600_000);
  expect((await until(server, long, ...ENDED)).output).toEqual({ tries: 2 });
});
