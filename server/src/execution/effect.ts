/** An effect outside. Its step is first committed as `running`, so that a repeat is recognized as one. */
import { hash } from "node:crypto";
import { WorkflowError } from "../definition/workflow-error.ts";
import { heldBytes } from "../lib/json/held-bytes.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { parseStored, type Json, type JsonObject } from "../lib/json/json.ts";
import type { Frame } from "./frame.ts";
import { asWorkflowError } from "./evaluate.ts";
import { heldBytesOf } from "./memory.ts";
import type { HttpResponse } from "./run/run.ts";
import { asRunError, type JournalStep } from "./journal/loaded-run.ts";

/** Both throw WorkflowError. */
type Effect = {
  /** Makes the request, which is kept and shown as the step's input. Called once: a repeat sends what was committed. */
  prepare(): JsonObject | Promise<JsonObject>;
  perform(request: JsonObject, context: EffectContext): Promise<Json>;
};

export type EffectContext = {
  organizationId: OrganizationId;
  /** A hash of (run, step): the same for every attempt, new for every visit. */
  idempotencyKey: string;
  /** Aborts when the run is cancelled or a timeout ends the task. */
  signal: AbortSignal;
  /** Awaited when the answer has arrived, before it is parsed: a thousand answers may arrive at once. */
  turn: () => Promise<void> | undefined;
  /** Called with what an HTTP endpoint answered, for people to see with the attempt: it is written with the step's next row. */
  answered(response: HttpResponse): void;
  /**
   * Called with the output before the answer that it was read from is released. If it returns a promise, there is no memory
   * for the output and it is being written to the step's row: the caller releases it and awaits the promise, and the return
   * value of `perform` is ignored.
   */
  hold(output: Json): Promise<void> | undefined;
};

const INTERRUPTED = WorkflowError.of(
  "runtime",
  "the process stopped during this attempt; whether it took effect is not known",
);

/** Thrown by `perform` before anything was done: the same request is made later, and it was no attempt. */
export class Postponed extends Error {
  readonly until: number;

  constructor(until: number) {
    super("postponed");
    this.until = until;
  }
}

/** Returns the effect's output: of this call, or of an earlier one whose output was written to the row. */
export async function performEffect(frame: Frame, effect: Effect): Promise<Json> {
  const { execution, step } = frame;
  if (step.state.answer !== undefined) {
    if (!execution.holds(step, heldBytes(step.state.answer))) await execution.untilRoom(step);
    await execution.turn();
    return parseStored(step.state.answer);
  }
  for (;;) {
    try {
      return await perform(frame, effect);
    } catch (error) {
      if (!(error instanceof Postponed)) throw error;
      step.state.postponedUntil = error.until;
      execution.journal.touch(step);
    }
  }
}

async function perform(frame: Frame, effect: Effect): Promise<Json> {
  const { execution, task, step, scope } = frame;
  const { journal } = execution;
  if (step.state.postponedUntil !== undefined) {
    await execution.waitUntil(step.state.postponedUntil, scope);
    step.state.postponedUntil = undefined;
    journal.touch(step);
  } else if (step.state.sent) {
    const now = execution.now();
    journal.recordAttempt(step, asRunError(INTERRUPTED.at(task.reference, step.number)), now);
    step.state.tryStartedAt = now;
  } else {
    const prepared = await effect.prepare();
    const room = execution.holdRow(step, prepared);
    if (room) await room;
    step.input = prepared;
    step.state.sent = true;
    journal.touch(step);
  }
  await execution.commit();
  const turn = execution.turn();
  if (turn) await turn;
  scope.signal.throwIfAborted();
  const context = contextOf(frame);
  let output: Json;
  try {
    output = await effect.perform(step.input as JsonObject, context);
  } catch (error) {
    journal.carry(step, heldBytesOf(asWorkflowError(error)?.fields.response ?? null));
    throw error;
  }
  if (context.isSaved) return execution.untilUnloaded();
  step.state.sent = undefined;
  return output;
}

/** `isSaved`: there was no memory for the output, which is in the step's row. */
type Call = EffectContext & { isSaved: boolean };

function contextOf({ execution, step, scope }: Frame): Call {
  const { id, organizationId } = execution.journal.head;
  const context: Call = {
    organizationId,
    idempotencyKey: idempotencyKeyOf(id, step.key),
    signal: scope.signal,
    turn: () => execution.turn(),
    answered: (response) => {
      step.response = response;
      execution.journal.carry(step, 2 * (response.body?.length ?? 0));
    },
    hold: (answer) => {
      const saved = execution.holdAnswer(step, answer);
      context.isSaved = saved !== undefined;
      return saved;
    },
    isSaved: false,
  };
  return context;
}

/** So that the next try makes its own request. */
export function forgetEffect(step: JournalStep): void {
  step.state.sent = undefined;
  if (step.state.unfit !== undefined) delete step.state.unfit;
  if (step.state.answer !== undefined) delete step.state.answer;
  step.unsaved = undefined;
}

/** 128 bits of SHA-256 over (run, key). */
export const idempotencyKeyOf = (runId: RunId, key: string): string =>
  hash("sha256", `${runId}\n${key}`, "base64url").slice(0, 22);
