/**
 * Marks the run ($2) that this process ($1), the executor, advances alone or stands still in: the next executor blames it for
 * the end of this one (election.ts). A text alone, since the watchdog's thread loads next to nothing.
 */
export const MARK_SUSPECT = "update executor set suspect = $2 where instance_id = $1";
