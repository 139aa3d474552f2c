/** Which waits keep the run in memory, which give the place back, and what happens between two steps. */
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Charge } from "../fairness/fair-pool.ts";
import type { Program } from "../definition/program.ts";
import { Execution, Suspended } from "./execution.ts";
import type { Shared } from "./shared.ts";
import type { Journal } from "./journal/journal.ts";
import type { JournalStep } from "./journal/loaded-run.ts";
import type { Scope } from "./scope.ts";

/** Waits this long, this long after its advance began; returns when it continued, or that it was unloaded. */
async function waited(ms: number, { since = 0, contended = false, draining = false } = {}): Promise<string> {
  const clock = testClock();
  const journal = { head: {}, heldBytes: 0, commit: async () => {}, release: async () => false } as unknown as Journal;
  const shared = {
    clock,
    places: { contended: () => contended },
    draining,
    memory: { isWanted: false },
  } as unknown as Shared;
  const { signal } = new AbortController();
  const execution = new Execution({ journal, shared, signal, program: {} as Program, charge: {} as Charge });
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
  // Each millisecond is its own tick, to show when the wait ends.
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

type Between = {
  isFull?: boolean;
  isDue?: boolean;
  heldBytes?: number;
  isLeaving?: boolean;
  draining?: boolean;
  contended?: boolean;
  aborted?: boolean;
  since?: number;
};

/** Runs what a run does between two steps, with room for 100 kB. */
async function between({ isFull = false, isDue = false, heldBytes = 0, since = 0, ...now }: Between): Promise<string> {
  const clock = testClock();
  const done: string[] = [];
  const journal: { isDue: boolean } & Record<string, unknown> = {
    head: {},
    isFull,
    isDue,
    heldBytes,
    carriedBytes: 0,
    isStarted: true,
    commit: async () => {
      done.push("commits");
      journal.isDue = false;
    },
    release: async () => false,
    carry: () => {},
    touch: () => {},
  };
  let room = 100_000;
  const charge = {
    get amount() {
      return room;
    },
    tryHold: (amount: number) => amount <= room,
  } as unknown as Charge;
  const shared = {
    clock,
    places: { contended: () => now.contended ?? false },
    draining: now.draining ?? false,
    memory: { isWanted: false, most: 10_000_000 },
    needs: { set: () => done.push("is turned away") },
    rounds: { next: () => undefined },
  } as unknown as Shared;
  const signal = now.aborted ? AbortSignal.abort(new Error("is ended")) : new AbortController().signal;
  const options = { journal: journal as unknown as Journal, shared, signal, program: {} as Program, charge };
  const execution = new Execution(options);
  if (now.isLeaving) {
    room = 0;
    await execution.holdAnswer({ state: {} } as JournalStep, "answer");
    done.length = 0;
    room = 100_000;
  }
  clock.pass(since);
  try {
    const breath = execution.breathe({ signal, deadline: undefined } as unknown as Scope, "/do/0/one");
    if (!breath) return "goes on at once";
    await breath;
    done.push("goes on");
  } catch (error) {
    done.push(error instanceof Suspended ? "is unloaded" : (error as Error).message);
  }
  return done.join(", ");
}

test.each<[string, Between, string]>([
  ["nothing to see to", {}, "goes on at once"],
  ["more than a run may keep", { isFull: true }, `a run keeps at most ${LIMITS.runBytes} bytes of its steps`],
  ["much that is not written", { isDue: true }, "commits, goes on"],
  ["more than its memory", { heldBytes: 200_000 }, "is turned away, is unloaded"],
  ["an answer that is written down for want of memory", { isLeaving: true }, "is turned away, is unloaded"],
  ["the process ending", { draining: true }, "is unloaded"],
  ["others waiting", { contended: true, since: 30_000 }, "goes on at once"],
  ["others waiting after its turn", { contended: true, since: 30_001 }, "is unloaded"],
  ["nobody waiting after its turn", { since: 30_001 }, "goes on at once"],
  ["its time over", { aborted: true }, "is ended"],
])("between two steps, with %s", async (_, now, outcome) => {
  expect(await between(now)).toBe(outcome);
});
