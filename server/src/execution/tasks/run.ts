/** `run: workflow`: a run of another agent, which is this run's child. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { heldBytes } from "../../lib/json/held-bytes.ts";
import { newId } from "../../lib/ids.ts";
import type { Json } from "../../lib/json/json.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { LIMITS } from "../../lib/limits.ts";
import { evaluate } from "../evaluate.ts";
import type { Child } from "../shared.ts";
import { complete, type Frame } from "../frame.ts";
import type { RunError } from "../run/run.ts";
import type { Result } from "../scope.ts";
import { isFinal } from "../run/states.ts";
import type { RunStatus } from "../../storage/schema.ts";

/**
 * The child's id is committed with this step before the child is started, so that a repeat does not start a second one. The
 * child's output is the task's, and so is its error. With `await: false` the task's output is its own input. A child that is
 * still awaited when the step is closed is cancelled (journal.ts, families.ts).
 */
export async function runChild(frame: Frame, body: BodyOf<"run">): Promise<Result> {
  const { execution, input, step, scope, variables } = frame;
  const { journal, shared } = execution;
  const isNew = step.state.childId === undefined;
  if (isNew) {
    if ((journal.head.state.depth ?? 0) >= LIMITS.runDepth) {
      throw WorkflowError.of("runtime", `runs can start runs at most ${LIMITS.runDepth} levels deep`);
    }
    const childInput = await evaluate(execution, body.input, input, variables, step);
    await execution.holdRow(step, childInput);
    step.input = childInput;
    step.state.childId = newId();
    if (body.awaits) step.state.awaits = true;
    journal.touch(step);
  }
  await execution.commit();
  const id = step.state.childId!;
  const { organizationId } = journal.head;
  const look = (): Promise<RunStatus | undefined> => shared.signals.children.add({ organizationId, id });
  let status = isNew ? undefined : await look();
  if (!status) {
    const { namespace, name, version, awaits } = body;
    const request = {
      id,
      parent: journal.head,
      namespace,
      name,
      awaits,
      input: step.input!,
      ...(version !== undefined && { version }),
    };
    status = await shared.surroundings.startChild(request, execution.signal);
  }
  if (!body.awaits) return complete(frame, input);
  while (status && !isFinal(status)) {
    await execution.waitForSignal(id, { until: null, person: false }, scope);
    status = await look();
  }
  const child = await shared.surroundings.readChild(organizationId, id);
  if (!child) throw gone();
  const output = await outcomeOf(frame, child);
  delete step.state.awaits;
  return complete(frame, output);
}

async function outcomeOf(frame: Frame, child: Child): Promise<Json> {
  if (child.status === "completed") return read(frame, child, "output");
  if (child.error) {
    const { stepNumber: _stepNumber, ...fields } = (await read(frame, child, "error")) as RunError;
    throw new WorkflowError({ ...fields, instance: null });
  }
  throw WorkflowError.of("runtime", `the child run was ${child.status}`);
}

/** Read as text once there is memory for the text, then parsed once there is memory for the value. */
async function read({ execution, step }: Frame, child: Child, column: "output" | "error"): Promise<Json> {
  const payload = child[column];
  if (payload === null || payload instanceof JsonText) return payload && payload.value;
  const { journal, shared } = execution;
  const least = 2 * payload.bytes;
  if (!execution.holds(step, least)) await execution.untilRoom(step);
  const json = await shared.surroundings.readChildEnd(journal.head.organizationId, child.id, column);
  if (!json) throw gone();
  if (!execution.holds(step, heldBytes(json.text) - least)) await execution.untilRoom(step);
  return json.value;
}

/** Does not name the child: readers of this run's error may not see its agent. `Step.childRun` has it for those who may. */
const gone = (): WorkflowError => WorkflowError.of("runtime", "the child run no longer exists");
