/** `call: email`: one mail, by the operator's SMTP server and with the operator's sender. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { MailFailure } from "../../mail/failure.ts";
import type { SendNow } from "../../mail/send-now.ts";
import { letterOf } from "../calls/letter.ts";
import { performEffect } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type RunTask } from "../frame.ts";

/** SMTP's own code for a service that is not available. */
const NOT_AVAILABLE = 421;

export const createRunEmail =
  (send: SendNow): RunTask<BodyOf<"email">> =>
  async (frame, body) => {
    const { execution, input, step, variables, task } = frame;
    const place = `${task.reference}/with`;
    const output = await performEffect(frame, {
      async prepare() {
        const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
        letterOf(values, place);
        return values;
      },
      async perform(values, { organizationId, idempotencyKey, signal }) {
        try {
          return { ...(await send(organizationId, idempotencyKey, () => letterOf(values, place), signal)) };
        } catch (error) {
          signal.throwIfAborted();
          throw error instanceof MailFailure ? errorOf(error) : error;
        }
      },
    });
    return complete(frame, output);
  };

/** `status` is SMTP's: 4xx for now, 5xx for good. */
function errorOf({ kind, status = NOT_AVAILABLE, message }: MailFailure): WorkflowError {
  if (kind === "unset") return WorkflowError.of("configuration", message);
  if (kind === "limit") return WorkflowError.of("limit", message);
  if (kind === "timeout") return WorkflowError.of("timeout", message);
  return WorkflowError.of("communication", message, status);
}
