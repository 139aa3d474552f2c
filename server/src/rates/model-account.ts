/** How entries come into the account of what models use, which all processes of a database write. */
import { setTimeout as sleep } from "node:timers/promises";
import { until, type Clock } from "../lib/clock.ts";
import { messageOf, Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import { Batch } from "../storage/batch.ts";
import type { Database, Query } from "../storage/database.ts";
import { placesOf, SpendBook, type Budget, type Refused } from "./spend-book.ts";
import {
  lockAndEnd,
  readAccounts,
  writeSpending,
  type Amount,
  type EndedCall,
  type Reservation,
  type SentenceCall,
} from "./spend-store.ts";

/** A call that ended. */
type Ended = {
  reservation: Reservation;
  used: Amount;
  call?: SentenceCall | undefined;
  /** Whether the reservation is there is not known. */
  isUnsure?: boolean;
};
type Wanted = { reservation: Reservation; budgets: readonly Budget[] };
type Entry = Wanted | Ended;

/** `elsewhere`: another process has the organization's account at this moment. */
type Written = Reservation | Refused | "elsewhere" | undefined;

/** The weight of an entry in a statement. */
const ENTRY_BYTES = 500;
/** A process that stands still in the middle of a transaction loses its accounts after this. */
const ACCOUNT_IDLE_MS = 3_000;
/**
 * A process looks again for an account that is elsewhere, each time twice as late: a transaction takes 2 ms. One that seldom looks finds it
 * taken each time by others that are busy with it.
 */
const LOOK_AGAIN_MS = { first: 4, most: 32 };
const ELSEWHERE_MS = 30_000;

/** Writes entries of all organizations, in transactions that wait for no other process's. */
export class Account {
  readonly #entries: Batch<Entry, Written>;
  /** Organizations whose accounts are elsewhere, until they are looked for again. */
  readonly #looks = new Map<OrganizationId, Promise<unknown>>();
  /** Entries that were written once, though the answer may have been lost. */
  readonly #tried = new WeakSet<Entry>();

  constructor(database: Database, clock: Clock) {
    this.#entries = new Batch({
      write: (items) => this.#writeAll(database, items, clock.now()),
      id: ({ reservation }) => reservation.id,
      organizationId: ({ reservation }) => reservation.organizationId,
      bytes: () => ENTRY_BYTES,
      inFlight: 1,
    });
  }

  /** Returns the reservation as it was made. Throws `UNAVAILABLE` if another process keeps the account. */
  reserve(wanted: Wanted): Promise<Reservation | Refused> {
    return this.#write(wanted) as Promise<Reservation | Refused>;
  }

  /** Throws as `reserve` does. */
  async settle(ended: Ended): Promise<void> {
    await this.#write(ended);
  }

  async #write(entry: Entry): Promise<Exclude<Written, "elsewhere">> {
    const { organizationId } = entry.reservation;
    const giveUpAt = performance.now() + ELSEWHERE_MS;
    for (let waitMs = LOOK_AGAIN_MS.first; ; waitMs = Math.min(2 * waitMs, LOOK_AGAIN_MS.most)) {
      // All entries of the organization look together, new ones behind old ones.
      await this.#looks.get(organizationId);
      const written = await this.#entries.add(entry);
      if (written !== "elsewhere") return written;
      if (performance.now() > giveUpAt)
        throw new Refusal("UNAVAILABLE", "another process has the organization's account of models", { retryAfter: 5 });
      this.#lookIn(waitMs, organizationId);
    }
  }

  #lookIn(waitMs: number, organizationId: OrganizationId): void {
    if (this.#looks.has(organizationId)) return;
    this.#looks.set(
      organizationId,
      sleep(waitMs).then(() => this.#looks.delete(organizationId)),
    );
  }

  async #writeAll(database: Database, all: readonly Entry[], now: number): Promise<Written[]> {
    // An account that is looked for again soon is left to the entries that wait for it: they came first.
    const looked = all.filter(({ reservation }) => !this.#looks.has(reservation.organizationId));
    const organizations = [...new Set(looked.map(({ reservation }) => reservation.organizationId))].toSorted();
    const ended = looked.filter(isEnded);
    const wanted = looked.filter(isWanted);
    const take = (query: Query): Promise<Set<OrganizationId>> => this.#take(query, { organizations, ended, now });
    // An unsure end takes the account before it looks for its reservation, in one transaction.
    if (wanted.length === 0 && !ended.some(({ isUnsure }) => isUnsure)) {
      const ours = await take(database.query);
      return all.map(({ reservation }) => (ours.has(reservation.organizationId) ? undefined : "elsewhere"));
    }
    return database.transaction(async (query) => {
      const ours = await take(query);
      const made = await reserveIn(
        query,
        wanted.filter(({ reservation }) => ours.has(reservation.organizationId)),
        {
          now,
          ended: new Set(ended.map(({ reservation }) => reservation.id)),
        },
      );
      return all.map((entry) => {
        if (!ours.has(entry.reservation.organizationId)) return "elsewhere";
        return isWanted(entry) ? made.get(entry) : undefined;
      });
    });
  }

  /** Ends these calls, and takes the accounts of the organizations that are returned. */
  async #take(
    query: Query,
    { organizations, ended, now }: { organizations: readonly OrganizationId[]; ended: readonly Ended[]; now: number },
  ): Promise<Set<OrganizationId>> {
    const calls = ended.map((entry) => endedCall(entry, { now, isUnsure: this.#tried.has(entry) }));
    const untried = ended.filter((entry) => !this.#tried.has(entry));
    for (const entry of untried) this.#tried.add(entry);
    // A reservation that is committed at this moment is only seen by a statement that begins once its account is ours.
    if (ended.some(({ isUnsure }) => isUnsure)) await lockAndEnd(query, organizations, [], ACCOUNT_IDLE_MS);
    const ours = await lockAndEnd(query, organizations, calls, ACCOUNT_IDLE_MS);
    for (const entry of untried) if (!ours.has(entry.reservation.organizationId)) this.#tried.delete(entry);
    return ours;
  }
}

const isWanted = (entry: Entry): entry is Wanted => "budgets" in entry;
const isEnded = (entry: Entry): entry is Ended => !isWanted(entry);

/** `ended`: calls that are given up already. */
async function reserveIn(
  query: Query,
  wanted: readonly Wanted[],
  { now, ended }: { now: number; ended: ReadonlySet<string> },
): Promise<Map<Entry, Reservation | Refused>> {
  const made = new Map<Entry, Reservation | Refused>();
  if (wanted.length === 0) return made;
  const organizations = [...new Set(wanted.map(({ reservation }) => reservation.organizationId))];
  const places = wanted.flatMap(({ budgets }) => budgets);
  const { spent, reserved } = await readAccounts(query, organizations, places);
  const book = new SpendBook(now, spent, reserved);
  for (const entry of wanted) {
    const { reservation, budgets } = entry;
    made.set(entry, ended.has(reservation.id) ? reservation : book.reserve(reservation, budgets));
  }
  await writeSpending(query, book.changes());
  return made;
}

/** A reservation that had expired was counted in full before, unless the end is unsure: it may have been written already, or never made. */
function endedCall(
  { reservation, used, call, isUnsure = false }: Ended,
  at: { now: number; isUnsure: boolean },
): EndedCall {
  const { tokens, cost, expiresAt } = reservation;
  const isLate = !isUnsure && !at.isUnsure && expiresAt <= at.now;
  const late = isLate ? { tokens: used.tokens - tokens, cost: used.cost - cost } : undefined;
  return { reservation, places: placesOf(reservation), used, late, call };
}

const NOT_WRITTEN = "what a model used could not be written: it counts in full";
/** Writes that failed are made again this much later. */
const AGAIN_MS = 2_000;
/** The maximum that waits to be written again. */
const MAX_KEPT = 10_000;

/** Keeps the use of calls that ended until it is written. */
export class Endings implements AsyncDisposable {
  readonly #account: Account;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #writing = new Map<OrganizationId, Set<Promise<unknown>>>();
  readonly #kept = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(account: Account, clock: Clock, log: Log) {
    this.#account = account;
    this.#clock = clock;
    this.#log = log;
  }

  add(ended: Ended): void {
    const kept = this.#write(ended).finally(() => this.#kept.delete(kept));
    this.#kept.add(kept);
  }

  async #write(ended: Ended): Promise<void> {
    for (;;) {
      const { aborted: isLast } = this.#closing.signal;
      const error = await this.#tryOnce(ended);
      if (error === undefined) return;
      const at = this.#clock.now() + AGAIN_MS;
      // From then on it counts in full.
      if (isLast || at >= ended.reservation.expiresAt || this.#kept.size > MAX_KEPT)
        return this.#log.warn({ reason: messageOf(error) }, NOT_WRITTEN);
      await until(this.#clock, at, this.#closing.signal).catch(() => {});
    }
  }

  async #tryOnce(ended: Ended): Promise<unknown> {
    const tried = this.#account.settle(ended).then(
      () => undefined,
      (error: unknown) => error,
    );
    const { organizationId } = ended.reservation;
    const own = this.#writing.get(organizationId) ?? new Set();
    this.#writing.set(organizationId, own.add(tried));
    try {
      return await tried;
    } finally {
      own.delete(tried);
      if (own.size === 0) this.#writing.delete(organizationId);
    }
  }

  /** Resolves when all tries of the organization under way are over: another's may wait long for its account. */
  async written(organizationId: OrganizationId): Promise<void> {
    const own = this.#writing.get(organizationId);
    if (own) await Promise.all(own);
  }

  /** Tries a last time. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#kept);
  }
}
