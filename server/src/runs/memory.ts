/** How much memory runs may hold in this process, and what one of them needs. */
import { getHeapStatistics } from "node:v8";
import { weighed } from "../definition/expressions/weigh.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { RunMemory } from "../lib/run-memory.ts";

/**
 * Of the heap's limit (`--max-old-space-size`, else Node's own by the machine's memory) without what the process needs for
 * itself: for all runs, and for one more. The rest is for what a commit, an answer and the collector take for a moment.
 */
const SHARED = 0.3;
const ALONE = 0.25;
const OURS_BYTES = 128 * 1024 * 1024;
const LEAST_BYTES = 64 * 1024 * 1024;

export function createMemory(): RunMemory {
  const heap = Math.max(LEAST_BYTES, getHeapStatistics().heap_size_limit - OURS_BYTES);
  return new RunMemory({ sharedBytes: heap * SHARED, aloneBytes: heap * ALONE, ownBytes: LIMITS.runMemoryOwnBytes });
}

/** Charged in such pieces, so that a small run asks once. One with two steps takes about 20 kB, without its plan. */
export const LEAST_HELD_BYTES = 65_536;

/** About what a value of bounded size takes in memory, with its text. */
export const heldBytesOf = (value: Json): number =>
  weighed(value, 2 * LIMITS.outputBytes, LIMITS.jsonNesting).heldBytes;

/** What a run of which so much is known needs. */
export const neededBytes = (heldBytes: number): number =>
  Math.ceil((heldBytes + LEAST_HELD_BYTES / 2) / LEAST_HELD_BYTES) * LEAST_HELD_BYTES;

export const tooLarge = (heldBytes: number): WorkflowError =>
  WorkflowError.overLimit(
    `the run takes about ${Math.ceil(heldBytes / 1e6)} MB of memory, more than this server can give one run`,
  );

/** More would be asked for what was cancelled meanwhile; one that is forgotten is turned away once more. */
const MOST_REMEMBERED = 10_000;

export function remember(needs: Map<RunId, number>, id: RunId, bytes: number): void {
  needs.delete(id);
  needs.set(id, bytes);
  if (needs.size > MOST_REMEMBERED) needs.delete(needs.keys().next().value!);
}
