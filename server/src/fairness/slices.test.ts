import { expect, test } from "vitest";
import { inTurns, type Steps } from "./slices.ts";

test("work in turns waits for the next one after each slice", async () => {
  const done: number[] = [];
  const waits: (() => void)[] = [];
  function* steps(): Steps<string> {
    for (let step = 1; step <= 3; step++) {
      for (const end = performance.now() + 6; performance.now() < end;);
      done.push(step);
      yield;
    }
    return "all";
  }
  const result = inTurns(steps(), () => new Promise((resolve) => waits.push(resolve)));
  for (const step of [1, 2, 3]) {
    await Promise.resolve();
    expect(done.at(-1)).toBe(step);
    expect(waits).toHaveLength(step);
    waits.at(-1)!();
  }
  expect(await result).toBe("all");
});
