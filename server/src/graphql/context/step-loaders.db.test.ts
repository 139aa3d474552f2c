/** The cost of a page of a large run's steps: one statement for each field, which reads the run once. And of the runs of many agents. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../../../../test/in-time.ts";
import { startDatabases, type Databases } from "../../auth/handle/auth.testsuite.ts";
import type { Caller } from "../../auth/caller.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import { Ending } from "../../lib/ending.ts";
import { newId, type RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { listSteps, type StepFilter, type StepPage } from "../../runs/read/read.ts";
import { noting } from "../../runs/runs.testsuite.ts";
import { testClock } from "../../../../test/clock.ts";
import type { Database } from "../../storage/database.ts";
import { AnswerSize } from "./answer-size.ts";
import { Loaders } from "./loaders.ts";

const STEPS = 10_000;
/** Loops of as many steps each. */
const INSIDE = 100;
const organizationId = newId<"organization">();
/** Ten large runs of one organization. */
const runIds = Array.from({ length: 10 }, () => newId<"run">());
const [id] = runIds as [RunId];
const UNTIL = 1_900_000_000_000;

let databases: Databases;
let database: Database;
let noted: { text: string; rows: number }[];
let loaders: Loaders;
beforeAll(async () => {
  databases = await startDatabases();
  const plain = await databases.open();
  await fill(plain);
  const noticing = noting(plain);
  database = noticing;
  ({ noted } = noticing);
  loaders = newLoaders();
  return () => plain[Symbol.asyncDispose]();
});
afterAll(() => databases[Symbol.asyncDispose]());

function newLoaders(): Loaders {
  const size = new AnswerSize(new FairShare(1_000_000), organizationId);
  return new Loaders({ runs: { database } } as never, { organizationId } as Caller, size, new Ending());
}

/** Steps 1, 102, 203, … are loops of a hundred each; every tenth inside is open, and waits. */
const fill = (plain: Database): Promise<unknown> =>
  plain.query(
    `insert into steps (run_id, number, organization_id, parent_number, key, name, kind, status, round, attempt, state,
       output, revision)
     select id, number, $2, case when (number - 1) % ${INSIDE + 1} > 0 then number - (number - 1) % ${INSIDE + 1} end,
       'loop#1/' || number || '/one#1', 'one',
       case when (number - 1) % ${INSIDE + 1} = 0 then 'for' else 'wait' end,
       case when number % 10 = 0 then 'running' else 'completed' end, '', 1,
       case when (number - 1) % ${INSIDE + 1} = 0 then json_build_object('items', repeat('x', 5000))
         else '{"until": ${UNTIL}}' end,
       to_json(repeat('y', 500)), number
       from unnest($1::uuid[]) as id, generate_series(1, ${STEPS}) as number`,
    [runIds, organizationId],
  );

/** Ten times what each takes on a quiet machine. Tried again when it is not, because others use this one. */
const MAX_MS = 50;
const TRIES = 50;

async function cheaply<Result>(work: () => Promise<Result>): Promise<Result> {
  let fastest = Infinity;
  let result: Result | undefined;
  for (let tries = 0; tries < TRIES && fastest > MAX_MS; tries++) {
    noted.length = 0;
    const began = performance.now();
    result = await work();
    fastest = Math.min(fastest, performance.now() - began);
    expect(noted.length).toBe(1);
  }
  expectInTime(fastest, MAX_MS);
  return result!;
}

const loops = Array.from({ length: 50 }, (_, index) => index * (INSIDE + 1) + 1);
const run = { id, organizationId };

test("a page of 1,000 of 10,000 steps is one statement, wherever it begins and whatever it selects", async () => {
  const list = async (...[page, filter]: [{ first: number; after?: number }, StepFilter?]): Promise<number[]> =>
    (await listSteps({ database }, run, page, filter)).items.map(({ number }) => number);
  const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);
  expect(await cheaply(() => list({ first: 1_000 }))).toEqual(numbers(1, 1_000));
  expect(await cheaply(() => list({ first: 1_000, after: 9_000 }))).toEqual(numbers(9_001, 1_000));
  expect((await cheaply(() => list({ first: 1_000 }, { parentNumber: 0 }))).slice(0, 50)).toEqual(loops);
  expect(await cheaply(() => list({ first: 1_000 }, { parentNumber: loops[40]! }))).toEqual(
    numbers(loops[40]! + 1, INSIDE),
  );
  const open = await cheaply(() => list({ first: 1_000 }, { status: ["running"] }));
  expect([open.length, open[0], open.at(-1)]).toEqual([STEPS / 10, 10, STEPS]);
  expect(await cheaply(() => list({ first: 1_000 }, { status: ["failed"] }))).toEqual([]);
});

