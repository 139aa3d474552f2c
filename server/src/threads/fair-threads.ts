/**
 * A few threads for all, of which one organization has at most its share; organizations take turns, whatever each has queued.
 * A job that exceeds a short time and may take longer runs once more, with its whole time, on a separate thread: heavy jobs stay
 * out of the way of the rest.
 */
import { LRUCache } from "lru-cache";
import type { OrganizationId } from "../lib/ids.ts";
import { Slots } from "../fairness/slots.ts";
import { TimedThread, type Outcome, type ThreadKind } from "./timed-thread.ts";

/** Some threads, and one organization's maximum share of them. */
type Share = { threads: number; mostShare: number };
type FairThreadsOptions = {
  kind: ThreadKind;
  quick: Share;
  /** Processor time of a job on one of these. */
  quickMs: number;
  /** For jobs that exceeded it. */
  long: Share;
};

/**
 * Remembers late jobs, so that a workflow full of them takes the others' threads only once. For each organization
 * separately: a program that is late on its data may be quick on another's.
 */
const LATE_REMEMBERED = 1_000;

/** `key`: the same for jobs of the organization that take about as long. `make` is called when the job's turn has come. */
export type Wanted<Job> = {
  organizationId: OrganizationId;
  key: string;
  limitMs: number;
  make: (limitMs: number) => Job | Promise<Job>;
  signal?: AbortSignal;
};

export class FairThreads<Job, Reply> implements AsyncDisposable {
  readonly #name: string;
  readonly #quickMs: number;
  readonly #quick: Lane<Job, Reply>;
  readonly #long: Lane<Job, Reply>;
  readonly #late = new LRUCache<string, true>({ max: LATE_REMEMBERED });

  constructor({ kind, quick, quickMs, long }: FairThreadsOptions) {
    this.#name = kind.name;
    this.#quickMs = quickMs;
    this.#quick = new Lane(kind, quick);
    this.#long = new Lane(kind, long);
  }

  async run(wanted: Wanted<Job>): Promise<Outcome<Reply>> {
    const { key, limitMs } = wanted;
    if (limitMs <= this.#quickMs) return this.#quick.run(wanted, limitMs, () => false);
    const outcome = await this.#quick.run(wanted, this.#quickMs, () => this.#late.has(key));
    if (outcome.is !== "late") return outcome;
    if (wanted.signal?.aborted) return { is: "gone", message: `${this.#name} was stopped` };
    this.#late.set(key, true);
    return this.#long.run(wanted, limitMs, () => false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick[Symbol.asyncDispose](), this.#long[Symbol.asyncDispose]()]);
  }
}

/** Some threads and their queue. */
class Lane<Job, Reply> implements AsyncDisposable {
  readonly #gone: Outcome<Reply>;
  readonly #threads: readonly TimedThread<Job, Reply>[];
  readonly #idle: TimedThread<Job, Reply>[];
  readonly #slots: Slots;
  #isClosed = false;

  constructor(kind: ThreadKind, { threads, mostShare }: Share) {
    this.#gone = { is: "gone", message: `${kind.name} was stopped` };
    this.#threads = Array.from({ length: threads }, () => new TimedThread<Job, Reply>(kind));
    this.#idle = [...this.#threads];
    this.#slots = new Slots(threads, mostShare);
  }

  /** `isElsewhere` is called when the job's turn comes: if true, the job counts as late without having run. */
  async run(wanted: Wanted<Job>, limitMs: number, isElsewhere: () => boolean): Promise<Outcome<Reply>> {
    const { organizationId, signal } = wanted;
    if (!(await this.#slots.take(organizationId, signal))) return this.#gone;
    const thread = this.#idle.pop()!;
    try {
      if (this.#isClosed) return this.#gone;
      if (isElsewhere()) return { is: "late" };
      const job = await wanted.make(limitMs);
      return this.#isClosed || signal?.aborted ? this.#gone : await thread.run(job, limitMs, signal);
    } finally {
      this.#idle.push(thread);
      this.#slots.release(organizationId);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map((thread) => thread[Symbol.asyncDispose]()));
  }
}
