/** The charge must match the cost: otherwise a budget of steps bounds nothing. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test, vi } from "vitest";
import type { Measured } from "./costs-thread.testsuite.ts";
import { STEPS } from "./signals.ts";

vi.setConfig({ testTimeout: 120_000 });

const SEED = 20_261_122;
const DRAWS = 6;

test(`a step of any operator or builtin takes at most ten times what one of another takes, seed ${SEED}`, async () => {
  // In a thread of its own: other tests of this process have taught V8 other kinds of operands.
  const thread = new Worker(new URL("costs-thread.testsuite.ts", import.meta.url), {
    workerData: { seed: SEED, draws: DRAWS },
    execArgv: [],
  });
  const [{ texts, measured, cheapest, dearest }] = (await once(thread, "message")) as [Measured];
  expect(measured).toBeGreaterThan(texts / 2);
  expect(
    dearest.ns / cheapest,
    `${cheapest.toFixed(1)} ns, but ${dearest.ns.toFixed(1)} ns: ${dearest.name}`,
  ).toBeLessThan(10);
  expect((STEPS * dearest.ns) / 1e6).toBeLessThan(100);
});
