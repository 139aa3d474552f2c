/** Runs that are started by a step of another run. */
import { findAgent } from "../agents/find-agent.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { Refusal } from "../lib/errors.ts";
import { wakeNew } from "./admit-runs.ts";
import { dueAt } from "./due.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { ChildRequest } from "./execution.ts";
import { Journal } from "./journal.ts";
import type { Head } from "./loaded-run.ts";
import { newHead, prepareRun } from "./new-run.ts";
import { publish, type Runs } from "./runs.ts";

/**
 * What refuses it is an error of the workflow. `signal`: the parent's; who cancelled it in this moment may not have seen
 * the child.
 */
export async function startChild(runs: Runs, request: ChildRequest, signal: AbortSignal): Promise<RunStatus> {
  try {
    const { status } = await insertChild(runs, request);
    if (signal.aborted) runs.mended = false;
    return status;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    const fields =
      error.details.fields?.map(({ path, message }) => `${path.replace(/^input\./, "")}: ${message}`) ?? [];
    const why = [error.message, ...fields].join("; ");
    throw WorkflowError.of("configuration", `${request.namespace}/${request.name} could not be started: ${why}`);
  }
}

async function insertChild(runs: Runs, request: ChildRequest): Promise<Head> {
  const { parent, id, namespace, name, version, input, awaits } = request;
  const agent = await findAgent(runs.agents, parent.organizationId, namespace, name);
  if (!agent) throw WorkflowError.of("configuration", `there is no agent ${namespace}/${name}`);
  const wanted = version === undefined ? {} : { version };
  const prepared = await prepareRun(runs, parent.organizationId, { agentId: agent.id, input, ...wanted });
  const head = newHead(runs, prepared, {
    id,
    organizationId: parent.organizationId,
    startedBy: { kind: "run", id: parent.id },
    parent: { runId: parent.id, awaits },
    state: { depth: (parent.state.depth ?? 0) + 1 },
  });
  const journal = new Journal({
    head,
    writer: runs.writer,
    published: (change) => publish(runs, change),
    start: { input: prepared.inputText, owner: null, wake_at: dueAt(head), key: null, body_hash: null },
  });
  await journal.commit(runs.clock.now());
  await wakeNew(runs, head);
  return journal.committed;
}
