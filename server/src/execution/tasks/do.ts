import type { BodyOf } from "../../definition/program.ts";
import type { Frame } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import { inside, leave, type Result } from "../scope.ts";
import { keyInside } from "../journal/step-keys.ts";

export async function runDo(frame: Frame, { blocks }: BodyOf<"do">): Promise<Result> {
  const { input, step, scope, task } = frame;
  const within = inside(scope, keyInside(step.key, blocks.do.way));
  return leave(task.then, await runBlock(frame, blocks.do, input, within));
}
