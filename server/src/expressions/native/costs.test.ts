/** The charge must match the cost: otherwise a budget of steps bounds nothing. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { MAX_NS, RATIO } from "./costs.testsuite.ts";
import type { Asked, Measured } from "./costs-thread.testsuite.ts";

const ASKED = { seed: 20_261_122, draws: 6 };

/** In a thread of its own: other tests of this process have taught V8 other kinds of operands. */
async function measuredInThread(asked: Asked): Promise<Measured> {
  const thread = new Worker(new URL("costs-thread.testsuite.ts", import.meta.url), {
    workerData: asked,
    execArgv: [],
  });
  const [measured] = (await once(thread, "message")) as [Measured];
  return measured;
}

test(`a step of any operator or builtin takes at most ten times what one of another takes, seed ${ASKED.seed}`, async () => {
  const { texts, measured, cheapest } = await measuredInThread(ASKED);
  expect(measured.length).toBeGreaterThan(texts / 2);
  expect(measured.at(-1)!.ns).toBeLessThan(MAX_NS);
  const enough = RATIO * cheapest;
  let dear = measured.filter(({ ns }) => ns >= enough);
  // A loop that V8 once compiled badly stays slow in its thread, by 2.5 over a text, but not in another that does nothing else.
  if (dear.length > 0) {
    const names = dear.map(({ name }) => name);
    dear = (await measuredInThread({ ...ASKED, dear: { names, enough } })).measured;
  }
  const dearest = dear.at(-1) ?? measured.at(-1)!;
  expect(
    dearest.ns / cheapest,
    `${cheapest.toFixed(1)} ns, but ${dearest.ns.toFixed(1)} ns: ${dearest.name}`,
  ).toBeLessThan(RATIO);
});
