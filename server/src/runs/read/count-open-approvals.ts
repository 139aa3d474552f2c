/** How many approvals wait for somebody, in the whole database. */
import type { Database } from "../../storage/database.ts";
import { COUNTED_MOST, createKeptCount, type KeptCount } from "../../storage/kept-count.ts";

export const createOpenApprovalsCount = (database: Database): KeptCount =>
  createKeptCount(
    database,
    "open_approvals_count",
    `select count(*) as count from (select 1 from approvals where status = 'open' limit ${COUNTED_MOST}) waiting`,
    () => [],
  );
