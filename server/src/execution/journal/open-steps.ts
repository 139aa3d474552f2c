/**
 * Which steps of a run are open, by position: with 10,000 open at once (branches of branches), a failing step looks only
 * at those inside it, and a commit only at the one in the outermost list.
 */
import type { StepStatus } from "../../storage/schema.ts";
import type { JournalStep } from "./loaded-run.ts";
import { isStepOpen } from "../run/states.ts";
import { enclosing } from "./step-keys.ts";

export class OpenSteps {
  /** By the key of the step that encloses them. A step that encloses an open one is open. */
  readonly #inside = new Map<string, Set<JournalStep>>();

  /** Called for a new or changed step. */
  note(step: JournalStep): void {
    const around = enclosing(step.key);
    const inside = this.#inside.get(around);
    if (!isStepOpen(step.status)) {
      inside?.delete(step);
      this.#inside.delete(step.key);
    } else if (inside) inside.add(step);
    else this.#inside.set(around, new Set<JournalStep>().add(step));
  }

  /** All inside a step, outer before inner; for an empty key, all. */
  below(key: string): JournalStep[] {
    return [...(this.#inside.get(key) ?? [])].flatMap((step) => [step, ...this.below(step.key)]);
  }

  /** The lowest number among the `running` or `paused` ones. */
  lowest(status: StepStatus): number | null {
    // A step that encloses a running one is running and has a lower number; one that encloses a paused step is running.
    const among = status === "running" ? (this.#inside.get("") ?? []) : this.below("");
    let lowest: number | null = null;
    for (const step of among) if (step.status === status) lowest = Math.min(lowest ?? Infinity, step.number);
    return lowest;
  }
}
