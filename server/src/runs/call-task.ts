import { hash } from "node:crypto";
import type { Body } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { heldBytes } from "../lib/held-bytes.ts";
import type { RunId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import { evaluated } from "./evaluate.ts";
import type { Call } from "../tasks/task.ts";
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
  if (step.state.answer !== undefined) {
    if (!execution.holds(step, heldBytes(step.state.answer))) await execution.untilRoom(step);
    await execution.turn();
    return JSON.parse(step.state.answer) as Json;
  }
  if (step.state.sent) {
    const now = execution.now();
    journal.recordAttempt(step, INTERRUPTED.at(task.reference).fields, step.state.tryStartedAt ?? step.startedAt, now);
    if (step.state.tryStartedAt !== undefined) step.state.tryStartedAt = now;
  } else {
    const values = (await evaluated(execution, body.arguments, input, variables, step)) as JsonObject;
    const prepared = call.prepare(values, input, body.arguments.source as JsonObject);
    await execution.holdRow(step, prepared);
    step.input = prepared;
    step.state.sent = true;
    journal.touch(step);
  }
  await execution.commit();
  const authentication = body.authentication && (await evaluated(execution, body.authentication, input, variables));
  const turn = execution.turn();
  if (turn) await turn;
  scope.signal.throwIfAborted();
  const output = await performed(frame, call, authentication);
  if (output === undefined) return execution.untilUnloaded();
  delete step.state.sent;
  return output;
}

/** Undefined: there is no memory for what it brought, which is in the step's row. */
async function performed(
  { execution, step, scope }: Frame,
  call: Call,
  authentication: Json | undefined,
): Promise<Json | undefined> {
  const { id, organizationId } = execution.journal.head;
  let isSaved = false;
  const output = await call.perform(step.input as JsonObject, {
    organizationId,
    idempotencyKey: idempotencyKeyOf(id, step.key),
    signal: scope.signal,
    authentication,
    turn: () => execution.turn(),
    hold: (answer) => {
      const saved = execution.holdAnswer(step, answer);
      isSaved = saved !== undefined;
      return saved;
    },
  });
  return isSaved ? undefined : output;
}

/** The same for every attempt of a step, new for every visit: 128 bits of SHA-256 over (run, key). */
export const idempotencyKeyOf = (runId: RunId, key: string): string =>
  hash("sha256", `${runId}\n${key}`, "base64url").slice(0, 22);
