import type { BodyOf } from "../../definition/program.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame } from "../frame.ts";
import type { Result } from "../scope.ts";

export async function runSet(frame: Frame, { value }: BodyOf<"set">): Promise<Result> {
  const { execution, input, step, variables } = frame;
  return complete(frame, await evaluate(execution, value, input, variables, step));
}
