import type { BodyOf } from "../../definition/program.ts";
import { asItems, evaluate } from "../evaluate.ts";
import type { Frame } from "../frame.ts";
import { runBlock } from "../interpreter.ts";
import { checkRoom, leastOf } from "../step-room.ts";
import { inside, type Result } from "../scope.ts";
import { keyInside } from "../journal/step-keys.ts";
import { truthy } from "../variables.ts";

/** Runs one item after another; an item's input is the output of the one before it. `exit` leaves the loop. */
export async function runFor(frame: Frame, body: BodyOf<"for">): Promise<Result> {
  const { execution, input, step, scope, task, variables } = frame;
  const { do: block } = body.blocks;
  if (step.state.items === undefined) {
    const found = asItems(await evaluate(execution, body.in, input, variables, step));
    const { steps, isWhole } = leastOf(block);
    // A loop that can be left, by a `catch` around it as well, may need fewer steps than its items.
    if (isWhole && !body.while && scope.round === "") checkRoom(frame, found.length, steps);
    step.state.items = found;
    execution.journal.touch(step);
  }
  const { items } = step.state;
  let output = input;
  for (const [index, item] of items.entries()) {
    const own = { [body.each]: item, [body.at]: index };
    const prefix = keyInside(step.key, block.way, index + 1);
    // If the item's first step exists, `while` held then and is not evaluated again.
    const isEntered = execution.journal.step(`${prefix}${block.tasks[0]?.name}#1`)?.round === scope.round;
    if (body.while && !isEntered) {
      if (!truthy(await evaluate(execution, body.while, output, (used) => ({ ...variables(used), ...own })))) break;
    }
    const result = await runBlock(
      frame,
      block,
      output,
      inside(scope, prefix, {
        variables: { ...scope.variables, ...own },
        progress: (share) => scope.progress((index + share) / items.length),
      }),
    );
    output = result.output;
    if (result.then === "end") return result;
    if (result.then === "exit") break;
  }
  return { output, then: task.then };
}
