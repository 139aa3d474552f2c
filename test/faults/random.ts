/** Randomness that can be had again: its seed is printed, and `SEED=…` in the environment repeats it. */
import { randomInt } from "node:crypto";

export type Random = {
  readonly seed: number;
  /** From 0 to 1. */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  pick<Item>(items: readonly Item[]): Item;
};

/** `what` names the test in the line that is printed. */
export function seeded(what: string, seed = Number(process.env["SEED"] ?? randomInt(2 ** 31))): Random {
  process.stderr.write(`${what}: SEED=${seed}\n`);
  return randomFrom(seed);
}

/** splitmix32. */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return { seed, next, between, pick: (items) => items[between(0, items.length - 1)]! };
}
