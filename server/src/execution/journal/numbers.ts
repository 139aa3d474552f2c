/** The numbers of a run's steps. */
import type { JournalStep } from "./loaded-run.ts";
import { isOwn } from "./step-keys.ts";

/**
 * A step has a higher number than the one around it, and than those before it in its list. A run that retries another may keep later
 * steps than those that it does again: these get the numbers that are free.
 */
export class Numbers {
  #highest = 0;
  /** Below the highest, lowest first. */
  readonly #free: number[];
  /** The highest number in each list, by what precedes the names in its keys; only while numbers are free. */
  readonly #lasts = new Map<string, number>();

  constructor(steps: readonly JournalStep[]) {
    for (const { number } of steps) this.#highest = Math.max(this.#highest, number);
    this.#free = this.#highest === steps.length ? [] : missing(steps, this.#highest);
    if (this.#free.length > 0) for (const { key, number } of steps) this.#note(key, number);
  }

  get highest(): number {
    return this.#highest;
  }

  /** `parent`: the step around it. */
  next(key: string, parent: JournalStep | undefined): number {
    if (this.#free.length === 0) return ++this.#highest;
    // Branches, and a task's own steps, have no order.
    const last = isOwn(key) || parent?.kind === "fork" ? 0 : (this.#lasts.get(listOf(key)) ?? 0);
    const floor = Math.max(parent?.number ?? 0, last);
    const at = this.#free.findIndex((number) => number > floor);
    const number = at < 0 ? ++this.#highest : this.#free.splice(at, 1)[0]!;
    this.#note(key, number);
    return number;
  }

  #note(key: string, number: number): void {
    const list = listOf(key);
    this.#lasts.set(list, Math.max(this.#lasts.get(list) ?? 0, number));
  }
}

const listOf = (key: string): string => key.slice(0, key.lastIndexOf("/") + 1);

function missing(steps: readonly JournalStep[], highest: number): number[] {
  const taken = new Set(steps.map(({ number }) => number));
  return Array.from({ length: highest }, (_, index) => index + 1).filter((number) => !taken.has(number));
}
