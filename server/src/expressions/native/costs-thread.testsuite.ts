/** A thread for costs.test.ts: what a step costs where V8 has compiled nothing else. Posts `Measured`. */
import { parentPort, workerData } from "node:worker_threads";
import { draws, MAX_NS, nsPerStep, RATIO, type Case, type Cost } from "./costs.testsuite.ts";

/** `dear`: only those of these names, until one takes less than so many ns a step. */
export type Asked = { seed: number; draws: number; dear?: { names: string[]; enough: number } };
type Named = { name: string; ns: number };
/** `texts`: how many expressions were tried; `measured`: those that take long enough, the dearest last; ns a step. */
export type Measured = { texts: number; measured: Named[]; cheapest: number };

const BUSY_TRIES = 50;

/**
 * Measurements on a busy machine, or before V8 has compiled the code, are rarely too low. Undefined: it is too short to be measured,
 * and only looked longer while the machine did something else.
 */
function again(one: Case, before: Cost, enough: number): Cost | undefined {
  let least = before;
  for (let tried = 0; least.ns >= enough && tried < BUSY_TRIES; tried++) {
    const after = nsPerStep(one, 40);
    if (!after) return undefined;
    if (after.ns < least.ns) least = after;
  }
  return least;
}

function measure({ seed, draws: count, dear }: Asked): Measured {
  const dearest = new Map<string, { one: Case; cost: Cost }>();
  for (const one of draws(seed, count)) {
    if (dear?.names.includes(one.name) === false) continue;
    const cost = nsPerStep(one);
    if (cost && cost.ns > (dearest.get(one.text)?.cost.ns ?? 0)) dearest.set(one.text, { one, cost });
  }
  // Not with the least that a case came to when it was measured again: a busy moment may have made a cheap one the dearest of its text.
  const cheapest = Math.min(...[...dearest.values()].map(({ cost }) => cost.ns));
  // A lower bound shows nothing more, and costs 31 s: half of all are above five times the cheapest.
  const enough = dear?.enough ?? Math.min(RATIO * cheapest, MAX_NS);
  const measured = [...dearest.values()].flatMap(({ one, cost }) => {
    const least = again(one, cost, enough);
    return least ? [{ name: one.name, ns: least.ns }] : [];
  });
  return { texts: dearest.size, measured: measured.toSorted((left, right) => left.ns - right.ns), cheapest };
}

parentPort!.postMessage(measure(workerData as Asked));
