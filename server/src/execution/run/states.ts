/** The states of a run, a step and an approval: this table in code, a CHECK in the database (migration 0001). */
import type { RunStatus, StepStatus } from "../../storage/schema.ts";

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

/** Whether a run in state `from` may be written as `to`; staying the same is not a change. */
export const mayBecome = (from: RunStatus, to: RunStatus): boolean =>
  (from === to && !isFinal(from)) || RUN_TRANSITIONS[from].includes(to);

/** Throws for a change that is not in the table: our bug, which must not be written. */
export function changed(from: RunStatus, to: RunStatus): RunStatus {
  if (!mayBecome(from, to)) throw new Error(`a run that is ${from} can't become ${to}`);
  return to;
}

/** SQL literals, because PostgreSQL can't use the partial indexes with a parameter. */
const asSql = (statuses: readonly RunStatus[]): string => statuses.map((status) => `'${status}'`).join(", ");
export const OPEN_STATUSES_SQL = asSql(RUN_STATUSES.filter((status) => !isFinal(status)));

export const STEP_STATUSES: readonly StepStatus[] = [
  "pending",
  "running",
  "paused",
  "completed",
  "failed",
  "skipped",
  "cancelled",
];

export const isStepOpen = (status: StepStatus): boolean =>
  status === "pending" || status === "running" || status === "paused";
