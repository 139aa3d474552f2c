import type { Body } from "../definition/plan.ts";
import { evaluated, itemsOf } from "./evaluate.ts";
import type { Frame } from "./frame.ts";
import { inside, type Result } from "./scope.ts";
import { truthy } from "./variables.ts";

type ForBody = Extract<Body, { is: "for" }>;

/** One item after the other; an item's input is the output of the one before. `exit` leaves the loop. */
export async function runFor(frame: Frame, body: ForBody): Promise<Result> {
  const { execution, input, step, scope, variables } = frame;
  if (step.state.items === undefined) {
    step.state.items = itemsOf(await evaluated(execution, body.in, input, variables, step));
    execution.journal.touch(step);
  }
  const { items } = step.state;
  let output = input;
  for (const [index, item] of items.entries()) {
    const own = { [body.each]: item, [body.at]: index };
    if (body.while && !wasEntered(frame, body, index)) {
      if (!truthy(await evaluated(execution, body.while, output, () => ({ ...variables(), ...own })))) break;
    }
    const result = await frame.runBlock(
      execution,
      body.block,
      output,
      inside(scope, `${step.key}/${index + 1}/`, {
        variables: { ...scope.variables, ...own },
        progress: (share) => scope.progress((index + share) / items.length),
      }),
    );
    output = result.output;
    if (result.then === "end") return result;
    if (result.then === "exit") break;
  }
  return { output, then: "continue" };
}

/** Whether the item's first step is there: `while` held then, and is not asked again. */
function wasEntered({ execution, step, scope }: Frame, { block }: ForBody, index: number): boolean {
  const first = execution.journal.step(`${step.key}/${index + 1}/${block.tasks[0]?.name}#1`);
  return first?.round === scope.round;
}
