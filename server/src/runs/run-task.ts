/** `run: workflow`: a run of another agent, which is this run's child. */
import type { Body } from "../definition/plan.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { heldBytes } from "../lib/held-bytes.ts";
import { encodeId, newId, type RunId } from "../lib/ids.ts";
import type { Json } from "../lib/json.ts";
import { JsonText } from "../lib/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import { evaluated } from "./evaluate.ts";
import type { Child } from "./execution.ts";
import type { Frame } from "./frame.ts";
import type { RunError } from "./run.ts";
import { isFinal } from "./states.ts";
import type { RunStatus } from "../storage/schema.ts";

/**
 * The child's id is committed with this step before the child is started, so that a repeat starts no second one. Its
 * output is the task's; its failure is the task's error. With `await: false` the task goes on with its own input. A
 * child that is still awaited when the step is closed is cancelled (journal.ts, families.ts).
 */
export async function runChild(frame: Frame, body: Extract<Body, { is: "run" }>): Promise<Json> {
  const { execution, input, step, scope, variables } = frame;
  const { journal, parts } = execution;
  const isNew = step.state.childId === undefined;
  if (isNew) {
    if ((journal.head.state.depth ?? 0) >= LIMITS.runDepth) {
      throw WorkflowError.of("runtime", `runs start runs at most ${LIMITS.runDepth} deep`);
    }
    const childInput = await evaluated(execution, body.input, input, variables, step);
    await execution.holdRow(step, childInput);
    step.input = childInput;
    step.state.childId = newId();
    if (body.awaits) step.state.awaits = true;
    journal.touch(step);
  }
  await execution.commit();
  const id = step.state.childId!;
  const { organizationId } = journal.head;
  const look = (): Promise<RunStatus | undefined> => parts.signals.children.add({ organizationId, id });
  let status = isNew ? undefined : await look();
  if (!status) {
    const request = { ...body, id, parent: journal.head, input: step.input! };
    status = await parts.startChild(request, execution.signal);
  }
  if (!body.awaits) return input;
  while (status && !isFinal(status)) {
    await execution.waitForChild(id, scope);
    status = await look();
  }
  const child = await parts.readRun(organizationId, id);
  if (!child) throw gone(id);
  const output = await outcomeOf(frame, child);
  delete step.state.awaits;
  return output;
}

async function outcomeOf(frame: Frame, child: Child): Promise<Json> {
  if (child.status === "completed") return read(frame, child, "output");
  if (child.error) {
    const { step: _step, ...fields } = (await read(frame, child, "error")) as RunError;
    throw new WorkflowError({ ...fields, instance: null });
  }
  throw WorkflowError.of("runtime", `the run ${encodeId("run", child.id)} was ${child.status}`);
}

/** As text when there is memory for that, then as a value when there is for that. */
async function read({ execution, step }: Frame, child: Child, column: "output" | "error"): Promise<Json> {
  const payload = child[column];
  if (payload === null || payload instanceof JsonText) return payload && payload.value;
  const { journal, parts } = execution;
  const least = 2 * payload.bytes;
  if (!execution.holds(step, least)) await execution.untilRoom(step);
  const json = await parts.readEnd(journal.head.organizationId, child.id, column);
  if (!json) throw gone(child.id);
  if (!execution.holds(step, heldBytes(json.text) - least)) await execution.untilRoom(step);
  return json.value;
}

const gone = (id: RunId): WorkflowError =>
  WorkflowError.of("runtime", `the run ${encodeId("run", id)} is not there any more`);
