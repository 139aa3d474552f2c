/** One worker thread, started on demand, that does one job at a time within a processor time. The other end is serve-jobs.ts. */
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { Worker, type ResourceLimits } from "node:worker_threads";
import { messageOf } from "../lib/errors.ts";

/**
 * `cpuMs`: processor time of the thread until now. The first answer says only that it is ready. `broke`: out of memory or stack, and the thread is
 * unusable. `isLate`: the job ended itself when its time was over. `isSpent`: the next job wants a fresh thread.
 */
export type Answer<Reply> = { cpuMs: number; reply?: Reply; broke?: string; isLate?: true; isSpent?: true };

/**
 * `late`: out of time, with a reply if the job ended itself. `broke`: out of memory or stack, or the thread ended. Both are the
 * job's fault; `gone` is not: the thread did not start, or was stopped with the process or by a signal.
 */
export type Outcome<Reply> =
  | { is: "reply"; reply: Reply }
  | { is: "late"; reply?: Reply }
  | { is: "broke" | "gone"; message: string };

/** The program of a thread, and the memory that it gets. */
export type ThreadKind = {
  /** For messages. */
  name: string;
  worker: URL;
  settings: object;
  resourceLimits: ResourceLimits;
  /** How long after its time a job may take to end itself before the thread is stopped. */
  graceMs?: number;
};

/** Starting takes 50 ms on an idle machine, more on a busy one. */
const START_LIMIT_MS = 30_000;
/** A thread takes some 30 MB. */
const IDLE_MS = 60_000;
/** Before Node 24.6 a thread can't be asked for its processor time, so the clock counts. */
const TELLS_CPU = "cpuUsage" in Worker.prototype;
/** A job that gets less than a tenth of a processor is late by the clock. */
const CLOCK_PER_CPU = TELLS_CPU ? 10 : 1;

export class TimedThread<Job, Reply> implements AsyncDisposable {
  readonly #kind: ThreadKind;
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  /** The worker's processor time at its last answer. */
  #cpuMs = 0;
  #isStopping = false;

  constructor(kind: ThreadKind) {
    this.#kind = kind;
  }

  /**
   * One job at a time. `limitMs` is processor time, so that a busy machine makes nobody late. Never rejects. When `signal` aborts,
   * the thread is stopped.
   */
  async run(job: Job, limitMs: number, signal?: AbortSignal): Promise<Outcome<Reply>> {
    clearTimeout(this.#idle);
    const stop = (): void => void this[Symbol.asyncDispose]();
    signal?.addEventListener("abort", stop, { once: true });
    const { outcome, isUsable } = await this.#outcomeOf(job, limitMs, signal);
    signal?.removeEventListener("abort", stop);
    if (isUsable) this.#idle = setTimeout(stop, IDLE_MS).unref();
    else await this[Symbol.asyncDispose]();
    return outcome;
  }

  /** Removes the thread, whatever it was doing; the next job starts a new one. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    this.#isStopping = true;
    this.#ended = Promise.all([this.#ended, worker?.terminate()]);
    await this.#ended;
  }

  async #outcomeOf(job: Job, limitMs: number, signal: AbortSignal | undefined): Promise<Done<Reply>> {
    try {
      const worker = this.#worker ?? (await this.#start());
      if (signal?.aborted) throw this.#stopped();
      return await this.#answerOf(worker, job, limitMs);
    } catch (error) {
      return { outcome: { is: "gone", message: messageOf(error) }, isUsable: false };
    }
  }

  /** If a thread ends while it does a job, that is the job's fault, unless we stopped it. */
  async #answerOf(worker: Worker, job: Job, limitMs: number): Promise<Done<Reply>> {
    try {
      worker.ref();
      worker.postMessage(job);
      const mostMs = limitMs + (this.#kind.graceMs ?? 0);
      const answer = await this.#next(worker, (signal) => this.#late(worker, mostMs, signal));
      worker.unref();
      if (!answer) return { outcome: { is: "late" }, isUsable: false };
      this.#cpuMs = answer.cpuMs;
      return doneOf(answer);
    } catch (error) {
      return { outcome: { is: this.#isStopping ? "gone" : "broke", message: messageOf(error) }, isUsable: false };
    }
  }

  async #start(): Promise<Worker> {
    const worker = new Worker(this.#kind.worker, {
      workerData: this.#kind.settings,
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: this.#kind.resourceLimits,
    });
    this.#worker = worker;
    this.#isStopping = false;
    worker.on("error", () => {});
    worker.on("exit", () => {
      // It ended while idle: the next job starts another. A stopped one may already have a successor here.
      if (this.#worker === worker) this.#worker = undefined;
    });
    const ready = await this.#next(worker, (signal) => sleep(START_LIMIT_MS, undefined, { signal }));
    if (!ready) throw new Error(`${this.#kind.name} did not start`);
    this.#cpuMs = ready.cpuMs;
    return worker;
  }

  readonly #stopped = (): Error => new Error(`${this.#kind.name} was stopped`);

  /** The worker's next message; undefined if `limit` comes first. Rejects if the worker ends first. */
  async #next(worker: Worker, limit: (signal: AbortSignal) => Promise<undefined>): Promise<Answer<Reply> | undefined> {
    const over = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<Answer<Reply> | undefined>();
    const onExit = (): void => reject(this.#stopped());
    worker.on("message", resolve).on("error", reject).on("exit", onExit);
    limit(over.signal).then(resolve, reject);
    try {
      return await promise;
    } finally {
      over.abort();
      worker.off("message", resolve).off("error", reject).off("exit", onExit);
    }
  }

  /** Resolves when the job has had its time. */
  async #late(worker: Worker, limitMs: number, signal: AbortSignal): Promise<undefined> {
    const startedAt = performance.now();
    for (let leftMs = limitMs; leftMs > 0;) {
      await sleep(leftMs, undefined, { signal });
      const cpuMs = (await cpuMsOf(worker)) - this.#cpuMs;
      leftMs = limitMs - Math.max(cpuMs, (performance.now() - startedAt) / CLOCK_PER_CPU);
    }
  }
}

/** `isUsable`: the thread can do another job. */
type Done<Reply> = { outcome: Outcome<Reply>; isUsable: boolean };

function doneOf<Reply>({ reply, broke, isLate, isSpent }: Answer<Reply>): Done<Reply> {
  if (broke !== undefined) return { outcome: { is: "broke", message: broke }, isUsable: false };
  return { outcome: { is: isLate ? "late" : "reply", reply: reply! }, isUsable: !isSpent };
}

async function cpuMsOf(worker: Worker): Promise<number> {
  // This thread may have been busy when the answer came, so first read what is already waiting.
  if (!TELLS_CPU) return setImmediate(0);
  try {
    const { user, system } = await worker.cpuUsage();
    return (user + system) / 1_000;
  } catch {
    // It has ended, and reports that itself.
    return 0;
  }
}
