/** `decideApproval`: a rejection, or as many approvals as are needed, close it and make the run due in the same transaction. */
import { isDeepStrictEqual } from "node:util";
import { appendEvent, eventValues } from "../audit/record.ts";
import { actorOf, whoOf, type Acting, type Caller } from "../auth/caller.ts";
import { checkInput, misfitOf } from "../definition/form/check-input.ts";
import { conflict, notFound, Refusal, type FieldProblem } from "../lib/errors.ts";
import { encodeId, type ApprovalId, type RunId } from "../lib/ids.ts";
import { parseStored, type Json } from "../lib/json/json.ts";
import { reached } from "../lib/reach.ts";
import { partitionOf } from "../storage/partitions.ts";
import type { Query } from "../storage/database.ts";
import { APPROVAL_COLUMNS, approvalFromRow, type KeptDecision } from "../execution/journal/read-rows.ts";
import { readWholeApproval } from "../execution/journal/read-approval.ts";
import type { Approval, GivenDecision, WholeApproval } from "../execution/run/run.ts";
import { changedArguments, toolAnswerProblem, toolCallIn } from "../execution/run/tool-call.ts";
import { readApproval } from "./read/read.ts";
import { tellApproval, tellChanged, type Runs } from "./handle/runs.ts";
import { DUE_SQL, hintDue } from "./wake-run.ts";
import { checkComment, checkHistory, lockApproval, lockAsked, requireAsked, tooLate } from "./lock-approval.ts";
import { isBound, queryFor } from "./read/who-decides.ts";
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";

export type Decision = {
  approvalId: ApprovalId;
  decision: "approve" | "reject";
  comment?: string;
  /** The answers to the approval's form, or `{arguments}` of a tool call. */
  answer?: Json;
  /** By a mailed link: it decides for one of those who are asked, and never in place of others. */
  isByLink?: boolean;
};

/**
 * Returns when the run goes on, if nothing else of it waits for a person and no other approval is needed. A repeat by the same caller
 * returns the same. Throws NOT_FOUND; FORBIDDEN (`not_assigned`) to others than those who are asked; CONFLICT if it is decided otherwise,
 * expired or withdrawn, or others approved another answer; BAD_USER_INPUT if the answer does not fit the form or the tool.
 */
export async function decideApproval(runs: Runs, caller: Acting, decision: Decision): Promise<Approval> {
  const { approval, goesOn } = await decideNow(runs, caller, decision);
  await goesOn;
  return approval;
}

/** The outcome of one of those that are decided together: the approval, or why it could not be decided. */
export type DecisionResult<Id> = { approvalId: Id; approval: Approval | null; refusal: Refusal | null };

/**
 * Decides each of a list as `decideApproval` does, one after the other: what is refused of one changes nothing about the others.
 * `idOf` throws NOT_FOUND for what is no id. Throws only what is no refusal; what was decided until then stays, and a repeat of it changes nothing.
 */
export async function decideApprovals<Id>(
  runs: Runs,
  caller: Acting,
  approvalIds: readonly Id[],
  { idOf, ...decision }: Omit<Decision, "approvalId"> & { idOf: (id: Id) => ApprovalId },
): Promise<DecisionResult<Id>[]> {
  checkComment(decision.comment);
  const results: DecisionResult<Id>[] = [];
  const going: Promise<void>[] = [];
  for (const id of approvalIds)
    try {
      const { approval, goesOn } = await decideNow(runs, caller, { ...decision, approvalId: idOf(id) });
      results.push({ approvalId: id, approval, refusal: null });
      if (goesOn) going.push(goesOn);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      results.push({ approvalId: id, approval: null, refusal: error });
    }
  await Promise.all(going);
  return results;
}

