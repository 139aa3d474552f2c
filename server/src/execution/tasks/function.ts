/** A call of a function of `use.functions`: the function's task, on the arguments of the call. */
import type { BodyOf } from "../../definition/program.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import { keyInside } from "../journal/step-keys.ts";
import { inside, leave, type Result } from "../scope.ts";

export async function runFunction(frame: Frame, { arguments: given, blocks }: BodyOf<"function">): Promise<Result> {
  const { execution, input, step, scope, task, variables } = frame;
  if (step.input === undefined) {
    const made = await evaluate(execution, given, input, variables, step);
    await execution.holdRow(step, made);
    step.input = made;
    execution.journal.touch(step);
  }
  // A function sees its arguments and its own variables. Those around the call would make it depend on its callers.
  const within = inside(scope, keyInside(step.key, blocks.function.way), { variables: {} });
  return leave(task.then, await runBlock(frame, blocks.function, step.input, within));
}
