/** Times by the clock, for what is promised to somebody who waits. */
import { expect } from "vitest";
import { calmMsByClock } from "../server/src/lib/processor-time.testsuite.ts";

/**
 * `ms` have passed, which is less than `mostMs`; what is over it is divided by how much longer this machine takes for anything than one
 * that nobody else uses. Give it ten times what is promised: the disk and PostgreSQL are not in what it knows of the machine.
 */
export const expectInTime = (ms: number, mostMs: number): void =>
  expect(calmMsByClock(ms, mostMs)).toBeLessThan(mostMs);
