import type { Caller } from "../auth/caller.ts";
import { readProject } from "../auth/projects.ts";
import type { Problem } from "../definition/problem.ts";
import type { Workflow } from "../definition/workflow.ts";
import { badInput, conflict, notFound, type FieldProblem } from "../lib/errors.ts";
import { newId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import { archived, shownOf, type Agent } from "./agent.ts";
import { readChecked, type Agents } from "./agents.ts";
import { deleteDraft } from "./draft-store.ts";
import { insertVersion, lockAgent, readSource, updatePublished } from "./store.ts";

export type PublishRequest = { projectId: ProjectId; /** YAML or JSON text. */ definition: string };

/**
 * Makes a definition the published version of the agent it names, and makes the agent when there is none. A draft of
 * the same text is done with. Throws NOT_FOUND for the project, BAD_USER_INPUT with every problem of the text, CONFLICT
 * when the version exists with another text or the agent is archived.
 */
export async function publishAgent(agents: Agents, caller: Caller, request: PublishRequest): Promise<Agent> {
  const project = await readProject(agents, caller.organizationId, request.projectId);
  if (!project) throw notFound("Project");
  const workflow = await checkedWorkflow(agents, caller.organizationId, request.definition);
  checkNamespace(workflow.document, project);
  return publishWorkflow(agents, caller, { ...request, workflow });
}

/** The same for a definition that has been checked. */
export async function publishWorkflow(
  agents: Agents,
  caller: Caller,
  request: PublishRequest & { workflow: Workflow },
): Promise<Agent> {
  const agent = await agents.database.transaction(
    (query) => publish(agents, query, caller, request),
    caller.organizationId,
  );
  agents.cache.invalidate(agent.organizationId, agent.id);
  return agent;
}

async function checkedWorkflow(agents: Agents, organizationId: OrganizationId, definition: string): Promise<Workflow> {
  const { workflow, problems } = await readChecked(agents, organizationId, definition);
  if (workflow) return workflow;
  const fields = problems.map(fieldProblem);
  const count = fields.length === 1 ? "a problem" : `${fields.length} problems`;
  throw badInput(`the definition has ${count}: ${fields[0]?.message}`, fields);
}

/** Its path below `input.definition`, its place in the text before the sentence. */
export const fieldProblem = ({ path, line, column, message }: Problem): FieldProblem => ({
  path: `input.definition${path}`,
  code: "definition",
  message: `line ${line}, column ${column}: ${message}`,
});

/** Throws BAD_USER_INPUT unless the definition names the project that it is put into. */
export function checkNamespace({ namespace }: { namespace: string }, { handle }: { handle: string }): void {
  if (namespace === handle) return;
  const message = `the definition's namespace is ${namespace}, the project's handle is ${handle}: they must be the same`;
  throw badInput(message, [{ path: "input.definition/document/namespace", code: "definition", message }]);
}

/** Publishes at once of one agent wait for each other at its row. */
async function publish(
  agents: Agents,
  query: Query,
  caller: Caller,
  { projectId, definition, workflow }: PublishRequest & { workflow: Workflow },
): Promise<Agent> {
  const { organizationId, user } = caller;
  const { name: handle, version } = workflow.document;
  const shown = shownOf(workflow.document);
  const now = agents.clock.now();
  const locked = await lockAgent(query, {
    organizationId,
    id: newId(),
    projectId,
    handle,
    ...shown,
    status: "draft",
    now,
  });
  if (locked.status === "archived") throw archived(locked);
  const agent = (await deleteDraft(query, locked, definition)) ?? locked;
  const known = await readSource(query, organizationId, agent.id, version);
  if (known !== undefined && known !== definition) {
    throw conflict(
      `version ${version} of the agent ${handle} is already published with another text: raise the version`,
    );
  }
  if (known !== undefined && agent.publishedVersion === version) return agent;
  if (known === undefined) {
    await insertVersion(query, {
      organizationId,
      agentId: agent.id,
      version,
      source: definition,
      createdBy: user.id,
      now,
    });
  }
  // The first publish makes a draft active; a paused agent stays paused.
  const status = agent.status === "draft" ? "active" : agent.status;
  return updatePublished(query, { ...agent, ...shown, status, publishedVersion: version }, now);
}
