import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { askPerson } from "../ask-person.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame } from "../frame.ts";
import type { Result } from "../scope.ts";

/** The decision is the output. A rejection raises `approval-rejected`, unless `onReject` is `continue`. */
export async function runApproval(frame: Frame, body: BodyOf<"approval">): Promise<Result> {
  const { execution, input, step, variables } = frame;
  const decision = await askPerson(
    frame,
    async () => (await evaluate(execution, body.arguments, input, variables)) as JsonObject,
  );
  if (!decision.approved && (step.input as JsonObject)["onReject"] !== "continue") {
    throw WorkflowError.of("approval-rejected", decision.comment ?? "the approval was rejected");
  }
  return complete(frame, decision);
}
