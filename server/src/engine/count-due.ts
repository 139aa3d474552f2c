/** How many runs are due and not held, in the whole database. */
import type { Clock } from "../lib/clock.ts";
import type { Database } from "../storage/database.ts";
import { COUNTED_MOST, createKeptCount, type KeptCount } from "../storage/kept-count.ts";

export const createDueCount = ({ database, clock }: { database: Database; clock: Clock }): KeptCount =>
  createKeptCount(
    database,
    "due_count",
    `select count(*) as count from (select 1 from runs
      where wake_at <= to_timestamp($1::float8 / 1000.0) and owner is null limit ${COUNTED_MOST}) due`,
    () => [clock.now()],
  );
