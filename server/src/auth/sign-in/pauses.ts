/**
 * Pauses after failures, as pure rules over a time that is given, and in the memory of one process. So many failures are free;
 * each one more brings a pause, twice as long as the one before until the longest. When a pause is over, as much quiet time as
 * the longest pause takes one failure back. What is refused meanwhile does not count.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { LIMITS } from "../../lib/limits.ts";

/** `free`: failures without a pause. */
type Rule = { free: number; firstMs: number; mostMs: number };

const LONGEST_MS = LIMITS.failedLoginPauseSeconds * 1_000;

export const RULES = {
  pair: { free: LIMITS.failedLoginsPerAccountAndAddress, firstMs: 30_000, mostMs: LONGEST_MS },
  account: { free: LIMITS.failedLoginsPerAccount, firstMs: 30_000, mostMs: LONGEST_MS },
  address: {
    free: LIMITS.failedLoginsPerAddress,
    firstMs: 5_000,
    mostMs: LIMITS.failedLoginPauseSecondsPerAddress * 1_000,
  },
} as const satisfies Record<string, Rule>;
export type Kind = keyof typeof RULES;

/** The subject that failures are counted for. `mark` is unique beyond its kind. */
export type Counted = { kind: Kind; mark: string };

export type Pauses = {
  /** How long a pause lasts that this process knows of, at once; 0: `count` decides. */
  waitMs(counted: readonly Counted[]): number;
  /** Counts a failure for each of them, unless there is a pause for one: answers how long it lasts, else 0. */
  count(counted: readonly Counted[]): Promise<number>;
  /** Takes back a failure that was none. Never throws. */
  giveBack(counted: readonly Counted[]): Promise<void>;
};

/** So often a pause is doubled: then it is the longest of each kind. */
export const DOUBLINGS = 4;
/** Fractions of a failure that sums of small numbers gather. */
export const ROUNDING = 1e-6;
/** By so much the clocks of processes may differ. What lies further ahead was written before a clock was set back, and is void. */
export const CLOCKS_APART_MS = 60_000;

/** `until`: when the last pause ends; where `level` brings none, when the last failure was. */
type Failures = { level: number; until: number };

/** From 0 there is a pause, which is doubled so often. Only whole failures are taken back. */
const doublingsOf = ({ free }: Rule, level: number): number => Math.ceil(level - free - ROUNDING);

const isVoid = ({ mostMs }: Rule, { until }: Failures, now: number): boolean => until > now + mostMs + CLOCKS_APART_MS;

export function waitOf(rule: Rule, failures: Failures | undefined, now: number): number {
  if (!failures || isVoid(rule, failures, now) || doublingsOf(rule, failures.level) < 0) return 0;
  return Math.max(0, failures.until - now);
}

/** Only where there is no pause. */
function afterOne(rule: Rule, before: Failures | undefined, now: number): Failures {
  if (!before || isVoid(rule, before, now)) return { level: 1, until: now };
  const { free, firstMs, mostMs } = rule;
  // Another process' clock may be a little ahead: time does not go back.
  const time = Math.max(now, before.until);
  const left = Math.max(0, before.level - (time - before.until) / mostMs);
  const level = Math.min(left + 1, free + DOUBLINGS);
  const doublings = doublingsOf(rule, level);
  return { level, until: time + (doublings < 0 ? 0 : Math.min(mostMs, firstMs * 2 ** doublings)) };
}

const withoutOne = ({ level, until }: Failures, now: number): Failures => ({
  level: Math.max(0, level - 1),
  until: Math.min(until, now),
});

/** Entries of each kind, about 100 bytes each. A turn at a password makes one, about 60 times a second. */
export const REMEMBERED = 10_000;

export function createMemoryPauses(clock: Clock): Pauses {
  const kept: Record<Kind, LRUCache<string, Failures>> = {
    pair: new LRUCache({ max: REMEMBERED }),
    account: new LRUCache({ max: REMEMBERED }),
    address: new LRUCache({ max: REMEMBERED }),
  };
  const waitMs = (counted: readonly Counted[]): number =>
    Math.max(...counted.map(({ kind, mark }) => waitOf(RULES[kind], kept[kind].get(mark), clock.now())));
  return {
    waitMs,
    count: async (counted) => {
      const leftMs = waitMs(counted);
      if (leftMs > 0) return leftMs;
      for (const { kind, mark } of counted)
        kept[kind].set(mark, afterOne(RULES[kind], kept[kind].get(mark), clock.now()));
      return 0;
    },
    giveBack: async (counted) => {
      for (const { kind, mark } of counted) {
        const failures = kept[kind].get(mark);
        if (failures) kept[kind].set(mark, withoutOne(failures, clock.now()));
      }
    },
  };
}
