/**
 * Due at any time of the clock, as ms and in SQL: the reader's clock may be behind the writer's, and a clock may be set
 * back.
 */
export const AT_ONCE = 0;
export const AT_ONCE_SQL = "'epoch'::timestamptz";

/** When a run that its start does not begin is due; a limited one is due when unparked (unpark-runs.ts). */
export const dueAt = (head: { limited: boolean; runAt: number | null }): number | null =>
  head.limited ? null : (head.runAt ?? AT_ONCE);
