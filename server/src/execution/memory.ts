/** How much memory runs may hold in this process, and what one of them needs. */
import { getHeapStatistics } from "node:v8";
import { LRUCache } from "lru-cache";
import { weighed } from "../lib/json/weigh.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { FairPool } from "../fairness/fair-pool.ts";

/**
 * Shares of the heap's limit (`--max-old-space-size`, else Node's default for the machine's memory) minus what the process
 * itself needs: for all runs, and for one more. Commits, answers and the collector need the rest for a moment.
 */
const SHARED = 0.3;
const ALONE = 0.25;
const OURS_BYTES = 128 * 1024 * 1024;
const LEAST_BYTES = 64 * 1024 * 1024;

export function createMemory(): FairPool {
  const heap = Math.max(LEAST_BYTES, getHeapStatistics().heap_size_limit - OURS_BYTES);
  return new FairPool({ shared: heap * SHARED, alone: heap * ALONE, own: LIMITS.runMemoryOwnBytes });
}

/** Charged in pieces of this size, so a small run asks once. One with two steps takes about 20 kB, without its program. */
export const LEAST_HELD_BYTES = 65_536;

/** About what a value of bounded size takes in memory, including its text. */
export const heldBytesOf = (value: Json): number =>
  weighed(value, 2 * LIMITS.outputBytes, LIMITS.jsonNesting).heldBytes;

/** The bytes that a run needs, from what is known about it. */
export const neededBytes = (heldBytes: number): number =>
  Math.ceil((heldBytes + LEAST_HELD_BYTES / 2) / LEAST_HELD_BYTES) * LEAST_HELD_BYTES;

export const tooLarge = (heldBytes: number): WorkflowError =>
  WorkflowError.overLimit(
    `the run takes about ${Math.ceil(heldBytes / 1e6)} MB of memory, more than this server can give one run`,
  );

/** At most this many are remembered, as some are cancelled meanwhile; a forgotten run is only turned away once more. */
const MAX_REMEMBERED = 10_000;

/** The bytes that the runs that wait for memory need. */
export type NeededBytes = LRUCache<RunId, number>;
export const createNeededBytes = (): NeededBytes => new LRUCache({ max: MAX_REMEMBERED });
