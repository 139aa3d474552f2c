/** Runs that a step of another run starts. */
import { findAgent } from "../agents/find-agent.ts";
import { published } from "../agents/published.ts";
import { WorkflowError } from "../definition/workflow-error.ts";
import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { allOf } from "../lib/reach.ts";
import type { RunStatus } from "../storage/schema.ts";
import type { AgentForm, ChildRequest } from "../execution/shared.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import { insertRun, newHead } from "./insert-run.ts";
import { prepareRun } from "./prepare-run.ts";
import type { Runs } from "./handle/runs.ts";

/**
 * A refusal becomes an error of the workflow. `signal`: the parent's; a cancel of the parent at this moment may not
 * see the child.
 */
export async function startChild(runs: Runs, request: ChildRequest, signal: AbortSignal): Promise<RunStatus> {
  try {
    const { status } = await insertChild(runs, request);
    if (signal.aborted) runs.mended = false;
    return status;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "UNAVAILABLE") throw error;
    const name = `${request.namespace}/${request.name}`;
    throw WorkflowError.of("configuration", `${name} could not be started: ${error.message}`);
  }
}

async function insertChild(runs: Runs, request: ChildRequest): Promise<Head> {
  const { parent, id, namespace, name, version, input, awaits } = request;
  // Regardless of who started the parent: its definition may name any agent of the organization.
  const within = allOf(parent.organizationId);
  const agent = await findAgent(runs.agents, within, namespace, name);
  if (!agent) throw WorkflowError.of("configuration", `there is no agent ${namespace}/${name}`);
  const wanted = version === undefined ? {} : { version };
  const prepared = await prepareRun(runs, within, { agentId: agent.id, input, ...wanted });
  const head = newHead(runs, prepared, {
    id,
    organizationId: parent.organizationId,
    startedBy: { kind: "run", id: parent.id },
    parent: { runId: parent.id, awaits },
    state: { depth: (parent.state.depth ?? 0) + 1 },
  });
  return insertRun(runs, head, prepared);
}

/** An agent of the organization as a tool of another's model. */
export async function readForm(
  { agents }: Runs,
  organizationId: OrganizationId,
  namespace: string,
  handle: string,
): Promise<AgentForm | undefined> {
  const within = allOf(organizationId);
  const agent = await findAgent(agents, within, namespace, handle);
  const version = agent && (await published(agents, within, agent.id));
  if (!version) return undefined;
  const { name, description } = version.agent;
  return {
    description: description ?? `Starts a run of ${name}.`,
    parameters: { type: "object", ...version.inputSchema },
  };
}
