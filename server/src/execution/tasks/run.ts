/** `run: workflow`: a run of another agent, which is this run's child. */
import type { BodyOf } from "../../definition/program.ts";
import { isLabel } from "../../definition/schema/schema-words.ts";
import { quote } from "../../definition/text/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { startedChild } from "../child-run.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame } from "../frame.ts";
import type { ChildAgent } from "../journal/loaded-run.ts";
import type { Result } from "../scope.ts";

/** With `await: false` the task's output is its own input. */
export async function runChild(frame: Frame, body: BodyOf<"run">): Promise<Result> {
  const { execution, input, step, variables } = frame;
  const { awaits, version } = body;
  const { namespace, name } = await agentOf(frame, body);
  const child = { namespace, name, awaits, ...(version !== undefined && { version }) };
  const output = await startedChild(frame, child, {
    make: () => evaluate(execution, body.input, input, variables, step),
    inputIn: (kept) => kept,
  });
  return complete(frame, awaits ? output : input);
}

/** The names that expressions yield are kept in the step: another attempt starts the same agent. */
async function agentOf({ execution, input, step, variables }: Frame, { agent }: BodyOf<"run">): Promise<ChildAgent> {
  if (agent.isLiteral) return agent.source as ChildAgent;
  if (step.state.child) return step.state.child;
  const made = (await evaluate(execution, agent, input, variables)) as JsonObject;
  const child = { namespace: handleIn(made, "namespace"), name: handleIn(made, "name") };
  step.state.child = child;
  execution.journal.touch(step);
  return child;
}

function handleIn(made: JsonObject, key: "namespace" | "name"): string {
  const value: Json = made[key]!;
  if (isLabel(value)) return value;
  const found = quote(typeof value === "string" ? value : JSON.stringify(value));
  const what = key === "name" ? "an agent" : "a project";
  throw WorkflowError.of("configuration", `run.workflow.${key} yields ${found}, which is not the handle of ${what}`);
}
