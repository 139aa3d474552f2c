import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";

export async function runRaise(frame: Frame, { error }: BodyOf<"raise">): Promise<never> {
  const { execution, input, variables } = frame;
  throw WorkflowError.fromJson(await evaluate(execution, error, input, variables));
}
