import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { enter, inside, leave, withDeadline, type Scope } from "./scope.ts";

const scopeOf = (signal = new AbortController().signal): Scope => ({
  key: "",
  round: "",
  attempt: 1,
  variables: {},
  visits: new Map(),
  deadline: undefined,
  signal,
  progress: () => {},
});
const late = (name: string) => () => new Error(name);
const aborted = (scope: Scope): Promise<never> =>
  new Promise((_, reject) => scope.signal.addEventListener("abort", () => reject(scope.signal.reason as Error)));

test("each visit of a task has a key of its own, within the tasks around it", () => {
  const scope = scopeOf();
  expect([enter(scope, "a"), enter(scope, "b"), enter(scope, "a")]).toEqual(["a#1", "b#1", "a#2"]);
  expect(enter(inside(scope, "a#2/"), "a")).toBe("a#2/a#1");
});

test("`end` ends the run, anything else goes on as the enclosing task says", () => {
  expect(["end", "exit", "continue"].map((then) => leave("next", { output: 1, then }).then)).toEqual([
    "end",
    "next",
    "next",
  ]);
});

test("a deadline ends its own work with its own error, the nearer of two first", async () => {
  const clock = testClock();
  const outer = withDeadline(
    clock,
    scopeOf(),
    clock.now() + 2_000,
    (scope) => withDeadline(clock, scope, clock.now() + 1_000, aborted, late("inner")),
    late("outer"),
  );
  clock.pass(5_000);
  await expect(outer).rejects.toThrow("inner");
});

test("an outer deadline passes an inner one that comes later or at the same time", async () => {
  for (const innerMs of [1_000, 3_000]) {
    const clock = testClock();
    const caught: unknown[] = [];
    const outer = withDeadline(
      clock,
      scopeOf(),
      clock.now() + 1_000,
      (scope) =>
        withDeadline(clock, scope, clock.now() + innerMs, aborted, late("inner")).catch((error: unknown) => {
          caught.push(error);
          throw error;
        }),
      late("outer"),
    );
    clock.pass(5_000);
    await expect(outer).rejects.toThrow("outer");
    expect(caught).not.toContainEqual(new Error("inner"));
  }
});

test("a deadline that has passed begins nothing, and other errors pass", async () => {
  const clock = testClock();
  let begun = false;
  const work = async (): Promise<void> => void (begun = true);
  await expect(withDeadline(clock, scopeOf(), clock.now(), work, late("late"))).rejects.toThrow("late");
  expect(begun).toBe(false);
  const other = new Error("other");
  const failing = withDeadline(clock, scopeOf(), clock.now() + 1, () => Promise.reject(other), late("late"));
  await expect(failing).rejects.toBe(other);
});

test("leaving the outer scope ends the inner work with the outer reason", async () => {
  const clock = testClock();
  const controller = new AbortController();
  const working = withDeadline(clock, scopeOf(controller.signal), clock.now() + 1_000, aborted, late("late"));
  const reason = new Error("cancelled");
  controller.abort(reason);
  await expect(working).rejects.toBe(reason);
});
