/** The delay before a try, from a retry policy with evaluated durations. All times in ms. */
import { LIMITS } from "../lib/limits.ts";

export type BackOff = {
  delay: number;
  growth:
    | { is: "constant" }
    /** If not set, the delay itself is added. */
    | { is: "linear"; increment: number }
    | { is: "exponential"; factor: number; most: number };
  jitter?: { from: number; to: number };
};

/** No wait, timeout or delay is longer than a run may last. */
export const LONGEST_MS = LIMITS.runtimeDays * 86_400_000;

/** Before try `again + 1`. `random`: 0 to 1. The longest delay of an exponential policy bounds its jitter too. */
export function delayBefore({ delay, growth, jitter }: BackOff, again: number, random: number): number {
  const spread = jitter ? jitter.from + random * Math.max(0, jitter.to - jitter.from) : 0;
  const most = growth.is === "exponential" ? growth.most : Infinity;
  return Math.round(Math.min(grown(delay, growth, again) + spread, most));
}

function grown(delay: number, growth: BackOff["growth"], again: number): number {
  if (growth.is === "linear") return delay + (again - 1) * (growth.increment || delay);
  if (growth.is === "constant" || delay === 0) return delay;
  return Math.min(delay * growth.factor ** (again - 1), LONGEST_MS);
}
