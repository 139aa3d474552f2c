/** `decideApproval`: the first decision wins; the same statement makes the run due. */
import type { Caller } from "../auth/caller.ts";
import { checkInput } from "../definition/check-input.ts";
import { badInput, conflict, notFound } from "../lib/errors.ts";
import type { ApprovalId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { partitionOf } from "../storage/partitions.ts";
import { AT_ONCE_SQL } from "./due.ts";
import { APPROVAL_COLUMNS, approvalFromRow } from "./read-rows.ts";
import { readWholeApproval } from "./read.ts";
import type { Approval, WholeApproval } from "./run.ts";
import { tellApproval, type Runs } from "./runs.ts";
import { OPEN_STATUSES_SQL } from "./states.ts";

export type Decision = {
  approvalId: ApprovalId;
  decision: "approve" | "reject";
  comment?: string;
  /** What the approval's form asks for. */
  answer?: Json;
};

/** NOT_FOUND; CONFLICT when it is decided, expired or withdrawn; BAD_USER_INPUT when the answer does not fit the form. */
export async function decideApproval(runs: Runs, caller: Caller, decision: Decision): Promise<Approval> {
  const approval = await readWholeApproval(runs, caller.organizationId, decision.approvalId);
  if (!approval) throw notFound("Approval");
  const answer = checkedAnswer(approval, decision);
  checkComment(decision.comment);
  const decided = approval.status === "open" ? await decide(runs, caller, approval, decision, answer) : undefined;
  if (!decided) throw await tooLate(runs, approval);
  const { runId, organizationId } = decided;
  tellApproval(runs, organizationId, decided.id);
  runs.loaded.get(runId)?.branches.knock(decided.id);
  runs.engine.wake(runId, { organizationId });
  runs.notices.send({ kind: "wake", organizationId, id: runId });
  return decided;
}

function checkedAnswer(approval: WholeApproval, { decision, answer }: Decision): Json | undefined {
  if (!approval.form || (decision === "reject" && answer === undefined)) return answer;
  const checked = checkInput(approval.form, answer ?? {}, "input.answer");
  if (checked.problems) throw badInput("the answer does not fit the approval's form", checked.problems);
  return checked.value;
}

function checkComment(comment: string | undefined): void {
  if (comment === undefined) return;
  const message =
    comment.length > LIMITS.descriptionCharacters
      ? `has at most ${LIMITS.descriptionCharacters} characters`
      : comment.includes("\0")
        ? "has no NUL"
        : undefined;
  if (message) throw badInput(`the comment ${message}`, [{ path: "input.comment", code: "invalid", message }]);
}

/** The run's row is locked before the approval's, as the interpreter's writes do. */
async function decide(
  runs: Runs,
  caller: Caller,
  approval: WholeApproval,
  { decision, comment }: Decision,
  answer: Json | undefined,
): Promise<Approval | undefined> {
  const { credential, user } = caller;
  const [row] = await runs.database.query(
    `with r as (
       update runs_${partitionOf(runs.database, approval.runId)} set wake_seq = wake_seq + 1, wake_at = ${AT_ONCE_SQL}
        where id = $3 and organization_id = $1 and status in (${OPEN_STATUSES_SQL}) and exists (
          select 1 from approvals
           where organization_id = $1 and id = $2 and status = 'open' and (expires_at is null or expires_at > $4))
        returning id)
     update approvals set status = $5, decided_at = $4, decided_by_kind = $6, decided_by_id = $7, comment = $8, answer = $9
      where organization_id = $1 and id = $2 and status = 'open' and run_id in (select id from r)
      returning ${APPROVAL_COLUMNS}`,
    [
      approval.organizationId,
      approval.id,
      approval.runId,
      new Date(runs.clock.now()),
      decision === "approve" ? "approved" : "rejected",
      credential.kind,
      credential.kind === "key" ? credential.keyId : user.id,
      comment ?? null,
      answer === undefined ? null : JSON.stringify(answer),
    ],
    caller.organizationId,
  );
  return row && approvalFromRow(row);
}

async function tooLate(runs: Runs, approval: WholeApproval): Promise<Error> {
  const now = (await readWholeApproval(runs, approval.organizationId, approval.id)) ?? approval;
  return conflict(now.status === "open" ? "the approval has expired" : `the approval is ${now.status} already`);
}
