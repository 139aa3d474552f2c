/**
 * A run's steps, outside of React and of the cache: at 200 changes a second each would be a rendering of its own. Changes are
 * taken as they come and shown ten times a second.
 */
import type { RunHeadFragment, StepRowFragment } from "../../api/documents.ts";
import { Store } from "../../lib/store.ts";

const SHOWN_EVERY_MS = 100;

export class RunView {
  readonly id: string;
  /** By number, in their order. A step that did not change is the same object. */
  readonly shown: Store<readonly StepRowFragment[]>;
  /** The same object until something in it that is shown changes. */
  readonly head: Store<RunHeadFragment>;
  #revision: number;
  readonly #steps = new Map<number, StepRowFragment>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSorted = true;

  constructor(head: RunHeadFragment, steps: readonly StepRowFragment[]) {
    this.id = head.id;
    this.#revision = head.revision;
    for (const step of steps) this.#steps.set(step.number, step);
    this.shown = new Store(steps);
    this.head = new Store(head);
  }

  /** The last revision that was taken: go on from there. */
  get revision(): number {
    return this.#revision;
  }

  take(event: { revision: number; run: RunHeadFragment | null; step: StepRowFragment | null }): void {
    const { run, step, revision } = event;
    this.#revision = revision;
    if (run && isOther(run, this.head.get())) this.head.set(run);
    if (step) {
      if (!this.#steps.has(step.number)) this.#isSorted = false;
      this.#steps.set(step.number, step);
    }
    this.#timer ??= setTimeout(() => this.show(), SHOWN_EVERY_MS);
  }

  add(steps: readonly StepRowFragment[]): void {
    for (const step of steps) if (!this.#steps.has(step.number)) this.#steps.set(step.number, step);
    this.#isSorted = false;
    this.show();
  }

  show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const steps = [...this.#steps.values()];
    this.shown.set(this.#isSorted ? steps : steps.toSorted((a, b) => a.number - b.number));
  }
}

const isOther = (one: RunHeadFragment, other: RunHeadFragment): boolean =>
  one.status !== other.status || one.startedAt !== other.startedAt || one.finishedAt !== other.finishedAt;
