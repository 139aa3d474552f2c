/** A thread for costs.test.ts: what a step costs where V8 has compiled nothing else. Posts `Measured`. */
import { parentPort, workerData } from "node:worker_threads";
import { draws, nsPerStep, type Case, type Cost } from "./costs.testsuite.ts";

/** `texts`: how many expressions were tried, of which `measured` take long enough to be measured; ns a step. */
export type Measured = { texts: number; measured: number; cheapest: number; dearest: { name: string; ns: number } };

const BUSY_TRIES = 50;

/**
 * Measurements on a busy machine, or before V8 has compiled the code, are rarely too low. Undefined: it is too short to be measured,
 * and only looked longer while the machine did something else.
 */
function again(one: Case, before: Cost, enough: number): Cost | undefined {
  let least = before;
  for (let tried = 0; least.ns > enough && tried < BUSY_TRIES; tried++) {
    const after = nsPerStep(one, 40);
    if (!after) return undefined;
    if (after.ns < least.ns) least = after;
  }
  return least;
}

function measure(seed: number, count: number): Measured {
  const dearest = new Map<string, { one: Case; cost: Cost }>();
  for (const one of draws(seed, count)) {
    const cost = nsPerStep(one);
    if (cost && cost.ns > (dearest.get(one.text)?.cost.ns ?? 0)) dearest.set(one.text, { one, cost });
  }
  // Not with the least that a case came to when it was measured again: a busy moment may have made a cheap one the dearest of its text.
  const cheapest = Math.min(...[...dearest.values()].map(({ cost }) => cost.ns));
  const costs = [...dearest.values()].flatMap(({ one, cost }) => {
    const least = again(one, cost, 5 * cheapest);
    return least ? [{ name: one.name, ns: least.ns }] : [];
  });
  costs.sort((left, right) => left.ns - right.ns);
  return { texts: dearest.size, measured: costs.length, cheapest, dearest: costs.at(-1)! };
}

parentPort!.postMessage(measure(workerData.seed, workerData.draws));