/** `goesOn`: resolves when the run does. */
async function decideNow(
  runs: Runs,
  caller: Acting,
  decision: Decision,
): Promise<{ approval: Approval; goesOn?: Promise<void> | undefined }> {
  const again = async (): Promise<{ approval: Approval }> => ({
    approval: (await readApproval(runs, caller, decision.approvalId))!,
  });
  const approval = reached(caller, await readWholeApproval(runs.database, caller.organizationId, decision.approvalId));
  if (!approval) throw notFound("Approval");
  const { database } = runs;
  if (approval.status !== "open") {
    isRepeated(approval, caller, decision);
    return again();
  }
  if (isBound(approval)) await requireAsked(queryFor(database, caller), caller, approval, decision);
  checkComment(decision.comment);
  const answer = checkedAnswer(approval, decision);
  const decided = await decide(runs, caller, approval, { ...decision, ...(answer !== undefined && { answer }) });
  if (!decided) return again();
  const { runId, organizationId } = decided.approval;
  tellApproval(runs, organizationId, approval.id);
  if (decided.run === "waits") return { approval: decided.approval };
  const goesOn = decided.run === "soon" ? nextChange(runs, runId) : undefined;
  if (decided.run === "running") tellChanged(runs, organizationId, runId);
  hintDue(runs, organizationId, runId, { signal: approval.id });
  return { approval: decided.approval, goesOn };
}

/** Whether the caller has decided so already. Throws CONFLICT if they, or all who are needed, have decided otherwise. */
function isRepeated(now: WholeApproval, caller: Caller, decision: Decision): boolean {
  const { kind, id } = actorOf(caller);
  const own = now.decisions.find(({ by }) => by.kind === kind && by.id === id);
  if (!own) {
    if (now.status === "open") return false;
    throw tooLate(now.status);
  }
  if (isSame(now, own, decision)) return true;
  throw now.status === "open"
    ? conflict("already_decided", "you have decided this approval already")
    : tooLate(now.status);
}

function isSame(now: WholeApproval, own: GivenDecision, decision: Decision): boolean {
  if (own.decision !== decision.decision || own.comment !== commentOf(decision)) return false;
  // The answer of an approval that others rejected is theirs.
  if (own.decision === "approve" && now.status === "rejected") return true;
  return hasAnswer(now, decision);
}

function hasAnswer(now: WholeApproval, decision: Decision): boolean {
  const { value, problems } = answerOf(now, decision);
  // As the database gives it back.
  const given = parseStored(JSON.stringify(value ?? null));
  return !problems && isDeepStrictEqual(approvedOf(now, now.answer), approvedOf(now, given));
}

