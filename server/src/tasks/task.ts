/** What a kind of call is to the interpreter. One file a kind; `calls.ts` lists them. */
import type { OrganizationId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json.ts";

export type CallContext = {
  organizationId: OrganizationId;
  /** A hash of (run, step): the same for every attempt, new for every visit. */
  idempotencyKey: string;
  /** Aborts when the run is cancelled or a timeout ends the task. */
  signal: AbortSignal;
  /** Asked when the answer is there, before it is taken apart: a thousand may be answered at once. */
  turn: () => Promise<void> | undefined;
  /** Evaluated anew for each attempt: it may hold secrets and is never kept. */
  authentication: Json | undefined;
  /**
   * Called with the output before what it was read from is let go of. A promise: there is no memory for it, it is being
   * written down; its holder lets go of it and waits for that, and what `perform` answers then is not looked at.
   */
  hold(output: Json): Promise<void> | undefined;
};

/** A call with an effect outside: it is made only after its step's commit as `running`. Both throw WorkflowError. */
export type Call = {
  /**
   * From the evaluated arguments and the task's input to what is sent, kept and shown as the step's input. `written` is
   * the arguments as their author wrote them, to tell a text of his from one that an expression yielded.
   */
  prepare(values: JsonObject, input: Json, written: JsonObject): JsonObject;
  perform(request: JsonObject, context: CallContext): Promise<Json>;
};
export type Calls = Record<string, Call>;
