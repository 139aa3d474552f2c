import type { BodyOf } from "../../definition/program.ts";
import { asDuration, evaluate } from "../evaluate.ts";
import { complete, type Frame } from "../frame.ts";
import type { Result } from "../scope.ts";

export async function runWait(frame: Frame, { duration }: BodyOf<"wait">): Promise<Result> {
  const { execution, input, step, scope, variables } = frame;
  if (step.state.until === undefined) {
    step.state.until = step.startedAt + asDuration(await evaluate(execution, duration, input, variables));
    execution.journal.touch(step);
  }
  await execution.waitUntil(step.state.until, scope);
  return complete(frame, input);
}
