import type { Body } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { encodeId, newId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { prepareApproval } from "../tasks/approval.ts";
import type { Execution } from "./execution.ts";
import { asDuration, evaluated } from "./evaluate.ts";
import type { Frame } from "./frame.ts";
import type { JournalStep } from "./loaded-run.ts";
import type { WholeApproval } from "./run.ts";

/** Asks a person and waits: `{approved, comment, answer, decidedBy, decidedAt}`, or the error `approval-rejected`. */
export async function runApproval(frame: Frame, body: Extract<Body, { is: "call" }>): Promise<Json> {
  const { execution, input, step, scope, variables } = frame;
  const { journal, parts } = execution;
  let isNew = step.state.approvalId === undefined;
  if (isNew) ask(execution, (await evaluated(execution, body.arguments, input, variables)) as JsonObject, step);
  const id = step.state.approvalId!;
  const { organizationId } = journal.head;
  for (; ; isNew = false) {
    const status = isNew ? "open" : await parts.signals.approvals.add({ organizationId, id });
    if (status === "approved" || status === "rejected") {
      return decided(step, (await parts.readApproval(organizationId, id))!);
    }
    if (step.state.until !== undefined && step.state.until <= execution.now()) {
      journal.changeApproval(id, "expired", execution.now());
      step.status = "running";
      throw WorkflowError.of("timeout", "nobody decided in time");
    }
    await execution.waitForPerson(id, step.state.until ?? null, scope);
  }
}

function ask(execution: Execution, values: JsonObject, step: JournalStep): void {
  const { journal } = execution;
  const { head } = journal;
  const question = prepareApproval(values);
  const now = execution.now();
  if (question.timeout !== undefined) step.state.until = now + asDuration(question.timeout);
  step.state.approvalId = newId();
  step.input = values;
  step.status = "paused";
  journal.touch(step);
  const text = (value: Json | undefined): string | null => (value === undefined ? null : JSON.stringify(value));
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
    form: text(question.form),
    expires_at: step.state.until ?? null,
    created_at: now,
  });
}

function decided(step: JournalStep, approval: WholeApproval): Json {
  const { comment, answer, decidedBy, decidedAt } = approval;
  step.status = "running";
  const onReject = (step.input as JsonObject)["onReject"];
  if (approval.status === "rejected" && onReject !== "continue") {
    throw WorkflowError.of("approval-rejected", comment ?? "the approval was rejected");
  }
  return {
    approved: approval.status === "approved",
    comment,
    answer,
    decidedBy: decidedBy && {
      kind: decidedBy.kind,
      id: encodeId(decidedBy.kind === "key" ? "apiKey" : "user", decidedBy.id as never),
    },
    decidedAt: decidedAt && decidedAt.toISOString(),
  };
}
