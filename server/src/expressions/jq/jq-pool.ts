/**
 * A few jq threads for all, at most two of them for one organization; organizations take turns, whatever each has queued.
 * A program that exceeds its time runs once more, with more time, on a separate thread: one heavy program after the other,
 * out of the way of the rest.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { OrganizationId } from "../../lib/ids.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Slots } from "../../fairness/slots.ts";
import { JqThread, type Outcome } from "./jq-thread.ts";
import type { Reply, UnwrittenJob } from "./jq-program.ts";

const THREADS = 3;
/** The third is for others: it starts when two organizations need jq at the same time. */
const MAX_SHARE = 2 / 3;
/**
 * Remembers late programs, so that a workflow full of them takes the others' threads only once. For each organization
 * separately: a program that is late on its data may be quick on another's.
 */
const HEAVY_REMEMBERED = 1_000;

/** The program took too much: a sentence for its author. */
export class JqFailure extends Error {}

const AGAIN = { retryAfter: 5 };
const GONE: Outcome = { is: "gone", message: "jq was stopped" };
const TOO_LONG = `takes longer than ${LIMITS.expressionRetryMs} ms`;
const TOO_LARGE = `needs more than ${LIMITS.expressionMemoryBytes / 1024 / 1024} MiB of memory, or too much stack`;

export class JqPool implements AsyncDisposable {
  readonly #quick = new Lane(THREADS, LIMITS.expressionMs);
  readonly #alone = new Lane(1, LIMITS.expressionRetryMs);
  readonly #heavy = new LRUCache<string, true>({ max: HEAVY_REMEMBERED });
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** jq's answer, whatever it is. If there is none, throws JqFailure if that is the program's fault, else UNAVAILABLE. */
  async run(job: UnwrittenJob, organizationId: OrganizationId): Promise<Reply> {
    // A program may have 64 kB.
    const key = hash("sha256", `${organizationId} ${job.program}`);
    let outcome = await this.#quick.run(job, organizationId, () => this.#heavy.has(key));
    if (outcome.is === "late") {
      this.#heavy.set(key, true);
      outcome = await this.#alone.run(job, organizationId, () => false);
    }
    if (outcome.is === "reply") return outcome.reply;
    if (outcome.is === "late") throw new JqFailure(TOO_LONG);
    this.#log.debug({ reason: outcome.message }, "jq gave no answer");
    throw outcome.is === "broke" ? new JqFailure(TOO_LARGE) : new Refusal("UNAVAILABLE", outcome.message, AGAIN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick[Symbol.asyncDispose](), this.#alone[Symbol.asyncDispose]()]);
  }
}

/** Some threads and their queue. */
class Lane implements AsyncDisposable {
  readonly #limitMs: number;
  readonly #threads: readonly JqThread[];
  readonly #idle: JqThread[];
  readonly #slots: Slots;
  #isClosed = false;

  constructor(threads: number, limitMs: number) {
    this.#limitMs = limitMs;
    this.#threads = Array.from({ length: threads }, () => new JqThread());
    this.#idle = [...this.#threads];
    this.#slots = new Slots(threads, MAX_SHARE);
  }

  /** `isElsewhere` is called when the job's turn comes: if true, the job counts as late without having run. */
  async run(job: UnwrittenJob, organizationId: OrganizationId, isElsewhere: () => boolean): Promise<Outcome> {
    await this.#slots.take(organizationId);
    const thread = this.#idle.pop()!;
    try {
      return await this.#outcomeOf(job, isElsewhere, thread);
    } finally {
      this.#idle.push(thread);
      this.#slots.release(organizationId);
    }
  }

  async #outcomeOf(job: UnwrittenJob, isElsewhere: () => boolean, thread: JqThread): Promise<Outcome> {
    if (this.#isClosed) return GONE;
    if (isElsewhere()) return { is: "late" };
    const input = await job.input();
    return this.#isClosed ? GONE : thread.run({ program: job.program, input }, this.#limitMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map((thread) => thread[Symbol.asyncDispose]()));
  }
}
