import type { JournalStep } from "../execution/journal/loaded-run.ts";
import type { ApprovalRow } from "../execution/journal/columns.ts";
import type { Run } from "../execution/run/run.ts";
import { isStepOpen } from "../execution/run/states.ts";
import { newId, type ApprovalId, type RunId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";

/** Copies of the decisions that belong to kept steps, as rows of the new run; the steps name the copies from then on. */
export async function keepApprovals(
  database: Database,
  { id, organizationId }: Pick<Run, "id" | "organizationId">,
  kept: readonly JournalStep[],
  newRunId: RunId,
): Promise<ApprovalRow[]> {
  const steps = new Map(kept.filter(({ status }) => !isStepOpen(status)).map((step) => [step.number, step]));
  if (!steps.values().some(({ state }) => state.approvalId !== undefined)) return [];
  const rows = await database.query(
    `select id, organization_id, project_id, agent_id, run_id, step_number, status, question, assignee, comment,
       expires_at, created_at, decided_at, decided_by_kind, decided_by_id, quorum, due_at, escalated_at, reminded_at, notify,
       assignees::text as assignees, excluded::text as excluded, decisions::text as decisions,
       reassignments::text as reassignments,
       context::text as context, form::text as form, answer::text as answer
       from approvals where organization_id = $1 and run_id = $2 and status in ('approved', 'rejected', 'expired')
         and step_number = any ($3::integer[]) order by id`,
    [organizationId, id, [...steps.keys()]],
    organizationId,
  );
  const ms = (date: Date | null): number | null => date && date.getTime();
  return rows.map((row) => {
    const copy = newId<"approval">();
    const { state } = steps.get(row["step_number"] as number)!;
    if (state.approvalId === (row["id"] as ApprovalId)) state.approvalId = copy;
    return {
      ...(row as ApprovalRow),
      id: copy,
      run_id: newRunId,
      expires_at: ms(row["expires_at"]),
      created_at: row["created_at"].getTime(),
      decided_at: ms(row["decided_at"]),
      due_at: ms(row["due_at"]),
      escalated_at: ms(row["escalated_at"]),
      reminded_at: ms(row["reminded_at"]),
    };
  });
}
