/**
 * How many runs are due and held by nobody, in the whole database: read in the background when somebody looks at the
 * figures, at most once in 10 s and up to 10,000, so that nobody waits for it and a large backlog costs a few ms.
 */
import type { Clock } from "../lib/clock.ts";
import type { Database } from "../storage/database.ts";

const KEPT_MS = 10_000;
const MOST = 10_000;

export type DueCount = {
  /** As last read. Undefined before the first answer, and while the database gives none. */
  latest(): number | undefined;
};

export function createDueCount({ database, clock }: { database: Database; clock: Clock }): DueCount {
  let count: number | undefined;
  let readAt = -Infinity;
  const read = async (): Promise<void> => {
    const [row] = await database.hot(
      "due_count",
      `select count(*) as due from (select 1 from runs
        where wake_at <= to_timestamp($1::float8 / 1000.0) and owner is null limit ${MOST}) due`,
      [clock.now()],
    );
    count = row!["due"] as number;
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
