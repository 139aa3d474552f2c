/** Asks a person. The run pauses until the decision. */
import { actorId } from "../lib/actor.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { newId, type UserId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { asDuration } from "./evaluate.ts";
import type { Execution } from "./execution.ts";
import { readWholeApproval } from "./journal/read-approval.ts";
import type { Frame } from "./frame.ts";
import type { JournalStep, StepState } from "./journal/loaded-run.ts";
import { prepareApproval, type Question } from "./question.ts";
import type { WholeApproval } from "./run/run.ts";
import { keptToolCall, type ToolCall } from "./run/tool-call.ts";

export type Decision = {
  approved: boolean;
  comment: string | null;
  answer: Json;
  decidedBy: { kind: string; id: string | null } | null;
  decidedAt: string | null;
};

/**
 * `ask` is called once and returns the question as an approval's arguments. `toolCall`: the call that the person decides on.
 * Throws `timeout` if nobody decides in time.
 */
export async function askPerson(
  frame: Frame,
  ask: () => JsonObject | Promise<JsonObject>,
  toolCall?: ToolCall,
): Promise<Decision> {
  const { execution, step, scope } = frame;
  const { journal, shared } = execution;
  let isNew = step.state.approvalId === undefined;
  if (isNew) await open(execution, await ask(), step, toolCall);
  const id = step.state.approvalId!;
  const { organizationId } = journal.head;
  for (; ; isNew = false) {
    const status = isNew ? undefined : await shared.signals.approvals.add({ organizationId, id });
    if (status === "approved" || status === "rejected") {
      step.status = "running";
      return asDecision((await readWholeApproval(shared.database, organizationId, id))!);
    }
    const until = step.state.until ?? null;
    if (until !== null && until <= execution.now()) {
      journal.changeApproval(id, "expired", execution.now());
      step.status = "running";
      throw WorkflowError.of("timeout", "nobody decided in time");
    }
    // A row that is not committed yet can't be late.
    if (status === "open") await tellLate(execution, step);
    await execution.waitForSignal(id, { until: nextTime(step.state), person: true }, scope);
  }
}

/** The time of its reminder, its escalation or its expiry, whichever comes next. */
function nextTime({ until, remindAt, escalate }: StepState): number | null {
  const times = [until, remindAt, escalate?.at].filter((time) => time !== undefined);
  return times.length > 0 ? Math.min(...times) : null;
}

/** Each once, also if the process is killed in between: the approval's row says what was done. */
async function tellLate({ journal, shared }: Execution, step: JournalStep): Promise<void> {
  const { surroundings } = shared;
  const { organizationId } = journal.head;
  const { approvalId, remindAt, escalate } = step.state;
  const time = shared.clock.now();
  if (remindAt !== undefined && remindAt <= time) {
    await surroundings.remindApproval(organizationId, approvalId!);
    step.state.remindAt = undefined;
    journal.touch(step);
  }
  if (escalate !== undefined && escalate.at <= time) {
    await surroundings.escalateApproval(organizationId, approvalId!, escalate.assignees);
    step.state.escalate = undefined;
    journal.touch(step);
  }
}

async function open(
  execution: Execution,
  values: JsonObject,
  step: JournalStep,
  toolCall: ToolCall | undefined,
): Promise<void> {
  const { journal } = execution;
  const { head } = journal;
  const question = prepareApproval(values);
  const excluded = await peopleExcluded(execution, question);
  const now = execution.now();
  const { timeout, remindAfter, escalate } = question;
  if (timeout !== undefined) step.state.until = now + asDuration(timeout);
  if (remindAfter !== undefined) step.state.remindAt = now + asDuration(remindAfter);
  if (escalate) step.state.escalate = { at: now + asDuration(escalate.after), assignees: escalate.assignees };
  step.state.approvalId = newId();
  step.input = values;
  step.status = "paused";
  journal.touch(step);
  const text = (value: Json | readonly string[] | undefined): string | null =>
    value === undefined || value === null ? null : JSON.stringify(value);
  journal.openApproval({
    organization_id: head.organizationId,
    id: step.state.approvalId,
    project_id: head.projectId,
    agent_id: head.agentId,
    run_id: head.id,
    step_number: step.number,
    status: "open",
    question: question.question,
    context: text(question.context),
    assignee: question.assignee ?? null,
    form: text(toolCall ? keptToolCall(toolCall) : question.form),
    expires_at: step.state.until ?? null,
    created_at: now,
    decided_at: null,
    decided_by_kind: null,
    decided_by_id: null,
    comment: null,
    assignees: text(question.assignees),
    excluded: text(excluded),
    quorum: question.quorum,
    decisions: null,
    due_at: nextTime(step.state),
    escalated_at: null,
    reassignments: null,
    reminded_at: null,
    notify: question.notifies,
    answer: null,
  });
}

/** Users who may not decide; null: nobody. Throws a `validation` error if too few people are left to decide. */
async function peopleExcluded(
  execution: Execution,
  { assignees: named, excludesStarter, quorum, escalate }: Question,
): Promise<UserId[] | null> {
  if (!excludesStarter && quorum === 1) return null;
  const assignees = named && [...named, ...(escalate?.assignees ?? [])];
  // The run's row, and that of the firing which started it, tell who did.
  const { journal, shared } = execution;
  if (excludesStarter && !journal.isStarted) await journal.started(execution.now());
  const { excluded, deciders } = await shared.surroundings.whoDecides(journal.head, { assignees, excludesStarter });
  if (deciders >= quorum) return excludesStarter ? excluded : null;
  const left = deciders === 0 ? "nobody may decide" : `${quorum} have to approve, and only ${deciders} may`;
  throw WorkflowError.of("validation", `${left}: see who is a member, and their roles`);
}

function asDecision({ status, comment, answer, decidedBy, decidedAt }: WholeApproval): Decision {
  return {
    approved: status === "approved",
    comment,
    answer,
    decidedBy: decidedBy && { kind: decidedBy.kind, id: actorId(decidedBy) },
    decidedAt: decidedAt && decidedAt.toISOString(),
  };
}
