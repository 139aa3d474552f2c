/** `run: workflow`: a run of another agent, which is this run's child. */
import type { BodyOf } from "../../definition/program.ts";
import { startedChild } from "../child-run.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame } from "../frame.ts";
import type { Result } from "../scope.ts";

/** With `await: false` the task's output is its own input. */
export async function runChild(frame: Frame, body: BodyOf<"run">): Promise<Result> {
  const { execution, input, step, variables } = frame;
  const output = await startedChild(frame, body, {
    make: () => evaluate(execution, body.input, input, variables, step),
    inputIn: (kept) => kept,
  });
  return complete(frame, body.awaits ? output : input);
}
