/** Long work that gives the main thread back in between: written once, as steps, and done at once or in slices. */
import { setImmediate as nextTurn } from "node:timers/promises";

export type Steps<Result> = Generator<void, Result, void>;

/** Others wait at most twice this plus one step. */
const SLICE_MS = 20;

export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const end = performance.now() + SLICE_MS;
    while (performance.now() < end) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await nextTurn();
  }
}

/** The length of a slice: one caller's share of a round (`rounds.ts`). */
const TURN_MS = 5;

/** The same in turns with others: `turn` is undefined while the thread is free. */
export async function inTurns<Result>(steps: Steps<Result>, turn: () => Promise<void> | undefined): Promise<Result> {
  for (;;) {
    const end = performance.now() + TURN_MS;
    while (performance.now() < end) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await turn();
  }
}
