/** A commit tells about the run, besides its rows. */
import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { RunError } from "../run/run.ts";
import { Journal, type JournalOptions } from "./journal.ts";
import type { Head } from "./loaded-run.ts";
import type { ApprovalRow } from "./columns.ts";
import type { Write } from "./part.ts";

const SET = { name: "one", kind: "set", reference: "/do/0/one" };
/** A step's row without its payloads. */
const ROW_BYTES = 200;

/** A run in the database, or the start of one. */
function opened(start?: JournalOptions["start"]) {
  const writes: Write[] = [];
  const head = {
    id: newId<"run">(),
    organizationId: newId<"organization">(),
    status: "running",
    state: {},
    startedBy: { kind: "user", id: newId<"user">() },
    revision: 0,
    wakeSeq: 0,
    error: null,
    output: null,
  } as unknown as Head;
  const add = async (write: Write) => {
    writes.push(write);
    return { kind: "written", wakeSeq: 0 } as const;
  };
  const journal = new Journal({ head, writer: { add }, published: () => {}, ...(start && { start }) });
  const commit = async (): Promise<Write> => {
    await journal.commit(1);
    return writes.at(-1)!;
  };
  return { journal, head, commit };
}

test("a run has moved, and is blamed no more, when a step is new or has ended: not when one is tried once more", async () => {
  const { journal, commit } = opened();
  const moved = async (): Promise<boolean | undefined> => (await commit()).update?.moved;
  const step = journal.open("one#1", SET, "", 1);
  expect(await moved()).toBe(true);
  journal.touch(step);
  expect(await moved()).toBe(false);
  journal.open("one#1", SET, "2.", 1);
  expect(await moved()).toBe(false);
  journal.close(step, "completed", 1);
  expect(await moved()).toBe(true);
  expect(await moved()).toBe(false);
});

test("a commit weighs what its steps, the run's input and its output do, so that few large ones share a statement", async () => {
  const text = "x".repeat(100_000);
  const { journal, head, commit } = opened({
    input: JSON.stringify(text),
    owner: null,
    wake_at: null,
  });
  for (const key of ["one#1", "two#1"]) {
    const step = journal.open(key, SET, "", 1);
    step.input = text;
    journal.keep(step, text, { bytes: text.length, heldBytes: text.length });
    journal.close(step, "completed", 1);
  }
  const whole = text.length + 2;
  expect((await commit()).bytes).toBe(5 * whole + 2 * ROW_BYTES);
  expect((await commit()).bytes).toBe(0);
  head.output = text;
  head.status = "completed";
  expect((await commit()).bytes).toBe(whole);
});

test("the text by which an output was measured is the one that is written, and counts until then", async () => {
  const { journal, commit } = opened();
  const step = journal.open("one#1", SET, "", 1);
  await commit();
  const before = journal.heldBytes;
  // Written differently from how it would be made again.
  const text = '{ "a": 1 }';
  journal.keep(step, { a: 1 }, { bytes: text.length, heldBytes: 100, text });
  expect(journal.heldBytes).toBe(before + 100 + text.length);
  journal.close(step, "completed", 2);
  expect((await commit()).steps[0]!.output).toBe(text);
  // The next attempt has its own output.
  journal.open("one#1", SET, "2.", 3);
  journal.keep(step, { b: 2 }, { bytes: 8, heldBytes: 8 });
  expect((await commit()).steps[0]!.output).toBe('{"b":2}');
});

test("failed tries count until they are written, and a megabyte of them is due", async () => {
  const { journal, commit } = opened();
  const step = journal.open("one#1", SET, "", 1);
  await commit();
  const before = journal.heldBytes;
  const error = { title: "x".repeat(10_000) } as unknown as RunError;
  let tries = 0;
  for (; !journal.isDue; tries++) journal.recordAttempt(step, error, 1);
  expect(Math.round((tries * 10_000) / LIMITS.batchBytes)).toBe(1);
  expect(journal.heldBytes).toBeGreaterThan(before + LIMITS.batchBytes);
  expect((await commit()).bytes).toBeGreaterThan(LIMITS.batchBytes);
  expect(journal.isDue).toBe(false);
  expect(journal.heldBytes).toBeLessThan(before + 2_000);
});

test("what a step received counts until its row does", async () => {
  const { journal, commit } = opened();
  const step = journal.open("one#1", SET, "", 1);
  journal.carry(step, 5_000);
  expect(journal.carriedBytes).toBe(5_000);
  await commit();
  expect(journal.carriedBytes).toBe(0);
});

test("a run is full with what it has kept for the next commit, and as full as its rows are afterwards", async () => {
  const { journal, commit } = opened();
  const step = journal.open("one#1", SET, "", 1);
  expect(journal.isFull).toBe(false);
  journal.keep(step, { a: 1 }, { bytes: LIMITS.runBytes + 1, heldBytes: 10 });
  expect(journal.isFull).toBe(true);
  await commit();
  expect(journal.isFull).toBe(false);
});

test("the rows of a loaded run count once when they are written again", async () => {
  const { journal, head, commit } = opened();
  const step = journal.open("one#1", SET, "", 1);
  await commit();
  const add = async () => ({ kind: "written", wakeSeq: 0 }) as const;
  const loaded = new Journal({ head, writer: { add }, published: () => {}, steps: [step], heldBytes: 100_000 });
  expect(loaded.heldBytes).toBe(100_000);
  loaded.touch(step);
  await loaded.commit(2);
  expect(loaded.heldBytes).toBe(step.heldBytes);
});

test("an approval counts with its question's context", async () => {
  const { journal, commit } = opened();
  journal.open("one#1", SET, "", 1);
  const context = "x".repeat(300_000);
  journal.openApproval({ id: newId<"approval">(), question: "Now?", context, form: null, answer: null } as ApprovalRow);
  expect((await commit()).bytes).toBeGreaterThan(context.length);
});

test("JSON that is made before the commit, because it is much, is what the commit would make", async () => {
  const make = async (heldBytes: number) => {
    const { journal, commit } = opened();
    for (const key of ["one#1", "two#1"]) {
      const step = journal.open(key, SET, "", 1);
      step.input = { list: [1, "two", null], text: '\u2028"' };
      step.state = { items: [{ a: 1 }, []], taskInput: { b: [] }, then: "exit", context: null };
      journal.carry(step, heldBytes);
    }
    const write = await commit();
    return write.steps.map(({ input, output, state }) => ({ input, output, state: JSON.parse(state!) as unknown }));
  };
  const written = await make(LIMITS.batchBytes);
  expect(written).toEqual(await make(1_000));
  expect(written[0]).toMatchObject({ input: '{"list":[1,"two",null],"text":"\u2028\\""}', output: null });
});
