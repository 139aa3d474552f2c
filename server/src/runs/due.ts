/** When a run is due. */
import type { Head } from "./loaded-run.ts";

/**
 * Due whatever the clock says, as ms and in SQL: the clock of the process that looks may be behind that of the one that
 * wrote, and a clock may be set back.
 */
export const AT_ONCE = 0;
export const AT_ONCE_SQL = "'epoch'::timestamptz";

/** When a run that is not begun by its start is due; a limited one when it is admitted (admit-runs.ts). */
export const dueAt = (head: Pick<Head, "limited" | "runAt">): number | null =>
  head.limited ? null : (head.runAt ?? AT_ONCE);
