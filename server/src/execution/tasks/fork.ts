import type { Block, BodyOf } from "../../definition/program.ts";
import type { Frame } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import { inside, leave, type Result, type Scope } from "../scope.ts";
import { BranchLeft, runTogether } from "../side-by-side.ts";
import { keyInside } from "../journal/step-keys.ts";

/** The output is the branches' outputs in order; with `compete`, that of the first branch to end. */
export async function runFork(frame: Frame, body: BodyOf<"fork">): Promise<Result> {
  const { execution, input, step, task } = frame;
  const { tasks, way } = body.blocks.branches;
  const prefix = keyInside(step.key, way);
  const alone = (index: number): Block => ({ tasks: [tasks[index]!], position: new Map(), way: "once" });
  const branch = (index: number, scope: Scope): Promise<Result> =>
    runBlock(frame, alone(index), input, inside(scope, prefix));
  if (!body.compete) return leave(task.then, await runTogether(frame, tasks.length, tasks.length, branch));
  const won = new BranchLeft("the first branch has ended");
  let first: Result | undefined;
  const racing = async (index: number, scope: Scope): Promise<Result> => {
    const result = await branch(index, scope);
    first ??= result;
    throw won;
  };
  await runTogether(frame, tasks.length, tasks.length, racing).catch((reason: unknown) => {
    if (reason !== won) throw reason;
  });
  execution.journal.closeBelow(step.key, "cancelled", execution.now());
  return leave(task.then, first!);
}
