/** `decideApproval`: the first decision wins; the same statement makes the run due, and `running` if nothing else of it waits for a person. */
import { isDeepStrictEqual } from "node:util";
import { appendEvent, eventValues } from "../audit/record.ts";
import { actorOf, whoOf, type Acting, type Caller } from "../auth/caller.ts";
import { checkInput, misfitOf } from "../definition/form/check-input.ts";
import { badInput, conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import { encodeId, type ApprovalId, type RunId, type OrganizationId } from "../lib/ids.ts";
import { parseStored, type Json } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { isStorable } from "../lib/text.ts";
import { reached } from "../lib/reach.ts";
import { partitionOf } from "../storage/partitions.ts";
import { APPROVAL_COLUMNS, approvalFromRow } from "../execution/journal/read-rows.ts";
import { readWholeApproval } from "../execution/journal/read-approval.ts";
import type { Approval, WholeApproval } from "../execution/run/run.ts";
import { toolAnswerProblem, toolCallIn } from "../execution/run/tool-call.ts";
import { readApproval } from "./read/read.ts";
import { tellApproval, tellChanged, type Runs } from "./handle/runs.ts";
import { DUE_SQL, hintDue } from "./wake-run.ts";
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";

export type Decision = {
  approvalId: ApprovalId;
  decision: "approve" | "reject";
  comment?: string;
  /** The answers to the approval's form, or `{arguments}` of a tool call. */
  answer?: Json;
};

/** Whether `decideApproval` would take this caller's decision now. */
export const canDecide = ({ status, expiresAt }: Approval, { scopes }: Caller, now: number): boolean =>
  status === "open" && (expiresAt === null || expiresAt.getTime() > now) && scopes.has("approvals:decide");

/**
 * Returns when the run goes on, if nothing else of it waits for a person. A repeat by the same caller returns the same. Throws
 * NOT_FOUND; CONFLICT if it is decided otherwise, expired or withdrawn; BAD_USER_INPUT if the answer does not fit the form or the tool.
 */
export async function decideApproval(runs: Runs, caller: Acting, decision: Decision): Promise<Approval> {
  const approval = reached(caller, await readWholeApproval(runs.database, caller.organizationId, decision.approvalId));
  if (!approval) throw notFound("Approval");
  if (approval.status !== "open") return readRepeated(runs, caller, decision);
  const answer = checkedAnswer(approval, decision);
  checkComment(decision.comment);
  const decided = await decide(runs, caller, approval, decision, answer);
  if (!decided) return readRepeated(runs, caller, decision);
  const { runId, organizationId } = decided.approval;
  tellApproval(runs, organizationId, approval.id);
  const goesOn = decided.run === "soon" ? nextChange(runs, runId) : undefined;
  if (decided.run === "running") tellChanged(runs, organizationId, runId);
  hintDue(runs, organizationId, runId, { signal: approval.id });
  await goesOn;
  return decided.approval;
}

/** Returns the approval if it has this decision already. Throws CONFLICT. */
async function readRepeated(runs: Runs, caller: Caller, decision: Decision): Promise<Approval> {
  const { organizationId } = caller;
  const now = await readWholeApproval(runs.database, organizationId, decision.approvalId);
  if (!now || !isSame(now, caller, decision)) throw tooLate(now?.status);
  return (await readApproval(runs, caller, decision.approvalId))!;
}

function isSame(now: WholeApproval, caller: Caller, decision: Decision): boolean {
  const { kind, id } = actorOf(caller);
  if (now.decidedBy?.kind !== kind || now.decidedBy.id !== id) return false;
  if (now.status !== STATUS[decision.decision] || now.comment !== commentOf(decision)) return false;
  const { value, problems } = answerOf(now, decision);
  // As the database gives it back.
  return !problems && isDeepStrictEqual(now.answer, parseStored(JSON.stringify(value ?? null)));
}

function checkedAnswer(approval: WholeApproval, decision: Decision): Json | undefined {
  const { value, problems } = answerOf(approval, decision);
  const asked = toolCallIn(approval.form) ? "tool" : "approval's form";
  if (problems) throw misfitOf(`the answer does not fit the ${asked}`, problems, "input.answer");
  return value;
}

function answerOf(
  { form }: WholeApproval,
  { decision, answer }: Decision,
): { value?: Json | undefined; problems?: FieldProblem[] | undefined } {
  const toolCall = toolCallIn(form);
  if (toolCall) {
    const problem = toolAnswerProblem(toolCall, answer, "input.answer");
    return problem ? { problems: [problem] } : { value: answer };
  }
  if (!form || (decision === "reject" && answer === undefined)) return { value: answer };
  return checkInput(form, answer ?? {}, "input.answer");
}

function checkComment(comment: string | undefined): void {
  if (comment === undefined) return;
  const message =
    comment.length > LIMITS.descriptionCharacters
      ? `has at most ${LIMITS.descriptionCharacters} characters`
      : !isStorable(comment)
        ? "has no NUL and no half of a surrogate pair"
        : undefined;
  if (message)
    throw badInput("invalid_input", `the comment ${message}`, [{ path: "input.comment", code: "invalid", message }]);
}

/** As the database can keep it. */
const commentOf = ({ comment }: Decision): string | null => comment ?? null;

const STATUS = { approve: "approved", reject: "rejected" } as const;

/** `soon`: the process that has the run in memory writes that it goes on. */
type Decided = { approval: Approval; run: "running" | "soon" | "unchanged" };

/** Another question of the run that can still be decided. */
const OTHERS = `select 1 from approvals
  where organization_id = $1 and run_id = $3 and id <> $2 and status = 'open' and (expires_at is null or expires_at > $4)`;

/**
 * Locks the run's row before the approval's, as the interpreter's writes do. A paused run is `running` with its last
 * decision; one that is in memory says so itself, because its writes depend on the status that it wrote last.
 */
async function decide(
  runs: Runs,
  caller: Acting,
  approval: WholeApproval,
  given: Decision,
  answer: Json | undefined,
): Promise<Decided | undefined> {
  const { kind, id: decider } = actorOf(caller);
  const { organizationId } = caller;
  const now = new Date(runs.clock.now());
  const which = [organizationId, approval.id, approval.runId, now];
  const month = partitionOf(runs.database, approval.runId);
  const [row] = await runs.database.query(
    `with before as materialized (
       select id, status = 'paused' and owner is null and not exists (${OTHERS}) as goes_on
         from runs_${month} where id = $3 and organization_id = $1 for no key update),
     r as (
       update runs_${month} r set ${DUE_SQL},
         status = case when goes_on then 'running' else r.status end, revision = r.revision + goes_on::int
         from before
        where r.id = before.id and r.id = $3 and r.organization_id = $1 and r.status in (${OPEN_STATUSES_SQL}) and exists (
          select 1 from approvals
           where organization_id = $1 and id = $2 and status = 'open' and (expires_at is null or expires_at > $4))
        returning r.id, r.status, r.owner, goes_on)
     update approvals set status = $5, decided_at = $4, decided_by_kind = $6, decided_by_id = $7, comment = $8, answer = $9
      where organization_id = $1 and id = $2 and status = 'open' and run_id in (select id from r)
      returning ${APPROVAL_COLUMNS}, (select status from r) as run_status, (select goes_on from r) as goes_on,
        (select owner is not null from r) as is_owned, ${appendEvent(10)}`,
    [
      ...which,
      STATUS[given.decision],
      kind,
      decider,
      commentOf(given),
      answer === undefined ? null : JSON.stringify(answer),
      ...eventValues(whoOf(caller), now.getTime(), {
        action: "approval_decided",
        subject: { kind: "approval", id: approval.id },
        detail: { decision: given.decision, runId: encodeId("run", approval.runId) },
      }),
    ],
    organizationId,
  );
  if (!row) return undefined;
  const decided = approvalFromRow(row);
  if (row["goes_on"]) return { approval: decided, run: "running" };
  if (row["run_status"] !== "paused") return { approval: decided, run: "unchanged" };
  const { waits, goesOn } = await resumeUnlessOthersWait(runs, organizationId, month, which);
  if (goesOn) return { approval: decided, run: "running" };
  return { approval: decided, run: row["is_owned"] && !waits ? "soon" : "unchanged" };
}

/** Another decision may have been committed since the statement before began. `which`: as in `OTHERS`. */
async function resumeUnlessOthersWait(
  { database }: Runs,
  organizationId: OrganizationId,
  month: string,
  which: unknown[],
): Promise<{ waits: boolean; goesOn: boolean }> {
  const [others] = await database.query(
    `with o as materialized (select exists (${OTHERS}) as waits),
     r as (
       update runs_${month} set status = 'running', revision = revision + 1
        where id = $3 and organization_id = $1 and status = 'paused' and owner is null and not (select waits from o)
       returning id)
     select waits, exists (select 1 from r) as goes_on from o`,
    which,
    organizationId,
  );
  return { waits: others!["waits"], goesOn: others!["goes_on"] };
}

/** The process that has the run may have ended meanwhile. */
const MAX_MS = 1_000;

/** Resolves with the commit by which the run goes on, or asks again: not with one that was under way when it was decided. */
async function nextChange(runs: Runs, runId: RunId): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _changed = runs.hub.subscribe(runId, (change) => {
    if (change === "changed" || change.head.status !== "paused" || change.approvals.length > 0) resolve();
  });
  using _late = runs.clock.at(runs.clock.now() + MAX_MS, resolve);
  await promise;
}

function tooLate(status: Approval["status"] | undefined): Error {
  if (status === "open") return conflict("wrong_state", "the approval has expired");
  const isDecided = status === "approved" || status === "rejected";
  return conflict(isDecided ? "already_decided" : "wrong_state", `the approval is already ${status}`);
}
