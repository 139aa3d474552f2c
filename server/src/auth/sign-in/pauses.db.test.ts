/** Failed sign-ins in a database that several processes share: the same rules as in memory, counted once for all. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { randomFrom } from "../../../../test/faults/random.ts";
import type { Database } from "../../storage/database.ts";
import { quiet, startDatabases } from "../handle/auth.testsuite.ts";
import { createDatabasePauses } from "./database-pauses.ts";
import { createMemoryPauses, RULES, type Counted, type Kind, type Pauses } from "./pauses.ts";

const stack = new AsyncDisposableStack();
let database: Database;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
});
afterAll(() => stack.disposeAsync());

let clock: TestClock;
/** As two processes have them. */
let both: [Pauses, Pauses];
beforeEach(async () => {
  await database.query("truncate sign_in_pauses");
  clock = testClock();
  both = [createDatabasePauses(database, clock, quiet), createDatabasePauses(database, clock, quiet)];
});

const of = (kind: Kind, mark: string): Counted => ({ kind, mark: `${kind} ${mark}` });
const PAIR = [of("pair", "ada")];
/** The subjects that a stranger is counted for. */
const STRANGER = [of("pair", "ada"), of("account", "ada"), of("address", "home")];

const none = { query: () => Promise.reject(new Error("asked")) } as unknown as Database;

test("random failures and successes at two processes pause exactly as in one process's memory", async () => {
  const random = randomFrom(11);
  const memory = createMemoryPauses(clock);
  const marks = ["ada", "grace"];
  let paused = 0;
  for (let step = 0; step < 600; step++) {
    const account = random.pick(marks);
    const from = random.pick(marks);
    const pair = of("pair", `${account} ${from}`);
    const counted = random.pick([[pair], [pair, of("account", account), of("address", from)]]);
    const expected = await memory.count(counted);
    // Who refuses from memory may not know of the longest pause; a new process asks.
    const isNew = random.between(1, 3) === 1;
    const one = isNew ? createDatabasePauses(database, clock, quiet) : random.pick(both);
    const waitMs = await one.count(counted);
    expect({ step, isPaused: waitMs > 0 }).toEqual({ step, isPaused: expected > 0 });
    if (isNew) expect({ step, waitMs }).toEqual({ step, waitMs: expected });
    if (expected > 0) paused++;
    else if (random.between(1, 5) === 1) await Promise.all([memory, one].map((each) => each.giveBack(counted)));
    clock.pass(random.pick([0, 0, 0, 0, 1, random.between(1, 1_000), random.between(1, 30_000), expected]));
    if (step % 150 === 149) clock.pass(random.between(1, 3_600_000));
  }
  expect(paused).toBeGreaterThan(100);
});

test("of a hundred at once at two processes exactly ten are counted, whatever else they are counted for", async () => {
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, index) => both[index % 2]!.count(STRANGER)));
  expect(outcomes.filter((waitMs) => waitMs === 0)).toHaveLength(10);
  expect(new Set(outcomes)).toEqual(new Set([0, 30_000]));
  const rows = await database.query("select kind, level from sign_in_pauses order by kind");
  expect(rows).toEqual([
    { kind: "account", level: 10 },
    { kind: "address", level: 10 },
    { kind: "pair", level: 10 },
  ]);
});

test("anyone who was refused is refused from memory for 5 s, then the database is asked: another process may have given back", async () => {
  for (let one = 0; one < 10; one++) await both[0].count(PAIR);
  expect(both[1].waitMs(PAIR)).toBe(0);
  expect(await both[1].count(PAIR)).toBe(30_000);
  expect(both[1].waitMs(PAIR)).toBe(30_000);
  await both[0].giveBack(PAIR);
  clock.pass(4_999);
  expect(both[1].waitMs(PAIR)).toBe(25_001);
  expect(await both[1].count(PAIR)).toBe(25_001);
  clock.pass(1);
  expect(both[1].waitMs(PAIR)).toBe(0);
  expect(await both[1].count(PAIR)).toBe(0);
  await expect(createDatabasePauses(none, clock, quiet).count(PAIR)).rejects.toThrow("asked");
});

test("a thousand guesses beyond the limit cost one statement", async () => {
  let statements = 0;
  const counting: Database = {
    ...database,
    query: (text, values, whose) => {
      statements++;
      expect(whose).toBe("strangers");
      return database.query(text, values, whose);
    },
  };
  const one = createDatabasePauses(counting, clock, quiet);
  for (let index = 0; index < 10; index++) await one.count(PAIR);
  expect(statements).toBe(10);
  for (let index = 0; index < 1_000; index++) expect(await one.count(PAIR)).toBe(30_000);
  expect(statements).toBe(11);
});

test("giving back never throws: the sign-in has succeeded", async () => {
  await createDatabasePauses(none, clock, quiet).giveBack(PAIR);
});

test("a clock that is a little behind refuses nobody without a pause", async () => {
  const behind = createDatabasePauses(database, testClock(clock.now() - 20_000), quiet);
  for (let index = 0; index < 5; index++) for (const one of [both[0], behind]) expect(await one.count(PAIR)).toBe(0);
  for (const one of [both[0], behind]) expect(await one.count(PAIR)).toBe(one === behind ? 50_000 : 30_000);
});

test("a clock that was hours ahead keeps nobody waiting", async () => {
  const ahead = testClock(clock.now() + 7_200_000);
  const early = createDatabasePauses(database, ahead, quiet);
  for (let index = 0; index < 10; index++) await early.count(PAIR);
  for (let index = 0; index < 10; index++) expect(await both[0].count(PAIR)).toBe(0);
  expect(await both[0].count(PAIR)).toBe(30_000);
});

test("what has been quiet for long enough is removed, and nothing else", async () => {
  await both[0].count([of("pair", "old"), of("account", "old")]);
  clock.pass(RULES.pair.mostMs);
  await both[0].count([of("pair", "new")]);
  const marks = async (): Promise<string[]> =>
    (await database.query("select mark from sign_in_pauses order by mark")).map(({ mark }) => mark);
  await expect.poll(marks).toEqual(["pair new"]);
});
