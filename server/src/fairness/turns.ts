/**
 * Costly work done a few at a time: a bounded queue in which groups take turns and known callers go first. Work that finds
 * no place is refused at once, so that nobody holds a connection for it.
 */
import type { Refusal } from "../lib/errors.ts";
import { FairQueue } from "./fair-queue.ts";

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
  const known = new FairQueue<string, Waiter>(waiting, waitingPerGroup);
  const strangers = new FairQueue<string, Waiter>(waiting, waitingPerGroup);
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
