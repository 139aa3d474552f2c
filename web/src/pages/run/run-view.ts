/**
 * A run's steps, outside of React and of the cache: at 200 changes a second each would be a rendering of its own. Changes are
 * taken as they come and shown ten times a second.
 */
import type { RunEventsSubscription, RunHeadFragment, StepRowFragment } from "../../api/documents.ts";
import { Store } from "../../lib/store.ts";

const SHOWN_EVERY_MS = 100;

export class RunView {
  readonly id: string;
  /** By number, in their order. A step that did not change is the same object. */
  readonly shown: Store<readonly StepRowFragment[]>;
  /** The same object until something in it that is shown changes. */
  readonly head: Store<RunHeadFragment>;
  /** The texts that models write at this moment, by the number of the step. */
  readonly texts = new Store<ReadonlyMap<number, string>>(new Map());
  #revision: number;
  readonly #steps = new Map<number, StepRowFragment>();
  readonly #texts = new Map<number, string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSorted = true;
  /** Which of them are to be shown: a text alone leaves the steps as they are. */
  #changed = { steps: false, texts: false };

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

  take({ run, step, textDelta, revision }: RunEventsSubscription["runEvents"]): void {
    this.#revision = revision;
    if (run && isOther(run, this.head.get())) this.head.set(run);
    if (step) this.#takeStep(step);
    if (textDelta) this.#takeText(textDelta);
    this.#timer ??= setTimeout(() => this.show(), SHOWN_EVERY_MS);
  }

  #takeStep(step: StepRowFragment): void {
    const { number, status } = step;
    if (!this.#steps.has(number)) this.#isSorted = false;
    this.#steps.set(number, step);
    this.#changed.steps = true;
    if (status !== "running" && this.#texts.delete(number)) this.#changed.texts = true;
  }

  #takeText({ stepNumber, offset, text }: NonNullable<RunEventsSubscription["runEvents"]["textDelta"]>): void {
    const before = this.#texts.get(stepNumber) ?? "";
    this.#texts.set(stepNumber, (offset < before.length ? before.slice(0, offset) : before) + text);
    this.#changed.texts = true;
  }

  add(steps: readonly StepRowFragment[]): void {
    for (const step of steps) if (!this.#steps.has(step.number)) this.#steps.set(step.number, step);
    this.#isSorted = false;
    this.#changed.steps = true;
    this.show();
  }

  show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { steps, texts } = this.#changed;
    this.#changed = { steps: false, texts: false };
    if (steps) this.shown.set(this.#inOrder());
    if (texts) this.texts.set(new Map(this.#texts));
  }

  #inOrder(): StepRowFragment[] {
    const steps = [...this.#steps.values()];
    return this.#isSorted ? steps : steps.toSorted((a, b) => a.number - b.number);
  }
}

const isOther = (one: RunHeadFragment, other: RunHeadFragment): boolean =>
  one.status !== other.status || one.startedAt !== other.startedAt || one.finishedAt !== other.finishedAt;
