/** Finds out whether a value is too large without writing it out: parts may be shared a million times. */
import type { Json } from "../../lib/json.ts";

/** What is wrong with the value's size, as a sentence's end. Counts at least as few bytes as its JSON has. */
export function weigh(value: Json, mostBytes: number, mostNesting: number): string | undefined {
  let left = mostBytes;
  let isDeep = false;
  const take = (part: Json, depth: number): void => {
    if (typeof part === "string") left -= part.length + 2;
    else if (typeof part !== "object" || part === null) left -= 1;
    else if (depth === 0) isDeep = true;
    else if (Array.isArray(part)) {
      left -= part.length + 1;
      for (const item of part) {
        if (left < 0) return;
        take(item, depth - 1);
      }
    } else {
      left -= 2;
      for (const key in part) {
        left -= key.length + 4;
        if (left < 0) return;
        take(part[key]!, depth - 1);
      }
    }
  };
  take(value, mostNesting);
  if (isDeep) return `nested deeper than ${mostNesting} levels`;
  return left < 0 ? `larger than ${mostBytes} bytes` : undefined;
}
