/**
 * What arrives: the bodies of requests and the messages of WebSockets, until they are answered. What all of it holds has a
 * budget; what stands still or trickles is cut; and strangers, whose credential nobody has seen, get a small size and one
 * share of the budget together, so that they can't use up what callers need.
 */
import type { Caller } from "../auth/caller.ts";
import type { ByteBudget } from "../lib/byte-budget.ts";
import { every, type Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";

/** One body or message under way. */
export type Arrival = {
  /** Counts bytes that came, whoever holds them. */
  came(bytes: number): void;
  /** What is held of it from now on. False when there is no room for its owner, or it has ended. */
  hold(bytes: number): boolean;
  /** Its caller is known now; false when there is no room in the caller's share. */
  belongsTo(owner: OrganizationId): boolean;
  /** All of it is here, and is held until it is answered. */
  whole(): void;
  /** Answered, refused or gone. */
  end(): void;
};

export type Arrivals = {
  /** `cut` is called once when too little of it comes. */
  begin(cut: () => void): Arrival;
} & Disposable;

const LOOK_EVERY_MS = 1_000;

type Entry = { lookedAt: number; came: number; cut: () => void };

export function createArrivals(budget: ByteBudget, clock: Clock): Arrivals {
  const entries = new Set<Entry>();

  /** Of each it must have brought so much since the last look, or be whole. */
  const look = async (): Promise<void> => {
    const now = clock.now();
    for (const entry of entries) {
      if (now - entry.lookedAt < LIMITS.bodyProgressSeconds * 1_000) continue;
      if (entry.came < LIMITS.bodyProgressBytes) {
        entries.delete(entry);
        entry.cut();
      }
      entry.lookedAt = now;
      entry.came = 0;
    }
  };
  const looking = every(clock, LOOK_EVERY_MS, look);

  return {
    begin: (cut) => {
      const entry: Entry = { lookedAt: clock.now(), came: 0, cut };
      let owner: OrganizationId | undefined;
      let held = 0;
      let isOver = false;
      entries.add(entry);
      return {
        came: (bytes) => void (entry.came += bytes),
        hold: (bytes) => {
          const more = bytes - held;
          if (isOver) return false;
          if (more > 0 && !budget.tryTake(owner, more)) return false;
          if (more < 0) budget.give(owner, -more);
          held = bytes;
          return true;
        },
        belongsTo: (organizationId) => {
          if (held > 0) budget.give(owner, held);
          owner = organizationId;
          if (held === 0 || budget.tryTake(owner, held)) return true;
          held = 0;
          return false;
        },
        whole: () => void entries.delete(entry),
        end: () => {
          isOver = true;
          entries.delete(entry);
          if (held > 0) budget.give(owner, held);
          held = 0;
        },
      };
    },
    [Symbol.dispose]: () => looking[Symbol.dispose](),
  };
}

/** A request that takes no more in memory, about, is not worth the count. */
export const SMALL_BYTES = 16 * 1024;

/** Whose request it is, asked only of what is large or finds no room among strangers. */
export type Whose = () => Promise<Caller | undefined>;

export const noRoom = (): Refusal =>
  new Refusal("UNAVAILABLE", "too many large requests are under way at the same time: try again in a moment", {
    retryAfter: 1,
  });
