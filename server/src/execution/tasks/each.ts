import type { BodyOf } from "../../definition/program.ts";
import { withoutResponse, WorkflowError } from "../../definition/workflow-error.ts";
import type { Json } from "../../lib/json/json.ts";
import { asItems, evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import { checkRoom, leastOf } from "../step-room.ts";
import { inside, leave, type Result, type Scope } from "../scope.ts";
import { runTogether, type Branch } from "../side-by-side.ts";
import { keyInside } from "../journal/step-keys.ts";

/** Runs the tasks of `do` for each item, `concurrency` items at once; the results are in the order of the items. */
export async function runEach(frame: Frame, body: BodyOf<"each">): Promise<Result> {
  const { execution, input, step, task, variables } = frame;
  const { do: block } = body.blocks;
  if (step.state.items === undefined) {
    const found = asItems(await evaluate(execution, body.in, input, variables, step));
    // An item may end with the error of its first task.
    checkRoom(frame, found.length, body.collects ? 1 : leastOf(block).steps);
    step.state.items = found;
  }
  const { items } = step.state;
  execution.journal.touch(step);
  const one = (index: number, scope: Scope): Promise<Result> => {
    const own = { ...scope.variables, [body.item]: items[index]!, index };
    const prefix = keyInside(step.key, block.way, index + 1);
    return runBlock(frame, block, items[index]!, inside(scope, prefix, { variables: own }));
  };
  const branch = body.collects ? collecting(one) : one;
  return leave(task.then, await runTogether(frame, items.length, body.concurrency, branch));
}

/** An item's error becomes its result. */
const collecting =
  (branch: Branch): Branch =>
  async (index, scope) => {
    try {
      const { output, then } = await branch(index, scope);
      return { output: { output }, then };
    } catch (error) {
      if (!(error instanceof WorkflowError) || error.endsRun) throw error;
      return { output: { error: withoutResponse(error.fields) as unknown as Json }, then: "continue" };
    }
  };
