/** Finds out whether a value is too large without writing it: parts may be shared a million times. */
import { ExactNumber } from "./exact-number.ts";
import type { Json } from "./json.ts";

/** The problem with the value's size, as a sentence's end. */
export const weigh = (value: Json, mostBytes: number, mostNesting: number): string | undefined =>
  weighed(value, mostBytes, mostNesting).excess;

/** How much more than its text a list, an object or a long number takes (measured: lib/json/held-bytes.ts). */
const CONTAINER_BYTES = 50;

/** State of the current weighing: a closure per result would cost more than counting a small one. */
let left = 0;
let containers = 0;
let isDeep = false;

function take(part: Json, depth: number): void {
  if (typeof part === "string") left -= part.length + 2;
  else if (typeof part !== "object" || part === null) left -= 1;
  else if (depth === 0 && !(part instanceof ExactNumber)) isDeep = true;
  else if (Array.isArray(part)) {
    left -= part.length + 1;
    containers++;
    for (const item of part) {
      if (left < 0) return;
      take(item, depth - 1);
    }
  } else if (part instanceof ExactNumber) {
    left -= part.text.length;
    containers++;
  } else {
    left -= 1;
    containers++;
    for (const key in part) {
      left -= key.length + 4;
      if (left < 0) return;
      take(part[key]!, depth - 1);
    }
  }
}

/** The same, with the bytes counted (no more than its JSON has) and about what it takes in memory. */
export function weighed(
  value: Json,
  mostBytes: number,
  mostNesting: number,
): { bytes: number; heldBytes: number; excess?: string } {
  left = mostBytes;
  containers = 0;
  isDeep = false;
  take(value, mostNesting);
  const bytes = mostBytes - left;
  const heldBytes = 2 * bytes + CONTAINER_BYTES * containers;
  if (isDeep) return { bytes, heldBytes, excess: `nested deeper than ${mostNesting} levels` };
  return left < 0 ? { bytes, heldBytes, excess: `larger than ${mostBytes} bytes` } : { bytes, heldBytes };
}
