/**
 * What others are to be told of a run: a row that goes with the statement that makes it true, so that it is told whatever becomes of
 * this process. Who takes the rows is none of this room's business (triggers/events/own-events.ts).
 */
import type { OrganizationId, RunId } from "../../lib/ids.ts";
import type { ApprovalRow, StartRow, UntoldRow, UpdateRow } from "./rows.ts";
import type { RunStatus } from "../../storage/schema.ts";
import { isFinal } from "../run/states.ts";

export type RunEvent = "run.completed" | "run.failed" | "run.cancelled" | "approval.requested";

export type Untold = {
  /** From memory, as it is asked in the hot path: whether anybody in the organization listens. In doubt they do. */
  isHeard(organizationId: OrganizationId, event: RunEvent): boolean;
  /** After a commit of such rows. */
  look(): void;
};

export const nobody: Untold = { isHeard: () => false, look: () => {} };

/** What is told of a run that has ended like this. */
export const endOf = (status: RunStatus): RunEvent => `run.${status}` as RunEvent;

type Happened = {
  organizationId: OrganizationId;
  runId: RunId;
  start?: StartRow;
  update?: UpdateRow;
  approvals: ApprovalRow[];
};

/** What a write makes true that somebody listens to. */
export function untoldOf({ isHeard }: Untold, happened: Happened): UntoldRow[] {
  const { organizationId, runId, start, update, approvals } = happened;
  const rows: UntoldRow[] = [];
  const add = (event: RunEvent, subjectId: string, at: number): void => {
    if (!isHeard(organizationId, event)) return;
    rows.push({ organization_id: organizationId, event, subject_id: subjectId, run_id: runId, at });
  };
  const run = start ?? update;
  if (run && isFinal(run.status)) add(endOf(run.status), runId, run.finished_at!);
  for (const { id, status, created_at } of approvals) if (status === "open") add("approval.requested", id, created_at);
  return rows;
}
