/** The language over the wire: `retry`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { agentOf, decide, ENDED, readRun, runOf, stepsOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
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

/** The number of a step's attempts: a page of them has 100 unless another size is asked for. */
async function attemptsOf(run: Data, number: number): Promise<number> {
  const { run: read } = await server.data(
    `{ run(id: "${run.id}") { steps(first: 1, after: ${number - 1}) { attempts(first: 1000) { number } } } }`,
  );
  return read.steps[0].attempts.length as number;
}

/** After so many attempts the error goes on, or `catch.do` runs. */
async function usesUp(policy: string, attempts: number): Promise<void> {
  const failures = 9_999;
  const run = await runOf(server, flaky(policy), { failures });
  expect(run).toMatchObject({ status: "failed", error: { status: 418, stepNumber: 3 } });
  expect(await attemptsOf(run, 1)).toBe(attempts);
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
  expect(run.error).toMatchObject({ type: "https://example.org/first", status: 401, stepNumber: 2 });
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

/**
 * Between the end of each of three tries and the time at which the next is due, ms: as it is written down, to the millisecond. Minutes,
 * so that none is due before the clock is moved. The fourth is the last.
 */
async function delaysOf(policy: string, limit = "attempt: {count: 3}"): Promise<number[]> {
  const id = await start(server, await agentOf(server, flaky(`${policy}, limit: {${limit}}`)), { failures: 9 });
  const client = await connectTo(server);
  const delays: number[] = [];
  while (delays.length < 3) {
    const row = await eventually(async () => {
      const { rows } = await client.query(
        `select extract(epoch from wake_at - max(a.finished_at)) * 1000 as ms, count(*) as tries
           from runs r join attempts a on a.run_id = r.id and a.number = 1
          where r.id = $1 and owner is null and wake_at is not null group by r.id, r.wake_at`,
        [decodeId("run", id)],
      );
      return rows[0] && Number(rows[0].tries) === delays.length + 1 && rows[0];
    });
    delays.push(Number(row.ms));
    await server.clock.advance(delays.at(-1)!);
  }
  await client.end();
  await until(server, id, "failed");
  return delays;
}

test.each([
  ["constant", "delay: PT6M, backoff: {constant: {}}", [6, 6, 6]],
  ["linear", "delay: PT4M, backoff: {linear: {increment: PT3M}}", [4, 7, 10]],
  ["linear without increment", "delay: PT4M, backoff: {linear: {}}", [4, 8, 12]],
  ["exponential", "delay: PT3M, backoff: {exponential: {factor: 3}}", [3, 9, 27]],
  ["exponential with a longest", "delay: PT3M, backoff: {exponential: {factor: 3, maxDelay: PT10M}}", [3, 9, 10]],
])("delays: %s", async (_, policy, minutes) =>
  expect(await delaysOf(policy)).toEqual(minutes.map((count) => count * MINUTE_MS)),
);

test("delays: with jitter between its least and its most, not always the same", async () => {
  const delays = await delaysOf("delay: PT3M, jitter: {from: PT2M, to: PT4M}");
  for (const delay of delays) {
    expect(delay).toBeGreaterThanOrEqual(5 * MINUTE_MS);
    expect(delay).toBeLessThanOrEqual(7 * MINUTE_MS);
  }
  expect(new Set(delays).size).toBeGreaterThan(1);
});

test("limit.duration: no try begins after it", async () => {
  // After the third of these the fourth try fails, and a fifth would begin after 40 minutes.
  expect(await delaysOf("delay: PT10M", "duration: PT35M")).toEqual([10, 10, 10].map((count) => count * MINUTE_MS));
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
    catch: {retry: {delay: PT1H, limit: {attempt: {count: 1, duration: PT1H}}}}
- after: {set: {a: 1}}
`,
    ),
  );
  await until(server, id, "paused");
  await server.clock.advance(HOUR_MS);
  await eventually(async () => (await readRun(server, id)).steps[2].status === "cancelled");
  // Read again: one query reads steps and approvals one after the other, and the try may end in between.
  const between = await readRun(server, id);
  expect(stepsOf(between)).toEqual(["work running", "group cancelled", "ask cancelled"]);
  const [first] = between.approvals.nodes;
  expect(first.status).toBe("withdrawn");
  await server.clock.advance(HOUR_MS);
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
  expect(await attemptsOf(run, 3)).toBe(1_000);
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
  // It is running before its first try has failed.
  await eventually(async () => (await readRun(server, long)).steps[0]?.attempts[0]?.status === "failed");
  await server.kill();
  await server.restart();
  // The pause is no attempt.
  expect((await readRun(server, long)).steps[0].attempts).toMatchObject([{ status: "failed" }]);
  await server.clock.advance(HOUR_MS);
  expect((await until(server, long, ...ENDED)).output).toEqual({ tries: 2 });
});
