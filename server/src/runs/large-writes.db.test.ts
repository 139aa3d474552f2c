/** A commit of many bytes is one transaction of several statements, in a lane that no small commit waits for. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { startDatabases, type Databases } from "../auth/handle/auth.testsuite.ts";
import { Journal, LostRun } from "../execution/journal/journal.ts";
import { readJournalSteps } from "../execution/journal/read-journal.ts";
import { createWriter, type Writer } from "../execution/journal/write.ts";
import type { Run } from "../execution/run/run.ts";
import type { RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import { idle, noting, openRuns, type TestRuns } from "./runs.testsuite.ts";
import { startRun } from "./start-run.ts";

let databases: Databases;
let database: Database;
let opened: TestRuns;
beforeAll(async () => {
  databases = await startDatabases();
});
afterAll(() => databases[Symbol.asyncDispose]());
beforeEach(async () => {
  database = await databases.open();
  opened = await openRuns(database);
  return async () => {
    await opened[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  };
});

const ROWS = 12;
const TEXT = "x".repeat(600_000);

/** The bytes of each statement of a large write. */
function counting(): { statements: number[]; writer: Writer } {
  const statements: number[] = [];
  const large: Database["large"] = (work) =>
    database.large((hot) =>
      work((name, text, values) => {
        statements.push(values.reduce<number>((sum, value) => sum + (value as Buffer | string).length, 0));
        return hot(name, text, values);
      }),
    );
  return { statements, writer: createWriter({ ...database, large }, { guards: [], followers: [] }) };
}

/** A run that waits, taken as an advance does. */
async function claimed(writer: Writer, of = opened): Promise<{ id: RunId; journal: Journal }> {
  const { run } = await startRun(of.runs, of.caller, {
    agentId: await of.agentOf("do: [{pause: {wait: PT1H}}]"),
    input: {},
  });
  const { id, organizationId } = run;
  const rows = (): Promise<Record<string, unknown>[]> => database.query("select owner from runs where id = $1", [id]);
  await eventually(async () => (await rows())[0]!["owner"] === null);
  await opened.runs.engine[Symbol.asyncDispose]();
  return { id, journal: await taken(writer, { id, organizationId }) };
}

async function taken(writer: Writer, { id, organizationId }: Pick<Run, "id" | "organizationId">): Promise<Journal> {
  await database.query("update runs set wake_at = $2 where id = $1", [id, new Date(opened.runs.clock.now())]);
  const { head } = (await opened.claims.add({ id, organizationId }))!;
  const steps = await opened.runs.executions.journals.add(head, 0);
  return new Journal({ head, steps, writer, published: () => {} });
}

function make(journal: Journal, rows: number, name = "made", text = TEXT): void {
  for (let row = 1; row <= rows; row++) {
    const step = journal.open(`${name}#${row}`, { name, kind: "set", reference: `/do/0/${name}` }, "", 1);
    journal.keep(step, text, { bytes: text.length, heldBytes: 0 });
    journal.close(step, "completed", 1);
  }
}

const made = async (id: RunId, text = TEXT): Promise<number> =>
  (
    await database.query(
      "select count(*)::int as made from steps where run_id = $1 and octet_length(output::text) = $2",
      [id, text.length + 2],
    )
  )[0]!["made"] as number;

test("it is written in statements of about a megabyte each, in order, and all of it", async () => {
  const { statements, writer } = counting();
  const { id, journal } = await claimed(writer);
  make(journal, ROWS);
  await journal.commit(1);
  expect(await made(id)).toBe(ROWS);
  expect(statements.length).toBeGreaterThanOrEqual((ROWS * TEXT.length) / LIMITS.batchBytes);
  expect(Math.max(...statements)).toBeLessThan(LIMITS.batchBytes + TEXT.length / 10);
});

test("it is read again in statements of about a megabyte each", async () => {
  const { id, journal } = await claimed(counting().writer);
  make(journal, ROWS);
  await journal.commit(1);
  const noted = noting(database);
  const steps = await readJournalSteps(noted, { id, organizationId: opened.caller.organizationId });
  expect(steps.filter(({ output }) => output === TEXT)).toHaveLength(ROWS);
  expect(steps.map(({ number }) => number)).toEqual(Array.from({ length: ROWS + 1 }, (_, index) => index + 1));
  // A row begins in a statement that has less than a megabyte before it.
  expect(Math.max(...noted.noted.map(({ rows }) => rows))).toBeLessThanOrEqual(3);
});

test("nothing of it is written when its last row is refused, or when another has the run", async () => {
  const { writer } = counting();
  const { id, journal } = await claimed(writer);
  const [before] = await database.query("select revision, status from runs where id = $1", [id]);
  make(journal, ROWS);
  make(journal, 1, "with a null\0");
  await expect(journal.commit(1)).rejects.toThrow(/invalid byte sequence/);
  expect(await made(id)).toBe(0);
  expect((await database.query("select revision, status from runs where id = $1", [id]))[0]).toEqual(before);
  const late = await taken(writer, journal.head);
  await taken(writer, journal.head);
  make(late, ROWS);
  await expect(late.commit(1)).rejects.toThrow(LostRun);
  expect(await made(id)).toBe(0);
});

test("while one stands still, small commits go on, and so does another organization's large one", async () => {
  const { writer } = counting();
  await using other = await openRuns(database, { engine: idle });
  const slow = await claimed(writer);
  const [small, large] = [await claimed(writer, other), await claimed(writer, other)];
  // Somebody has the run's row: what is written of it waits.
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const holding = database.transaction(async (query) => {
    await query("select from runs where id = $1 for update", [slow.id]);
    isLocked();
    await held;
  });
  await locked;
  make(slow.journal, ROWS);
  const late = slow.journal.commit(1);
  small.journal.open("small#1", { name: "small", kind: "set", reference: "/do/0/small" }, "", 1);
  make(large.journal, ROWS);
  await Promise.all([small.journal.commit(1), large.journal.commit(1)]);
  expect([await made(slow.id), await made(large.id)]).toEqual([0, ROWS]);
  release();
  await Promise.all([holding, late]);
  expect(await made(slow.id)).toBe(ROWS);
});

test("of several runs that are written together each has all of its rows, however many statements that takes", async () => {
  const { writer } = counting();
  await using other = await openRuns(database, { engine: idle });
  const slow = await claimed(writer, other);
  const runs: Awaited<ReturnType<typeof claimed>>[] = [];
  for (let count = 0; count < 14; count++) runs.push(await claimed(writer, other));
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: isLocked } = Promise.withResolvers<void>();
  const holding = database.transaction(async (query) => {
    await query("select from runs where id = $1 for update", [slow.id]);
    isLocked();
    await held;
  });
  await locked;
  make(slow.journal, ROWS);
  const first = slow.journal.commit(1);
  // Just large, and of many rows, whose own bytes make them more than one statement together.
  const [text, MANY] = ["y", 330];
  for (const { journal } of runs) make(journal, MANY, "name".repeat(15), text);
  // Another advance has taken one of them: the others are written all the same.
  await taken(writer, runs[0]!.journal.head);
  const [lost, ...others] = runs.map(({ journal }) => journal.commit(1));
  release();
  await expect(lost).rejects.toThrow(LostRun);
  await Promise.all([holding, first, ...others]);
  expect(await Promise.all(runs.map(({ id }) => made(id, text)))).toEqual(
    runs.map((_, index) => (index === 0 ? 0 : MANY)),
  );
});
