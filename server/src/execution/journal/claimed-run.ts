/** A run as a claim returns it: its row without the steps, and without the payloads of a large run. */
import type { ClaimedRow } from "../../engine/sql-engine.ts";
import type { Head } from "./loaded-run.ts";
import { headFromRow } from "./read-rows.ts";
import { RUN_ADVANCED, RUN_PAYLOADS, RUN_SHOWN } from "./columns.ts";

export type ClaimedRun = {
  head: Head;
  /** About how much memory it takes when loaded. */
  heldBytes: number;
  /** How often the process ended uncleanly while advancing this run, since the run last made progress. */
  blamed: number;
};

/** Runs that are claimed together are read together, `LIMITS.batchBytes` in a statement. */
const READ_AT_ONCE_BYTES = 65_536;
export const isReadAtOnce = (heldBytes: number): boolean => heldBytes <= READ_AT_ONCE_BYTES;

/** `input` and `state` only for a run that is read at once. */
export const CLAIMED_RUN: ClaimedRow<ClaimedRun> = {
  columns: [...Object.keys({ ...RUN_SHOWN, ...RUN_PAYLOADS, ...RUN_ADVANCED }), "blamed"].map((name) =>
    name === "input" || name === "state"
      ? `case when held_bytes <= ${READ_AT_ONCE_BYTES} then ${name} end as ${name}`
      : name,
  ),
  of: (row) => ({ head: headFromRow(row), heldBytes: row["held_bytes"], blamed: row["blamed"] }),
};
