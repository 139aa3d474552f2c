import { expect, test } from "vitest";
import { heldBytes } from "../../lib/json/held-bytes.ts";
import type { StepRow } from "./columns.ts";
import type { JournalStep, StepState } from "./loaded-run.ts";
import { Weight } from "./weight.ts";

const HEAD = { state: {} };
const stepOf = (bytes: number, state: StepState = {}): JournalStep =>
  ({ bytes, heldBytes: 0, carriedBytes: 0, state }) as JournalStep;
const rowOf = (parts: Partial<StepRow> = {}): StepRow =>
  ({ input: null, output: null, state: null, error: null, response: null, ...parts }) as StepRow;

test("outputs that are kept weigh until their commit, with their texts", () => {
  const weight = new Weight({ head: HEAD, heldBytes: 500 });
  weight.keep(stepOf(0), { bytes: 10, heldBytes: 100, text: "0123456789" });
  expect(weight.heldBytes).toBe(610);
  weight.startCommit();
  expect(weight.heldBytes).toBe(500);
});

test("a loaded run's steps share its memory as they share its rows' bytes, and each row that is written replaces its own", () => {
  const steps = [stepOf(300), stepOf(100)];
  const weight = new Weight({ head: HEAD, steps, heldBytes: 40_000 });
  expect(steps.map((step) => step.heldBytes)).toEqual([30_000, 10_000]);
  weight.write(steps[0]!, rowOf());
  expect(steps[0]!.heldBytes).toBeLessThan(2_000);
  expect(weight.heldBytes).toBe(10_000 + steps[0]!.heldBytes);
});

test("the steps of a run that is not in the database yet weigh nothing until their rows are made", () => {
  const steps = [stepOf(300)];
  const weight = new Weight({ head: HEAD, steps, start: { input: "{}" } });
  expect(steps[0]!.heldBytes).toBe(0);
  const before = weight.heldBytes;
  weight.write(steps[0]!, rowOf());
  expect(weight.heldBytes).toBe(before + steps[0]!.heldBytes);
});

test("a state that is written replaces the one before", () => {
  const weight = new Weight({ head: HEAD, heldBytes: 500 });
  const text = JSON.stringify({ context: "x".repeat(1_000) });
  const more = heldBytes(text) - heldBytes("{}");
  for (let time = 0; time < 2; time++) {
    weight.writeState(text);
    expect(weight.heldBytes).toBe(500 + more);
  }
});

test("an answer that waits to be read weighs its text, whatever it would take once parsed", () => {
  const state = JSON.stringify({ answer: { status: 200, body: "[]".repeat(10) } });
  const [parsed, unread] = [stepOf(0), stepOf(0, { answer: {} } as unknown as StepState)];
  for (const step of [parsed, unread]) new Weight({ head: HEAD, heldBytes: 0 }).write(step, rowOf({ state }));
  const plain = stepOf(0);
  new Weight({ head: HEAD, heldBytes: 0 }).write(plain, rowOf());
  expect(unread.heldBytes - plain.heldBytes).toBe(2 * state.length);
  expect(parsed.heldBytes - plain.heldBytes).toBe(heldBytes(state));
  expect(heldBytes(state)).not.toBe(2 * state.length);
});

test("the memory in a run's row fits its column", () => {
  expect(new Weight({ head: HEAD, heldBytes: 1e12 }).writtenHeldBytes).toBe(2 ** 31 - 1);
});
