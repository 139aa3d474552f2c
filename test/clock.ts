/** A clock that a test moves. */
import type { Clock } from "../server/src/lib/clock.ts";

export type TestClock = Clock & {
  /** Moves on by ms and fires what is due meanwhile, in order. */
  pass(ms: number): void;
};

/** At a whole second, 2026-11-21T12:00:00Z unless told otherwise (ms since 1970). */
export function testClock(start = Date.UTC(2026, 10, 21, 12)): TestClock {
  let now = start;
  const armed = new Set<{ at: number; fire: () => void }>();
  return {
    now: () => now,
    at: (at, fire) => {
      const timer = { at, fire };
      armed.add(timer);
      // As `Clock` promises: what has passed comes at once, not when the test moves the clock again.
      if (at <= now) setImmediate(() => armed.delete(timer) && fire());
      return { [Symbol.dispose]: () => void armed.delete(timer) };
    },
    pass: (ms) => {
      const end = now + ms;
      for (;;) {
        const [next] = [...armed].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
        if (!next) break;
        armed.delete(next);
        now = Math.max(now, next.at);
        next.fire();
      }
      now = end;
    },
  };
}
