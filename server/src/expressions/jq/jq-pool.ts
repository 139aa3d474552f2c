/**
 * The threads that jq runs in. A program that exceeds its time runs once more, with more time, on a separate thread: one heavy
 * program after the other, out of the way of the rest.
 */
import { hash } from "node:crypto";
import path from "node:path";
import type { OrganizationId } from "../../lib/ids.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { LIMITS } from "../../lib/limits.ts";
import { FairThreads } from "../../threads/fair-threads.ts";
import type { ThreadKind } from "../../threads/timed-thread.ts";
import type { Job, Reply, UnwrittenJob } from "./jq-program.ts";
import type { WorkerSettings } from "./jq-worker.ts";

/** A worker thread with one jq in it. */
export const JQ_THREAD: ThreadKind = {
  name: "jq",
  /** Relative to this file, which is .ts in the source and .js when built. */
  worker: new URL(`./jq-worker${path.extname(import.meta.filename)}`, import.meta.url),
  settings: { memoryBytes: LIMITS.expressionMemoryBytes } satisfies WorkerSettings,
  resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
};

/** The third is for others: it starts when two organizations need jq at the same time. */
const QUICK = { threads: 3, mostShare: 2 / 3 };
const LONG = { threads: 1, mostShare: 1 };

/** The program took too much: a sentence for its author. */
export class JqFailure extends Error {}

const AGAIN = { retryAfter: 5 };
const TOO_LONG = `takes longer than ${LIMITS.expressionRetryMs} ms`;
const TOO_LARGE = `needs more than ${LIMITS.expressionMemoryBytes / 1024 / 1024} MiB of memory, or too much stack`;

export class JqPool implements AsyncDisposable {
  readonly #threads = new FairThreads<Job, Reply>({
    kind: JQ_THREAD,
    quick: QUICK,
    quickMs: LIMITS.expressionMs,
    long: LONG,
  });
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** jq's answer, whatever it is. If there is none, throws JqFailure if that is the program's fault, else UNAVAILABLE. */
  async run({ program, input }: UnwrittenJob, organizationId: OrganizationId): Promise<Reply> {
    const outcome = await this.#threads.run({
      organizationId,
      // A program may have 64 kB.
      key: hash("sha256", `${organizationId} ${program}`),
      limitMs: LIMITS.expressionRetryMs,
      make: async () => ({ program, input: await input() }),
    });
    if (outcome.is === "reply") return outcome.reply;
    if (outcome.is === "late") throw new JqFailure(TOO_LONG);
    this.#log.debug({ reason: outcome.message }, "jq gave no answer");
    throw outcome.is === "broke" ? new JqFailure(TOO_LARGE) : new Refusal("UNAVAILABLE", outcome.message, AGAIN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#threads[Symbol.asyncDispose]();
  }
}
