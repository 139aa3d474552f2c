/**
 * Which steps of a run are open, by where they stand: with 10,000 of them open at once (branches of branches) a step
 * that fails looks only at those inside it, and a commit only at the one of the outermost list.
 */
import type { StepStatus } from "../storage/schema.ts";
import type { JournalStep } from "./loaded-run.ts";
import { isStepOpen } from "./states.ts";
import { enclosing } from "./step-keys.ts";

export class OpenSteps {
  /** By the key of the step around them. What is around an open step is open. */
  readonly #inside = new Map<string, Set<JournalStep>>();

  /** A step is there, or has changed. */
  note(step: JournalStep): void {
    const around = enclosing(step.key);
    const inside = this.#inside.get(around);
    if (!isStepOpen(step.status)) {
      inside?.delete(step);
      this.#inside.delete(step.key);
    } else if (inside) inside.add(step);
    else this.#inside.set(around, new Set<JournalStep>().add(step));
  }

  /** All inside a step, each before those inside it; in an empty key all there are. */
  below(key: string): JournalStep[] {
    return [...(this.#inside.get(key) ?? [])].flatMap((step) => [step, ...this.below(step.key)]);
  }

  /** The lowest number of those that are `running`, or `paused`. */
  lowest(status: StepStatus): number | null {
    // What is around a running step is running and has a lower number; what is around a paused one is running.
    const among = status === "running" ? (this.#inside.get("") ?? []) : this.below("");
    let lowest: number | null = null;
    for (const step of among) if (step.status === status) lowest = Math.min(lowest ?? Infinity, step.number);
    return lowest;
  }
}
