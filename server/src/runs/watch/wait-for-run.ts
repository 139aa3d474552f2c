/** `wait`: returns when a run ends or pauses, from the commits of this process, without asking the database. */
import type { Ending } from "../../lib/ending.ts";
import { LIMITS } from "../../lib/limits.ts";
import { allOf } from "../../lib/reach.ts";
import { weighStep } from "../../execution/journal/weight.ts";
import { isFinal } from "../../execution/run/states.ts";
import { runOf, type Change, type Head } from "../../execution/journal/loaded-run.ts";
import { listSteps, readRun } from "../read/read.ts";
import { stepFromWrite } from "../../execution/journal/read-rows.ts";
import type { StepRow } from "../../execution/journal/columns.ts";
import type { Run, Step } from "../../execution/run/run.ts";
import type { Runs } from "../handle/runs.ts";

/** `steps`: all of them, unless they are more than a list returns at once. */
type Settled = { run: Run; steps: Step[] | undefined };
type Which = Pick<Run, "organizationId" | "id">;

/** For a caller who reaches the run. Listens from now on; call `result` once the run is accepted: it returns then, after the time, or with `ending`. */
export const untilSettled = (runs: Runs, which: Which, waitSeconds: number, ending?: Ending): WaitForRun =>
  new WaitForRun(runs, which, waitSeconds, ending);

class WaitForRun implements Disposable {
  readonly #runs: Runs;
  readonly #which: Which;
  readonly #seen = new Seen();
  readonly #settled = Promise.withResolvers<void>();
  readonly #subscription: Disposable;
  readonly #waiting: Disposable;
  readonly #timer: Disposable;

  constructor(runs: Runs, which: Which, waitSeconds: number, ending: Ending | undefined) {
    this.#runs = runs;
    this.#which = which;
    const settle = (): void => this.#settled.resolve();
    this.#subscription = runs.hub.subscribe(which.id, (notice) => this.#hear(notice));
    ending?.onEnd(settle);
    this.#waiting = runs.waits.add(settle);
    this.#timer = runs.clock.at(runs.clock.now() + waitSeconds * 1000, settle);
  }

  #hear(notice: Parameters<Parameters<Runs["hub"]["subscribe"]>[1]>[0]): void {
    if (notice === "changed") {
      this.#seen.forget();
      this.#look().catch(() => {});
    } else if (this.#seen.add(notice)) this.#settled.resolve();
  }

  async #look(): Promise<void> {
    const run = await readRun(this.#runs, allOf(this.#which.organizationId), this.#which.id);
    if (run && isSettled(run)) this.#settled.resolve();
  }

  async result(): Promise<Settled> {
    // It may have settled before this one listened.
    if (this.#seen.isLost) await this.#look();
    await this.#settled.promise;
    return this.#seen.whole() ?? (await read(this.#runs, this.#which));
  }

  /** Without its steps, of a run that was there before this one listened. */
  async run(): Promise<Run> {
    await this.#look();
    await this.#settled.promise;
    return readHead(this.#runs, this.#which);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    this.#waiting[Symbol.dispose]();
    this.#timer[Symbol.dispose]();
  }
}

/** The run after all commits since its first. Lost if there was an earlier commit, or one was missed. */
class Seen {
  readonly #steps = new Map<number, StepRow>();
  #bytes = 0;
  #head: Head | undefined;
  #isLost = false;

  get isLost(): boolean {
    return this.#isLost || this.#head === undefined;
  }

  /** Returns whether the run has settled. */
  add({ head, steps }: Change): boolean {
    const before = this.#head?.revision ?? 0;
    const isNext = head.revision === before || head.revision === before + steps.length + 1;
    this.#head = head;
    for (const step of steps) this.#bytes += weighStep(step);
    // A thousand waits may run at once, so one must not hold much.
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

/** The run before its steps, so that one that has ended has all of them. */
async function read(runs: Runs, which: Which): Promise<Settled> {
  const run = await readHead(runs, which);
  const steps = await listSteps(runs, which, { first: LIMITS.stepsListed });
  return { run, steps: steps.hasNextPage ? undefined : steps.items };
}

async function readHead(runs: Runs, { organizationId, id }: Which): Promise<Run> {
  const run = await readRun(runs, allOf(organizationId), id);
  if (!run) throw new Error(`run ${id} is gone`);
  return run;
}
