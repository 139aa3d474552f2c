/** One worker thread with one jq in it, started on demand. */
import path from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Answer, WorkerSettings } from "./jq-worker.ts";
import type { Job, Reply } from "./jq-program.ts";

/**
 * `late`: stopped after its time. `broke`: out of memory or stack, or the thread ended. Both are the program's fault; `gone`
 * is not: the thread did not start, or was stopped with the process.
 */
export type Outcome = { is: "reply"; reply: Reply } | { is: "late" } | { is: "broke" | "gone"; message: string };

/** Relative to this file, which is .ts in the source and .js when built. */
const WORKER = new URL(`./jq-worker${path.extname(import.meta.filename)}`, import.meta.url);
/** Starting takes 50 ms on an idle machine, more on a busy one. */
const START_LIMIT_MS = 30_000;
/** A thread takes some 30 MB. */
const IDLE_MS = 60_000;
/** Before Node 24.6 a thread can't be asked for its processor time, so the clock counts. */
const TELLS_CPU = "cpuUsage" in Worker.prototype;
/** A program that gets less than a tenth of a processor is late by the clock. */
const CLOCK_PER_CPU = TELLS_CPU ? 10 : 1;

export class JqThread implements AsyncDisposable {
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  /** The worker's processor time at its last answer. */
  #cpuMs = 0;
  #isStopping = false;

  /** One job at a time. `limitMs` is processor time, so that a busy machine makes nobody late. Never rejects. */
  async run(job: Job, limitMs: number): Promise<Outcome> {
    clearTimeout(this.#idle);
    const outcome = await this.#outcomeOf(job, limitMs);
    if (outcome.is === "reply") this.#idle = setTimeout(() => void this[Symbol.asyncDispose](), IDLE_MS).unref();
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

  async #outcomeOf(job: Job, limitMs: number): Promise<Outcome> {
    try {
      const worker = this.#worker ?? (await this.#start());
      return await this.#answerOf(worker, job, limitMs);
    } catch (error) {
      return { is: "gone", message: messageOf(error) };
    }
  }

  /** If a thread ends while it runs a program, that is the program's fault, unless we stopped it. */
  async #answerOf(worker: Worker, job: Job, limitMs: number): Promise<Outcome> {
    try {
      worker.ref();
      worker.postMessage(job);
      const answer = await next(worker, (signal) => this.#late(worker, limitMs, signal));
      worker.unref();
      if (!answer) return { is: "late" };
      this.#cpuMs = answer.cpuMs;
      return answer.reply ? { is: "reply", reply: answer.reply } : { is: "broke", message: answer.broke! };
    } catch (error) {
      return { is: this.#isStopping ? "gone" : "broke", message: messageOf(error) };
    }
  }

  async #start(): Promise<Worker> {
    const settings: WorkerSettings = { memoryBytes: LIMITS.expressionMemoryBytes };
    const worker = new Worker(WORKER, {
      workerData: settings,
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    });
    this.#worker = worker;
    this.#isStopping = false;
    worker.on("error", () => {});
    worker.on("exit", () => {
      // It ended while idle: the next job starts another. A stopped one may already have a successor here.
      if (this.#worker === worker) this.#worker = undefined;
    });
    const ready = await next(worker, (signal) => sleep(START_LIMIT_MS, undefined, { signal }));
    if (!ready) throw new Error("jq did not start");
    this.#cpuMs = ready.cpuMs;
    return worker;
  }

  /** Resolves when the program has had its time. */
  async #late(worker: Worker, limitMs: number, signal: AbortSignal): Promise<undefined> {
    const startedAt = performance.now();
    for (let leftMs = limitMs; leftMs > 0;) {
      await sleep(leftMs, undefined, { signal });
      const cpuMs = (await cpuMsOf(worker)) - this.#cpuMs;
      leftMs = limitMs - Math.max(cpuMs, (performance.now() - startedAt) / CLOCK_PER_CPU);
    }
  }
}

/** The worker's next message; undefined if `limit` comes first. Rejects if the worker ends first. */
async function next(worker: Worker, limit: (signal: AbortSignal) => Promise<undefined>): Promise<Answer | undefined> {
  const over = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<Answer | undefined>();
  const onExit = (): void => reject(new Error("jq was stopped"));
  worker.on("message", resolve).on("error", reject).on("exit", onExit);
  limit(over.signal).then(resolve, reject);
  try {
    return await promise;
  } finally {
    over.abort();
    worker.off("message", resolve).off("error", reject).off("exit", onExit);
  }
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
