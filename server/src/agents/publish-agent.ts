import { record } from "../audit/record.ts";
import { actorOf, needsWhole, whoOf, type Acting, type Caller } from "../auth/caller.ts";
import type { Project } from "../projects/project.ts";
import { findProject, readProject } from "../projects/projects.ts";
import { tasksIn } from "../definition/tasks-in.ts";
import type { Problem } from "../definition/text/problem.ts";
import { placeInSlices } from "../definition/read-document.ts";
import type { Workflow } from "../definition/profile/workflow.ts";
import { badInput, conflict, notFound, type FieldProblem, type Refusal } from "../lib/errors.ts";
import { newId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import type { Query } from "../storage/database.ts";
import { archived, shownOf, type Agent } from "./agent.ts";
import { readChecked, type Agents } from "./agents.ts";
import { refusedCommands } from "./refused-commands.ts";
import { refusedInputs } from "./refused-inputs.ts";
import { unknownConnections } from "./unknown-connections.ts";
import { deleteDraft } from "./draft-store.ts";
import { lockAgent, updatePublished } from "./store.ts";
import { countVersions, insertVersion, readSource } from "./version-store.ts";

type PublishRequest = {
  /** By default the project that the namespace names. */
  projectId?: ProjectId | undefined;
  /** YAML or JSON text. */
  definition: string;
  /** Nobody waits for it any longer: if it has not begun, it does not. */
  signal?: AbortSignal | undefined;
};

/** A definition that has been checked, and its project. */
type CheckedDefinition = { projectId: ProjectId; definition: string; workflow: Workflow };

/**
 * Publishes a definition as a version of the agent it names, and creates the agent if there is none. Removes a draft with
 * the same text. Throws NOT_FOUND for the project, BAD_USER_INPUT with every problem of the text or if no project has its
 * namespace as its handle, CONFLICT if the version exists with another text, the agent is archived or there are as many
 * versions or agents as there may be, FORBIDDEN if the caller does not reach the agent.
 */
export async function publishAgent(
  agents: Agents,
  caller: Acting,
  { projectId, definition, signal }: PublishRequest,
): Promise<Agent> {
  const given = projectId && (await readProject(agents, caller, projectId));
  if (projectId && !given) throw notFound("Project");
  const workflow = await checkedWorkflow(agents, caller.organizationId, definition, { project: given?.handle, signal });
  const project = given ?? (await namedProject(agents, caller, definition, workflow.document));
  return publishWorkflow(agents, caller, { projectId: project.id, definition, workflow });
}

/** The project that a definition's namespace names, or BAD_USER_INPUT. */
export async function namedProject(
  agents: Agents,
  within: Within,
  definition: string,
  { namespace }: Pick<Workflow["document"], "namespace">,
): Promise<Project> {
  const project = await findProject(agents, within, namespace);
  if (project) return project;
  throw await misfit(agents, within.organizationId, definition, { part: "namespace", message: noProject(namespace) });
}

export const noProject = (namespace: string): string =>
  `there is no project with the handle ${namespace}, which is the definition's namespace: make it with \`createProject\` (\`autograph projects create ${namespace}\`), or choose one of \`{ projects { nodes { id handle } } }\``;

/** The names in a definition that do not fit what is here, with their place in the text. */
export async function misfit(
  agents: Agents,
  organizationId: OrganizationId,
  definition: string,
  { part, message }: { part: "namespace" | "name"; message: string },
): Promise<Refusal> {
  const problems = await agents.reading.run(organizationId, () =>
    placeInSlices(definition, [{ path: ["document", part], at: "value", message }]),
  );
  return badInput("invalid_definition", message, problems.map(fieldProblem));
}

/** The same for a definition that has been checked. */
export async function publishWorkflow(agents: Agents, caller: Acting, request: CheckedDefinition): Promise<Agent> {
  checkEvents(caller, request.workflow);
  await checkNames(agents, caller, request);
  const { agent, tell } = await agents.database.transaction(
    (query) => publish(agents, query, caller, request),
    caller.organizationId,
  );
  agents.cache.invalidate(agent.organizationId, agent.id);
  tell();
  return agent;
}

/** Runs before the transaction: its queries would wait for the connection that the transaction holds. Throws BAD_USER_INPUT. */
async function checkNames(
  agents: Agents,
  caller: Acting,
  { projectId, definition, workflow }: CheckedDefinition,
): Promise<void> {
  const findings = [
    ...(await agents.triggers.checkIn(agents, caller, projectId, workflow)),
    ...(await unknownConnections(agents, caller, projectId, workflow)),
    ...refusedCommands(agents.mcpCommands, workflow),
    ...(await refusedInputs(agents, caller, workflow)),
  ];
  if (findings.length === 0) return;
  const { organizationId } = caller;
  throw invalid(await agents.reading.run(organizationId, () => placeInSlices(definition, findings)));
}

function invalid(problems: Problem[]): Refusal {
  const fields = problems.slice(0, LIMITS.definitionProblems).map(fieldProblem);
  const count = fields.length === 1 ? "a problem" : `${fields.length} problems`;
  return badInput("invalid_definition", `the definition has ${count}: ${firstOf(problems)}`, fields);
}

async function checkedWorkflow(
  agents: Agents,
  organizationId: OrganizationId,
  definition: string,
  of: { project: string | undefined; signal: AbortSignal | undefined },
): Promise<Workflow> {
  const { workflow, problems } = await readChecked(agents, organizationId, definition, of);
  if (workflow) return workflow;
  throw invalid(problems);
}

/** Events belong to the whole organization, and not to the projects that a narrowed key reaches. Throws FORBIDDEN. */
function checkEvents({ reach }: Caller, workflow: Workflow): void {
  if (!reach) return;
  for (const { kind } of tasksIn(workflow)) {
    if (kind === "emit") throw needsWhole("an agent that emits events");
    if (kind === "listen") throw needsWhole("an agent that listens to events");
  }
}

/** Prefixes the path with `input.definition`. */
export const fieldProblem = ({ path, line, column, message }: Problem): FieldProblem => ({
  path: `input.definition${path}`,
  code: "invalid",
  message,
  line,
  column,
});

/** The first of them for a refusal's own sentence, with its place in the text. */
export const firstOf = ([first]: Problem[]): string =>
  first ? `line ${first.line}, column ${first.column}: ${first.message}` : "";

/** Before one more. The agent is locked. */
async function checkCount(query: Query, { organizationId, id, handle }: Agent): Promise<void> {
  const most = LIMITS.versionsPerAgent;
  if ((await countVersions(query, organizationId, id)) < most) return;
  throw conflict(
    "limit_reached",
    `an agent has at most ${most} versions, and ${handle} has them: publish one that there is, or under another name`,
  );
}

/** Concurrent publishes of one agent wait for each other at its row. */
async function publish(
  agents: Agents,
  query: Query,
  caller: Acting,
  { projectId, definition, workflow }: CheckedDefinition,
): Promise<{ agent: Agent; tell: () => void }> {
  const { organizationId } = caller;
  const { name: handle, version } = workflow.document;
  const shown = shownOf(workflow.document);
  const now = agents.clock.now();
  const locked = await lockAgent(query, caller, {
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
      "version_exists",
      `version ${version} of the agent ${handle} is already published with another text: raise the version`,
    );
  }
  if (known !== undefined && agent.publishedVersion === version) return { agent, tell: () => {} };
  if (known === undefined) {
    await checkCount(query, agent);
    await insertVersion(query, {
      organizationId,
      id: newId(),
      agentId: agent.id,
      version,
      source: definition,
      secrets: workflow.use?.secrets ?? [],
      createdBy: actorOf(caller),
      now,
    });
  }
  // The first publish makes a draft active; a paused agent stays paused.
  const status = agent.status === "draft" ? "active" : agent.status;
  const published = await updatePublished(query, { ...agent, ...shown, status, publishedVersion: version }, now);
  const subject = { kind: "agent", id: agent.id, name: published.name } as const;
  const triggers = await agents.triggers.publish(query, caller, published, workflow);
  const detail = {
    version,
    ...(agent.publishedVersion !== null && { from: agent.publishedVersion }),
    ...(triggers.detail && { triggers: triggers.detail }),
  };
  await record(query, whoOf(caller), now, { action: "agent_published", subject, detail });
  return { agent: published, tell: triggers.tell };
}
