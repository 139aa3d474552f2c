/** The states of a run, a step and an approval: this table in code, a CHECK in the database (migration 0001). */
import type { RunStatus, StepStatus } from "../storage/schema.ts";

/** Every change of a run's status is a compare-and-set along this table. */
export const RUN_TRANSITIONS: Record<RunStatus, readonly RunStatus[]> = {
  pending: ["running", "cancelled", "failed"],
  running: ["paused", "completed", "failed", "cancelled"],
  paused: ["running", "cancelled", "failed"],
  completed: [],
  failed: [],
  cancelled: [],
};

export const RUN_STATUSES = Object.keys(RUN_TRANSITIONS) as RunStatus[];
export const isFinal = (status: RunStatus): boolean => RUN_TRANSITIONS[status].length === 0;

/** As SQL literals: as a parameter the partial indexes are unusable. */
export const OPEN_STATUSES_SQL = RUN_STATUSES.filter((status) => !isFinal(status))
  .map((status) => `'${status}'`)
  .join(", ");

export const isStepOpen = (status: StepStatus): boolean =>
  status === "pending" || status === "running" || status === "paused";
