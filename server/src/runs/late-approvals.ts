/** Approvals that nobody has decided in time: those who are asked are reminded, and others are asked as well. */
import { SYSTEM } from "../audit/event.ts";
import { record } from "../audit/record.ts";
import type { KeptReassignment } from "../execution/journal/read-rows.ts";
import { encodeId, type ApprovalId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { tellApproval, type Runs } from "./handle/runs.ts";
import { auditNames, readByEmail } from "./read/named-users.ts";

/** Once an approval, while it is open. */
export async function remindApproval(runs: Runs, organizationId: OrganizationId, id: ApprovalId): Promise<void> {
  const at = new Date(runs.clock.now());
  const told = await runs.database.transaction(async (query) => {
    const rows = await query(
      `update approvals set reminded_at = $3
        where organization_id = $1 and id = $2 and status = 'open' and reminded_at is null returning id`,
      [organizationId, id, at],
    );
    if (rows.length === 0) return undefined;
    return runs.approvalNews(query, { organizationId, event: "approval.reminded", subjectId: id, at });
  }, organizationId);
  tell(runs, organizationId, id, told);
}

/** Once an approval, while it is open. Those who were asked still are. */
export async function escalateApproval(
  runs: Runs,
  organizationId: OrganizationId,
  id: ApprovalId,
  others: readonly string[],
): Promise<void> {
  const at = new Date(runs.clock.now());
  const told = await runs.database.transaction(async (query) => {
    // The lock of a decision. The run's row is not needed: its status stays.
    const [row] = await query(
      `select assignees, run_id from approvals
        where organization_id = $1 and id = $2 and status = 'open' and escalated_at is null for update`,
      [organizationId, id],
    );
    if (!row) return undefined;
    const from = (row["assignees"] as string[] | null) ?? [];
    const to = [...new Set([...from, ...others])];
    const by = { kind: SYSTEM.kind, id: SYSTEM.id };
    const escalation: KeptReassignment = { ...by, at: at.toISOString(), from, to, comment: null, isOverride: false };
    await query(
      `update approvals set assignees = $3::jsonb, escalated_at = $4,
         reassignments = coalesce(reassignments, '[]') || $5::jsonb
        where organization_id = $1 and id = $2`,
      [organizationId, id, JSON.stringify(to), at, JSON.stringify([escalation])],
    );
    const news = await runs.approvalNews(query, { organizationId, event: "approval.escalated", subjectId: id, at });
    const users = await readByEmail(query, organizationId, to);
    await record(query, { organizationId, actor: SYSTEM, from: { address: null } }, at.getTime(), {
      action: "approval_escalated",
      subject: { kind: "approval", id },
      detail: {
        runId: encodeId("run", row["run_id"] as RunId),
        from: auditNames(from, users),
        to: auditNames(to, users),
      },
    });
    return news;
  }, organizationId);
  tell(runs, organizationId, id, told);
}

/** After the commit. Undefined: nothing was done. */
function tell(runs: Runs, organizationId: OrganizationId, id: ApprovalId, told: (() => void) | undefined): void {
  if (!told) return;
  told();
  tellApproval(runs, organizationId, id);
}
