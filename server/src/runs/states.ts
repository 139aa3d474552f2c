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

/** Whether a run that is `from` may be written as `to`; to stay what it is is no change. */
export const mayBecome = (from: RunStatus, to: RunStatus): boolean =>
  (from === to && !isFinal(from)) || RUN_TRANSITIONS[from].includes(to);

/** Throws for a change that the table does not have: a bug of ours, which is not written. */
export function changed(from: RunStatus, to: RunStatus): RunStatus {
  if (!mayBecome(from, to)) throw new Error(`a run that is ${from} can't become ${to}`);
  return to;
}

/** As SQL literals: as a parameter the partial indexes are unusable. */
const asSql = (statuses: readonly RunStatus[]): string => statuses.map((status) => `'${status}'`).join(", ");
export const OPEN_STATUSES_SQL = asSql(RUN_STATUSES.filter((status) => !isFinal(status)));
/** What a claim, which makes a run `running`, may find. */
export const CLAIMED_FROM_SQL = asSql(RUN_STATUSES.filter((status) => mayBecome(status, "running")));

export const isStepOpen = (status: StepStatus): boolean =>
  status === "pending" || status === "running" || status === "paused";
