/**
 * Marks the run ($2) that the executor's process ($1) advances alone, or in which it stands still: the next executor blames the
 * run for the end of that process (election.ts). Text alone, since the watchdog's thread loads next to nothing.
 */
export const MARK_SUSPECT = "update executor set suspect = $2 where instance_id = $1";
