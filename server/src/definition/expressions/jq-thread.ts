/** One worker thread with one jq in it, started when a job comes and there is none. */
import path from "node:path";
import { Worker } from "node:worker_threads";
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Answer, Job, WorkerSettings } from "./jq-worker.ts";
import type { Reply } from "./jq-program.ts";

/**
 * `late`: stopped for its time. `broke`: out of memory or stack. Those are the program's doing;
 * `gone` is not: the thread did not start, or was stopped with the process.
 */
export type Outcome = { is: "reply"; reply: Reply } | { is: "late" } | { is: "broke" | "gone"; message: string };

/** Relative to this file, which is .ts in the source and .js when built. */
const WORKER = new URL(`./jq-worker${path.extname(import.meta.filename)}`, import.meta.url);
/** Starting takes 50 ms alone; on a machine with much else to do, more. */
const START_LIMIT_MS = 30_000;
/** A thread takes some 30 MB. */
const IDLE_MS = 60_000;

export class JqThread implements AsyncDisposable {
  #worker: Promise<Worker> | undefined;
  #idle: NodeJS.Timeout | undefined;
  readonly #startedAt = new BigInt64Array(new SharedArrayBuffer(8));

  /** One job at a time. `limitMs` counts from its start in the worker. Never rejects. */
  async run(job: Job, limitMs: number): Promise<Outcome> {
    clearTimeout(this.#idle);
    const outcome = await this.#run(job, limitMs);
    if (outcome.is === "reply") this.#idle = setTimeout(() => void this[Symbol.asyncDispose](), IDLE_MS).unref();
    else await this[Symbol.asyncDispose]();
    return outcome;
  }

  /** Nothing of it stays, whatever it was doing; the next job starts it again. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.then(
      (started) => started.terminate(),
      () => undefined,
    );
  }

  async #run(job: Job, limitMs: number): Promise<Outcome> {
    try {
      const worker = await (this.#worker ??= this.#start());
      worker.ref();
      const outcome = await this.#answerOf(worker, job, limitMs);
      worker.unref();
      return outcome;
    } catch (error) {
      return { is: "gone", message: messageOf(error) };
    }
  }

  #start(): Promise<Worker> {
    const startedAt = this.#startedAt.buffer;
    const settings: WorkerSettings = { memoryBytes: LIMITS.expressionMemoryBytes, startedAt };
    const worker = new Worker(WORKER, {
      workerData: settings,
      env: {},
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => void worker.terminate(), START_LIMIT_MS);
      worker.once("exit", () => reject(new Error("jq did not start")));
      worker.once("error", reject);
      worker.once("message", () => {
        clearTimeout(timer);
        // One that ends while it is idle is replaced when the next job comes.
        worker.on("exit", () => (this.#worker = undefined)).on("error", () => (this.#worker = undefined));
        resolve(worker);
      });
    });
  }

  #answerOf(worker: Worker, job: Job, limitMs: number): Promise<Outcome> {
    Atomics.store(this.#startedAt, 0, 0n);
    return new Promise((resolve) => {
      const settle = (outcome: Outcome): void => {
        clearTimeout(timer);
        worker.off("message", onAnswer).off("error", onError).off("exit", onExit);
        resolve(outcome);
      };
      const onAnswer = (answer: Exclude<Answer, "ready">): void =>
        settle("reply" in answer ? { is: "reply", reply: answer.reply } : { is: "broke", message: answer.broke });
      const onError = (error: Error & { code?: string }): void =>
        settle({ is: error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "broke" : "gone", message: error.message });
      const onExit = (): void => settle({ is: "gone", message: "jq was stopped" });
      const check = (): void => {
        const leftMs = this.#leftMs(limitMs);
        if (leftMs > 0) timer = setTimeout(check, leftMs);
        // This thread may have been busy while the answer came: what waits here already is read first.
        else setImmediate(() => setImmediate(() => settle({ is: "late" })));
      };
      let timer = setTimeout(check, limitMs);
      worker.on("message", onAnswer).on("error", onError).on("exit", onExit);
      worker.postMessage(job);
    });
  }

  #leftMs(limitMs: number): number {
    const startedAt = Atomics.load(this.#startedAt, 0);
    return startedAt === 0n ? limitMs : limitMs - Number(process.hrtime.bigint() - startedAt) / 1e6;
  }
}
