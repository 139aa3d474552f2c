/**
 * Costly work done a few at a time: a bounded queue in which groups take turns and known callers go first. Work that finds
 * no place is refused at once, so that nobody holds a connection for it.
 */
import type { Refusal } from "../lib/errors.ts";

export type Turns = <Result>(who: Who, work: () => Promise<Result>) => Promise<Result>;

/** `group`: callers that share their turns, such as one address. */
export type Who = { group: string; isKnown: boolean };

export type TurnOptions = {
  atOnce: number;
  /** How many may wait: this many known ones, and as many others. */
  waiting: number;
  waitingPerGroup: number;
  refusal: () => Refusal;
};

type Waiter = { start: () => void; refuse: (reason: Refusal) => void };

/** While both wait, every fourth turn is a stranger's: known callers go first but can't keep others out. */
const STRANGERS_TURN = 4;

export function createTurns({ atOnce, waiting, waitingPerGroup, refusal }: TurnOptions): Turns {
  const known = new Lane<Waiter>(waiting, waitingPerGroup);
  const strangers = new Lane<Waiter>(waiting, waitingPerGroup);
  let running = 0;
  let turn = 0;

  const wait = ({ group, isKnown }: Who): Promise<void> =>
    new Promise((start, refuse) => {
      const refused = (isKnown ? known : strangers).add(group, { start, refuse });
      refused?.refuse(refusal());
    });

  const next = (): Waiter | undefined => {
    const isStrangers = ++turn % STRANGERS_TURN === 0;
    return isStrangers ? (strangers.take() ?? known.take()) : (known.take() ?? strangers.take());
  };

  return async (who, work) => {
    if (running < atOnce) running++;
    // The work that ends hands over its turn, so nobody can slip in between.
    else await wait(who);
    try {
      return await work();
    } finally {
      const waiter = next();
      if (waiter) waiter.start();
      else running--;
    }
  };
}

/** Groups in the order of their turns, each with what waits. */
export class Lane<Waiter> {
  readonly #most: number;
  readonly #mostPerGroup: number;
  readonly #groups = new Map<string, Waiter[]>();
  #size = 0;

  constructor(most: number, mostPerGroup: number) {
    this.#most = most;
    this.#mostPerGroup = mostPerGroup;
  }

  /** Returns what finds no place: the new one or, if other groups have more places, the last of the longest group. */
  add(group: string, waiter: Waiter): Waiter | undefined {
    const queue = this.#groups.get(group) ?? [];
    if (queue.length >= this.#mostPerGroup) return waiter;
    let refused: Waiter | undefined;
    if (this.#size >= this.#most) {
      const longest = this.#longest();
      if (longest.length <= queue.length + 1) return waiter;
      refused = longest.pop();
      this.#size--;
    }
    queue.push(waiter);
    this.#size++;
    if (queue.length === 1) this.#groups.set(group, queue);
    return refused;
  }

  take(): Waiter | undefined {
    for (const [group, queue] of this.#groups) {
      // To the end of the round; gone when nothing of it is left.
      this.#groups.delete(group);
      const waiter = queue.shift()!;
      this.#size--;
      if (queue.length > 0) this.#groups.set(group, queue);
      return waiter;
    }
    return undefined;
  }

  /** Walks at most all that wait, and only when the lane is full. */
  #longest(): Waiter[] {
    let longest: Waiter[] = [];
    for (const queue of this.#groups.values()) if (queue.length > longest.length) longest = queue;
    return longest;
  }
}
