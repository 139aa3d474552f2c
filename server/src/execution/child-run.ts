/** A run of another agent, which a step starts and may wait for. */
import { WorkflowError } from "../definition/workflow-error.ts";
import { heldBytes } from "../lib/json/held-bytes.ts";
import { newId } from "../lib/ids.ts";
import type { Json } from "../lib/json/json.ts";
import { JsonText } from "../lib/json/json-text.ts";
import { LIMITS } from "../lib/limits.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { Child } from "./shared.ts";
import type { Frame } from "./frame.ts";
import type { RunError } from "./run/run.ts";
import { isFinal } from "./run/states.ts";

/** `version` undefined: the published one. */
type Started = { namespace: string; name: string; version?: string; awaits: boolean };

/** `make` is called once, and makes what the step keeps and shows; `inputIn` finds the child's input in that. */
type ChildInput = { make: () => Json | Promise<Json>; inputIn: (kept: Json) => Json };

/**
 * The child's id is committed with this step before the child is started, so that a repeat does not start a second one. Returns the
 * child's output, or throws its error, if it is awaited. A child that is still awaited when the step is closed is cancelled
 * (journal.ts, families.ts).
 */
export async function startedChild(
  frame: Frame,
  { namespace, name, version, awaits }: Started,
  { make, inputIn }: ChildInput,
): Promise<Json> {
  const { execution, step, scope } = frame;
  const { journal, shared } = execution;
  const isNew = step.state.childId === undefined;
  if (isNew) {
    if ((journal.head.state.depth ?? 0) >= LIMITS.runDepth) {
      throw WorkflowError.of("runtime", `runs can start runs at most ${LIMITS.runDepth} levels deep`);
    }
    const kept = await make();
    await execution.holdRow(step, kept);
    step.input = kept;
    step.state.childId = newId();
    if (awaits) step.state.awaits = true;
    journal.touch(step);
  }
  await execution.commit();
  const id = step.state.childId!;
  const { organizationId } = journal.head;
  const look = (): Promise<RunStatus | undefined> => shared.signals.children.add({ organizationId, id });
  let status = isNew ? undefined : await look();
  if (!status) {
    const request = {
      id,
      parent: journal.head,
      namespace,
      name,
      awaits,
      input: inputIn(step.input!),
      ...(version !== undefined && { version }),
    };
    status = await shared.surroundings.startChild(request, execution.signal);
  }
  if (!awaits) return null;
  while (status && !isFinal(status)) {
    await execution.waitForSignal(id, { until: null, person: false }, scope);
    status = await look();
  }
  const child = await shared.surroundings.readChild(organizationId, id);
  if (!child) throw gone();
  const output = await outcomeOf(frame, child);
  delete step.state.awaits;
  return output;
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
