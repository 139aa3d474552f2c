/** `wait`: answers when a run ends or pauses, from the commits of this process, without asking the database. */
import { LIMITS } from "../lib/limits.ts";
import { weigh } from "./journal-rows.ts";
import { isFinal } from "./states.ts";
import { runOf, type Change, type Head } from "./loaded-run.ts";
import { listSteps, readRun } from "./read.ts";
import { stepFromWrite } from "./read-rows.ts";
import type { StepWrite } from "./rows.ts";
import type { Run, Step } from "./run.ts";
import type { Runs } from "./runs.ts";

export type Settled = { run: Run; steps: Step[] };
type Which = Pick<Run, "organizationId" | "id">;

/** Listens from now on; `result` is asked for once the run is accepted, and answers by then or after the time. */
export function untilSettled(
  runs: Runs,
  which: Which,
  waitSeconds: number,
): Disposable & { result(): Promise<Settled> } {
  const seen = new Seen();
  const settled = Promise.withResolvers<void>();
  const look = async (): Promise<void> => {
    const run = await readRun(runs, which.organizationId, which.id);
    if (run && isSettled(run)) settled.resolve();
  };
  const subscription = runs.hub.subscribe(which.id, (notice) => {
    if (notice === "changed") {
      seen.forget();
      look().catch(() => {});
    } else if (seen.add(notice)) settled.resolve();
  });
  const timer = runs.clock.at(runs.clock.now() + waitSeconds * 1000, () => settled.resolve());
  return {
    async result() {
      // It may have settled before this one listened.
      if (seen.isLost) await look();
      await settled.promise;
      return seen.whole() ?? (await read(runs, which));
    },
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      timer[Symbol.dispose]();
    },
  };
}

/** What the commits since the run's first one made of it. Lost when there was another one before, or one was missed. */
class Seen {
  readonly #steps = new Map<number, StepWrite>();
  #bytes = 0;
  #head: Head | undefined;
  #isLost = false;

  get isLost(): boolean {
    return this.#isLost || this.#head === undefined;
  }

  /** Answers whether the run has settled. */
  add({ head, steps }: Change): boolean {
    const before = this.#head?.revision ?? 0;
    const isNext = head.revision === before || head.revision === before + steps.length + 1;
    this.#head = head;
    for (const step of steps) this.#bytes += weigh(step);
    // What a thousand of them could hold, a caller's `wait` must not.
    const isMuch = this.#steps.size + steps.length > LIMITS.stepsListed || this.#bytes > LIMITS.batchBytes;
    if (!isNext || this.#isLost || isMuch) this.forget();
    else for (const step of steps) this.#steps.set(step.number, step);
    return isSettled(head);
  }

  forget(): void {
    this.#isLost = true;
    this.#steps.clear();
  }

  whole(): Settled | undefined {
    if (this.#isLost || !this.#head || !isSettled(this.#head)) return undefined;
    const steps = Array.from(this.#steps.values(), stepFromWrite);
    return { run: runOf(this.#head), steps: steps.toSorted((a, b) => a.number - b.number) };
  }
}

const isSettled = ({ status }: Pick<Run, "status">): boolean => isFinal(status) || status === "paused";

async function read(runs: Runs, { organizationId, id }: Which): Promise<Settled> {
  const [run, steps] = await Promise.all([
    readRun(runs, organizationId, id),
    listSteps(runs, { organizationId, id }, { first: LIMITS.stepsListed }),
  ]);
  if (!run) throw new Error(`run ${id} is gone`);
  return { run, steps: steps.items };
}