test("a page of the steps of each of ten runs is one statement, and another for other pages of them", async () => {
  const of = (runId: RunId, page: StepPage, filter: StepFilter = {}) => loaders.steps({ runId, page, filter });
  const pages = await cheaply(() => Promise.all(runIds.map((runId) => of(runId, { first: 3, after: 98 }))));
  const shown = pages.map(({ items, hasNextPage }) => [...items.map((step) => [step.runId, step.number]), hasNextPage]);
  expect(shown).toEqual(runIds.map((runId) => [[runId, 99], [runId, 100], [runId, 101], true]));
  noted.length = 0;
  const asked = [...runIds, newId<"run">()].flatMap((runId) => [
    of(runId, { first: 2 }, { parentNumber: 102 }),
    of(runId, { first: 2 }, { status: ["running"] }),
  ]);
  const numbers = (await Promise.all(asked)).map(({ items }) => items.map(({ number }) => number));
  expect(numbers).toEqual([
    ...runIds.flatMap(() => [
      [103, 104],
      [10, 20],
    ]),
    [],
    [],
  ]);
  expect(noted.length).toBe(2);
});

test("the counts of fifty loops of a run are one statement, of ten runs another", async () => {
  const counts = await cheaply(() => Promise.all(loops.map((number) => loaders.childCounts({ runId: id, number }))));
  for (const count of counts) {
    expect(count).toEqual([
      { status: "running", count: 10 },
      { status: "completed", count: 90 },
    ]);
  }
  noted.length = 0;
  // A loop, a step in it, and one that does not exist.
  const wanted = runIds.flatMap((runId) => [9_899, 9_900, 10_001].map((number) => ({ runId, number })));
  const found = await Promise.all(wanted.map((one) => loaders.childCounts(one)));
  expect(found).toEqual(runIds.flatMap(() => [counts[0], [], []]));
  expect(noted.length).toBe(1);
});

test("what a thousand steps of a run used of models, with all inside them, is two statements: one for the steps, one for their calls", async () => {
  await database.query("insert into organizations (id, name, plan, created_at) values ($1, 'large', 'free', now())", [
    organizationId,
  ]);
  await database.query(
    `insert into model_calls (organization_id, id, run_id, step_number, agent_id, project_id, connection, model,
        called_at, input_tokens, output_tokens, cached_input_tokens)
     select $1, gen_random_uuid(), $2, number, $2, $2, 'cheap', 'small', now(), 7, 1, 0
       from unnest($3::integer[]) as number`,
    [organizationId, id, [2, 3, 9_900]],
  );
  const numbers = Array.from({ length: 1_000 }, (_, at) => at + 1).concat(9_899, 9_900);
  noted.length = 0;
  const used = await Promise.all(numbers.map((number) => loaders.totalStepUsage({ runId: id, number })));
  expect(noted.length).toBe(2);
  const tokens = used.map((usage, at) => [numbers[at], usage?.inputTokens]).filter(([, sum]) => sum !== undefined);
  expect(tokens).toEqual([
    [1, 14],
    [2, 7],
    [3, 7],
    [9_899, 7],
    [9_900, 7],
  ]);
});

test("the totals of a list of large runs are refused once as many steps were read as an answer has values", async () => {
  const own = newLoaders();
  noted.length = 0;
  const asked = await Promise.allSettled(runIds.map((runId) => own.totalStepUsage({ runId, number: 1 })));
  const refused = { status: "rejected", reason: { code: "QUERY_TOO_COMPLEX" } };
  expect(asked).toMatchObject(runIds.map(() => refused));
  const walked = noted.filter(({ text }) => text.includes("parent_number")).length;
  expect(walked * STEPS).toBe(LIMITS.queryValues + STEPS);
});

test("the numbers of steps of ten runs are one statement; so are their waits", async () => {
  expect(await cheaply(() => Promise.all(runIds.map((runId) => loaders.stepCount(runId))))).toEqual(
    runIds.map(() => STEPS),
  );
  expect(await loaders.stepCount(newId())).toBe(0);
  const waits = await cheaply(() =>
    Promise.all(runIds.map((runId, index) => loaders.waits({ runId, most: index + 1 }))),
  );
  expect(waits.map((list) => list.length)).toEqual(runIds.map((_, index) => index + 1));
  expect(waits.at(-1)).toEqual(
    runIds.map((_, index) => ({ stepNumber: 10 * (index + 1), until: new Date(UNTIL), approvalId: null, events: [] })),
  );
});

test("the newest runs of fifty agents are two statements: one of the newest months, one of the others for agents with few", async () => {
  const rooms = { runs: { database, clock: testClock() } };
  const ofAgents = new Loaders(rooms as never, { organizationId } as Caller, {} as never, {} as never).newestRuns(3);
  noted.length = 0;
  const pages = await Promise.all(Array.from({ length: 50 }, () => ofAgents(newId<"agent">())));
  expect(pages.every(({ items, hasNextPage }) => items.length === 0 && !hasNextPage)).toBe(true);
  expect(noted.length).toBe(2);
});
