/**
 * The bodies of requests and the messages of WebSockets, until they are answered. Their memory has a budget. A sender that stops or
 * trickles is cut off. Strangers, whose credential was not checked yet, may send only small bodies and share one part of the budget, so
 * that they cannot use up what callers need.
 */
import type { Caller } from "../../auth/caller.ts";
import type { FairShare } from "../../fairness/fair-share.ts";
import { every, type Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { Roll } from "../../lib/roll.ts";

/** `cut`: called once, without a reason if too little arrives, else with the refusal. `isUnread`: whether reading of the connection is paused. */
type Ways = { cut: (reason?: Refusal) => void; isUnread: () => boolean };

/** One body or message under way. */
export class Arrival {
  readonly cut: Ways["cut"];
  readonly isUnread: () => boolean;
  /** When it was last looked at, and how many bytes have arrived since. */
  lookedAt: number;
  cameSince = 0;
  place = -1;
  readonly #budget: FairShare;
  readonly #entries: Roll<Arrival>;
  #owner: OrganizationId | undefined;
  #held = 0;
  #isOver = false;

  constructor(budget: FairShare, entries: Roll<Arrival>, now: number, { cut, isUnread }: Ways) {
    this.#budget = budget;
    this.#entries = entries;
    this.lookedAt = now;
    this.cut = cut;
    this.isUnread = isUnread;
    entries.add(this);
  }

  /** Counts bytes that came, no matter who holds them. */
  came(bytes: number): void {
    this.cameSince += bytes;
  }

  /** Sets how many bytes it holds from now on. False if its owner has no room, or it has ended. */
  hold(bytes: number): boolean {
    const more = bytes - this.#held;
    if (this.#isOver) return false;
    if (more > 0 && !this.#budget.tryTake(this.#owner, more)) return false;
    if (more < 0) this.#budget.give(this.#owner, -more);
    this.#held = bytes;
    return true;
  }

  /** Names its caller. False if the caller's share has no room for it. */
  belongsTo(owner: OrganizationId): boolean {
    if (this.#held > 0) this.#budget.give(this.#owner, this.#held);
    this.#owner = owner;
    if (this.#held === 0 || this.#budget.tryTake(owner, this.#held)) return true;
    this.#held = 0;
    return false;
  }

  /** All of it has arrived, and is held until it is answered. */
  whole(): void {
    this.#entries.delete(this);
  }

  /** Answered, refused or gone. */
  end(): void {
    this.#isOver = true;
    this.#entries.delete(this);
    if (this.#held > 0) this.#budget.give(this.#owner, this.#held);
    this.#held = 0;
  }
}

export type Arrivals = {
  /** `cut` is called once when too little of it comes, except while reading of its connection is paused. */
  begin(cut: Ways["cut"], isUnread?: () => boolean): Arrival;
  /** Cuts with this reason all that has not arrived, and from now on all that begins. */
  refuse(reason: Refusal): void;
} & Disposable;

const LOOK_EVERY_MS = 1_000;

export function createArrivals(budget: FairShare, clock: Clock): Arrivals {
  const entries = new Roll<Arrival>();

  /** Each must have brought enough since the last look, or be whole. */
  const look = (): undefined => {
    const now = clock.now();
    for (const entry of entries) {
      if (entry.isUnread()) entry.lookedAt = now;
      if (now - entry.lookedAt < LIMITS.bodyProgressSeconds * 1_000) continue;
      if (entry.cameSince < LIMITS.bodyProgressBytes) {
        entries.delete(entry);
        entry.cut();
      }
      entry.lookedAt = now;
      entry.cameSince = 0;
    }
  };
  const looking = every(clock, LOOK_EVERY_MS, look);

  let refusal: Refusal | undefined;
  const refuse = (entry: Arrival): void => {
    if (entries.delete(entry)) entry.cut(refusal);
  };

  return {
    begin: (cut, isUnread = () => false) => {
      const begun = new Arrival(budget, entries, clock.now(), { cut, isUnread });
      if (refusal) queueMicrotask(() => refuse(begun));
      return begun;
    },
    refuse: (reason) => {
      refusal = reason;
      for (const entry of entries) refuse(entry);
    },
    [Symbol.dispose]: () => looking[Symbol.dispose](),
  };
}

/** A request that takes about this much memory or less is not worth counting. */
export const SMALL_BYTES = 16 * 1024;

/** Asks who sends a request: only if it is large, or finds no room among strangers. */
export type AskSender = () => Sender | undefined | Promise<Sender | undefined>;
type Sender = Pick<Caller, "organizationId">;

export const noRoom = (): Refusal =>
  new Refusal("UNAVAILABLE", "too many large requests are under way at the same time: try again in a moment", {
    retryAfter: 1,
  });
