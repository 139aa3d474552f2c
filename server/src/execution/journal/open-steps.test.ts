import { expect, test } from "vitest";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import type { JournalStep } from "./loaded-run.ts";
import { OpenSteps } from "./open-steps.ts";

const step = (number: number, key: string, status: JournalStep["status"] = "running"): JournalStep =>
  ({ number, key, status }) as JournalStep;

const noted = (...steps: JournalStep[]): OpenSteps => {
  const open = new OpenSteps();
  for (const one of steps) open.note(one);
  return open;
};

const keys = (steps: JournalStep[]): string[] => steps.map(({ key }) => key);

test("below a step are those inside it at any depth, an item's and a catch's too, and none whose name begins alike", () => {
  const open = noted(
    step(1, "all#1"),
    step(2, "all#1/loop#1"),
    step(3, "all#1/loop#1/7/try#1"),
    step(4, "all#1/loop#1/7/try#1/catch/tell#1"),
    step(5, "all#1/loop#12"),
  );
  expect(keys(open.below("all#1/loop#1"))).toEqual(["all#1/loop#1/7/try#1", "all#1/loop#1/7/try#1/catch/tell#1"]);
  expect(keys(open.below(""))).toHaveLength(5);
  expect(keys(open.below("all#1/loop#12"))).toEqual([]);
});

test("a step that is closed is not there any more, one that is tried again is", () => {
  const loop = step(1, "loop#1");
  const inside = step(2, "loop#1/1/one#1");
  const open = noted(loop, inside);
  open.note(Object.assign(inside, { status: "completed" }));
  expect(keys(open.below(""))).toEqual(["loop#1"]);
  open.note(Object.assign(inside, { status: "running" }));
  expect(keys(open.below("loop#1"))).toEqual(["loop#1/1/one#1"]);
});

test("the lowest number that runs, and the lowest that is paused", () => {
  const open = noted(
    step(1, "all#1"),
    step(4, "all#1/late#1", "paused"),
    step(3, "all#1/early#1", "paused"),
    step(5, "all#1/last#1", "paused"),
    step(2, "all#1/call#1"),
  );
  expect([open.lowest("running"), open.lowest("paused")]).toEqual([1, 3]);
  expect(noted(step(1, "ask#1", "paused")).lowest("running")).toBeNull();
  expect(noted(step(1, "done#1", "completed")).lowest("running")).toBeNull();
});

test("of 10,000 open ones each that fails looks only at its own: below 250 ms of the processor for all", () => {
  const failAll = (): void => {
    const steps = Array.from({ length: 10_000 }, (_, index) => step(index + 2, `each#1/${index + 1}/one#1`));
    const open = noted(step(1, "each#1"), ...steps);
    for (const one of steps) {
      if (open.below(one.key).length > 0 || open.lowest("running") !== 1) throw new Error("the loop runs");
      open.note(Object.assign(one, { status: "failed" }));
    }
  };
  expect(leastMs(250, failAll)).toBeLessThan(250);
});
