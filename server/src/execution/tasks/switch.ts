import type { BodyOf } from "../../definition/program.ts";
import { evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import type { Result } from "../scope.ts";
import { truthy } from "../variables.ts";

/** Continues at the first case that holds; at the one without `when` only if no other holds, whatever their order. */
export async function runSwitch(frame: Frame, { cases }: BodyOf<"switch">): Promise<Result> {
  const { execution, input, task, variables } = frame;
  for (const { when, then } of cases) {
    if (when && truthy(await evaluate(execution, when, input, variables))) return { output: input, then };
  }
  return { output: input, then: cases.find(({ when }) => !when)?.then ?? task.then };
}
