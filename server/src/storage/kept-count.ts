/**
 * A number of the whole database, for figures: read in the background when somebody looks at them, at most once in 10 s and up to
 * 10,000, so that nobody waits for it and a large one costs a few ms.
 */
import type { Database } from "./database.ts";

const KEPT_MS = 10_000;
/** Where a statement ends its count. */
export const COUNTED_MOST = 10_000;

export type KeptCount = {
  /** As last read. Undefined before the first answer, and while the database gives none. */
  latest(): number | undefined;
};

/** `text` answers one row with `count`. */
export function createKeptCount(database: Database, name: string, text: string, values: () => unknown[]): KeptCount {
  let count: number | undefined;
  let readAt = -Infinity;
  const read = async (): Promise<void> => {
    const [row] = await database.hot(name, text, values());
    count = row!["count"] as number;
  };
  return {
    latest: () => {
      const now = performance.now();
      if (now - readAt >= KEPT_MS) {
        readAt = now;
        read().catch(() => (count = undefined));
      }
      return count;
    },
  };
}
