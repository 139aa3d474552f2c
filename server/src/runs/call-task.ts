import { hash } from "node:crypto";
import type { Body } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import type { RunId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { evaluated } from "./evaluate.ts";
import type { Frame } from "./frame.ts";

const INTERRUPTED = WorkflowError.of(
  "runtime",
  "the process stopped during this attempt; whether it took effect is not known",
);

/** A call with an effect outside: its step is committed as `running` first, so that a repeat is known as one. */
export async function runCall(frame: Frame, body: Extract<Body, { is: "call" }>): Promise<Json> {
  const { execution, task, input, step, scope, variables } = frame;
  const call = execution.parts.calls[body.call];
  if (!call) throw new Error(`no task runs call: ${body.call}`);
  const { journal } = execution;
  if (step.state.sent) {
    const now = execution.now();
    journal.recordAttempt(step, INTERRUPTED.at(task.reference).fields, step.state.tryStartedAt ?? step.startedAt, now);
    if (step.state.tryStartedAt !== undefined) step.state.tryStartedAt = now;
  } else {
    const values = (await evaluated(execution, body.arguments, input, variables)) as JsonObject;
    step.input = call.prepare(values, input, body.arguments.source as JsonObject);
    step.state.sent = true;
    journal.touch(step);
  }
  await execution.commit();
  const authentication = body.authentication && (await evaluated(execution, body.authentication, input, variables));
  const turn = execution.turn();
  if (turn) await turn;
  scope.signal.throwIfAborted();
  const output = await call.perform(step.input as JsonObject, {
    organizationId: journal.head.organizationId,
    idempotencyKey: idempotencyKeyOf(journal.head.id, step.key),
    signal: scope.signal,
    turn: () => execution.turn(),
    authentication,
  });
  delete step.state.sent;
  return output;
}

/** The same for every attempt of a step, new for every visit: 128 bits of SHA-256 over (run, key). */
export const idempotencyKeyOf = (runId: RunId, key: string): string =>
  hash("sha256", `${runId}\n${key}`, "base64url").slice(0, 22);