/** The thing that is approved: a tool call's arguments, if nobody changed them those of the model. */
function approvedOf({ form }: WholeApproval, answer: Json): Json {
  const toolCall = toolCallIn(form);
  return toolCall ? (changedArguments(answer) ?? toolCall.arguments) : answer;
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

/** As the database can keep it. */
const commentOf = ({ comment }: Decision): string | null => comment ?? null;

const STATUS = { approve: "approved", reject: "rejected" } as const;

/** `waits`: for other decisions. `soon`: the process that has the run in memory writes that it goes on. */
type Decided = { approval: Approval; run: "running" | "soon" | "unchanged" | "waits" };

/** Undefined: the caller has decided so already. `given`: with the checked answer. */
function decide(runs: Runs, caller: Acting, asked: WholeApproval, given: Decision): Promise<Decided | undefined> {
  const { organizationId } = caller;
  const { runId } = asked;
  const month = partitionOf(runs.database, runId);
  return runs.database.transaction(async (query) => {
    const approval = await lockApproval(query, runs.database, asked);
    const now = new Date(runs.clock.now());
    if (isRepeated(approval, caller, given)) return undefined;
    if (approval.expiresAt && approval.expiresAt <= now) throw tooLate("open");
    const isFirst = approval.decisions.length === 0;
    if (given.decision === "approve" && !isFirst && !hasAnswer(approval, given)) throw answeredOtherwise();
    const { isOverride } = isBound(approval) ? await lockAsked(query, caller, approval, given) : { isOverride: false };
    const decision = { ...decisionOf(caller, given, now), isOverride };
    if (decision.comment !== null) checkHistory(approval, decision);
    const isClosing = given.decision === "reject" || approval.decisions.length + 1 >= approval.quorum;
    const run = isClosing ? await closeIn(query, month, approval, now) : "waits";
    return { approval: await write(query, caller, approval, { given, decision, isClosing, now }), run };
  }, organizationId);
}

const decisionOf = (caller: Caller, given: Decision, now: Date): Omit<KeptDecision, "isOverride"> => ({
  ...actorOf(caller),
  decision: given.decision,
  comment: commentOf(given),
  at: now.toISOString(),
});

type Writing = { given: Decision; decision: KeptDecision; isClosing: boolean; now: Date };

/** Adds the decision. The answer of the first approval stands: others approve the same. */
async function write(
  query: Query,
  caller: Acting,
  { organizationId, id, runId, decisions, answer }: WholeApproval,
  { given, decision, isClosing, now }: Writing,
): Promise<Approval> {
  const isAnswered = decisions.length > 0 && given.decision === "approve";
  const text = isAnswered ? answer : given.answer;
  const [row] = await query(
    `update approvals set decisions = coalesce(decisions, '[]') || $3::jsonb, answer = $4,
       status = case when $5 then $6 else status end, decided_at = case when $5 then $7::timestamptz end,
       decided_by_kind = case when $5 then $8 end, decided_by_id = case when $5 then $9::uuid end,
       comment = case when $5 then $10 end
      where organization_id = $1 and id = $2
      returning ${APPROVAL_COLUMNS}, ${appendEvent(11)}`,
    [
      organizationId,
      id,
      JSON.stringify([decision]),
      text === undefined ? null : JSON.stringify(text),
      isClosing,
      STATUS[given.decision],
      now,
      decision.kind,
      decision.id,
      decision.comment,
      ...eventValues(whoOf(caller), now.getTime(), {
        action: "approval_decided",
        subject: { kind: "approval", id },
        detail: {
          decision: given.decision,
          runId: encodeId("run", runId),
          ...(decision.isOverride && { isOverride: true }),
          ...(given.isByLink && { by: "mailed link" }),
        },
      }),
    ],
  );
  return approvalFromRow(row!);
}

/** Another question of the run that can still be decided. */
const OTHERS = `select 1 from approvals
  where organization_id = $1 and run_id = $3 and id <> $2 and status = 'open' and (expires_at is null or expires_at > $4)`;

/**
 * Makes the run due. A paused run is `running` with its last decision; one that is in memory says so itself, because its writes depend on
 * the status that it wrote last.
 */
async function closeIn(
  query: Query,
  month: string,
  { organizationId, id, runId }: WholeApproval,
  now: Date,
): Promise<Decided["run"]> {
  const [row] = await query(
    `with others as materialized (select exists (${OTHERS}) as wait)
     update runs_${month} set ${DUE_SQL},
       status = case when status = 'paused' and owner is null and not wait then 'running' else status end,
       revision = revision + (status = 'paused' and owner is null and not wait)::int
       from others
      where id = $3 and organization_id = $1 and status in (${OPEN_STATUSES_SQL})
      returning status, owner is not null as is_owned, wait`,
    [organizationId, id, runId, now],
  );
  // An open approval has an open run: both end in one statement.
  if (!row) throw tooLate(undefined);
  const { status, is_owned: isOwned, wait } = row;
  if (wait) return "unchanged";
  if (status === "running" && !isOwned) return "running";
  return status === "paused" && isOwned ? "soon" : "unchanged";
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

const answeredOtherwise = (): Error =>
  conflict(
    "changed_meanwhile",
    "others approved another answer (`answer`), and all approve the same: approve that one, or reject",
  );
