/** Which waits are sat out in memory, and which give the place back. */
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import type { Charge } from "../lib/run-memory.ts";
import type { Plan } from "../definition/plan.ts";
import { Execution, Suspended, type ExecutionParts } from "./execution.ts";
import type { Journal } from "./journal.ts";
import type { Scope } from "./scope.ts";

/** Waits so long, so long after its advance began; answers when it went on, or that it was unloaded. */
async function waited(ms: number, { since = 0, contended = false, draining = false } = {}): Promise<string> {
  const clock = testClock();
  const journal = { head: {}, heldBytes: 0, commit: async () => {}, release: async () => false } as unknown as Journal;
  const parts = {
    clock,
    contended: () => contended,
    draining: () => draining,
    memoryWanted: () => false,
  } as unknown as ExecutionParts;
  const { signal } = new AbortController();
  const execution = new Execution({ journal, parts, signal, plan: {} as Plan, charge: {} as Charge });
  clock.pass(since);
  const began = clock.now();
  const scope = { signal, deadline: undefined } as unknown as Scope;
  const ended = execution.waitUntil(began + ms, scope).then(
    () => `in memory for ${clock.now() - began}`,
    (reason: unknown) => {
      if (reason instanceof Suspended) return "unloaded";
      throw reason;
    },
  );
  // Each millisecond is a tick of its own, so that it is seen when the wait is over.
  for (let passed = 0; passed <= ms && passed <= 1_100; passed++) {
    await new Promise(setImmediate);
    clock.pass(1);
  }
  return ended;
}

test.each<[string, number, Parameters<typeof waited>[1], string]>([
  ["none", 0, {}, "in memory for 0"],
  ["a second", 1_000, {}, "in memory for 1000"],
  ["longer than a second", 1_001, {}, "unloaded"],
  ["a second, late in a turn", 1_000, { since: 20_000 }, "in memory for 1000"],
  ["200 ms that others want", 200, { contended: true }, "in memory for 200"],
  ["longer than 200 ms that others want", 201, { contended: true }, "unloaded"],
  ["200 ms that others want, early in a turn", 200, { contended: true, since: 499 }, "in memory for 200"],
  ["200 ms that others want, after half a second", 200, { contended: true, since: 500 }, "unloaded"],
  ["a millisecond, after half a second", 1, { contended: true, since: 500 }, "unloaded"],
  ["one when the clock was set back", 200, { contended: true, since: -500 }, "unloaded"],
  ["one while the process ends", 1, { draining: true }, "unloaded"],
])("a wait of %s", async (_, ms, when, outcome) => {
  expect(await waited(ms, when)).toBe(outcome);
});
