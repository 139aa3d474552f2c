import type { Caller } from "../auth/caller.ts";
import { readProject } from "../auth/projects.ts";
import { readDocumentInSlices, type DocumentHead } from "../definition/read-document.ts";
import { badInput, notFound } from "../lib/errors.ts";
import { newId, type AgentId, type OrganizationId, type ProjectId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import { archived, shownOf, type Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { updateDraft } from "./draft-store.ts";
import { checkNamespace, fieldProblem } from "./publish-agent.ts";
import { lockAgent, readAgentRow, readSource } from "./store.ts";

export type SaveDraftRequest = {
  projectId: ProjectId;
  /** The agent that the text must be of; without it the one that it names, which is made when there is none. */
  agentId?: AgentId | undefined;
  /** YAML or JSON text, which may be broken but for its namespace and name. */
  definition: string;
};

/**
 * Keeps a text as its agent's draft, in place of the one before; what is published stays. The published text itself is
 * no draft: with it there is none any more. Throws NOT_FOUND for the project and the agent, BAD_USER_INPUT when the text
 * does not say whose it is or names another, CONFLICT for an archived agent.
 */
export async function saveAgentDraft(agents: Agents, caller: Caller, request: SaveDraftRequest): Promise<Agent> {
  const project = await readProject(agents, caller.organizationId, request.projectId);
  if (!project) throw notFound("Project");
  const owner = request.agentId && (await readOwner(agents, caller.organizationId, request.agentId));
  const document = await agents.reading.run(caller.organizationId, () => readHead(request.definition));
  checkNamespace(document, project);
  if (owner) checkOwner(owner, request.projectId, document);
  const agent = await agents.database.transaction(
    (query) => save(agents, query, caller, request, document),
    caller.organizationId,
  );
  agents.cache.invalidate(agent.organizationId, agent.id);
  return agent;
}

async function readOwner(agents: Agents, organizationId: OrganizationId, id: AgentId): Promise<Agent> {
  const agent = await readAgentRow(agents.database, organizationId, id);
  if (!agent) throw notFound("Agent");
  return agent;
}

async function readHead(definition: string): Promise<DocumentHead> {
  const { document, problems } = await readDocumentInSlices(definition);
  if (document) return document;
  const fields = problems.map(fieldProblem);
  throw badInput(`the draft does not say which agent it is of: ${fields[0]?.message}`, fields);
}

function checkOwner({ handle, projectId }: Agent, given: ProjectId, { name }: DocumentHead): void {
  if (projectId !== given) {
    const message = "is not the agent's project";
    throw badInput(`input.projectId ${message}`, [{ path: "input.projectId", code: "differs", message }]);
  }
  if (name === handle) return;
  const message = `the draft's name is ${name}, the agent's handle is ${handle}, which never changes: leave agentId out to make another agent`;
  throw badInput(message, [{ path: "input.definition/document/name", code: "definition", message }]);
}

async function save(
  agents: Agents,
  query: Query,
  { organizationId }: Caller,
  { projectId, definition }: SaveDraftRequest,
  document: DocumentHead,
): Promise<Agent> {
  const shown = shownOf(document);
  const now = agents.clock.now();
  const agent = await lockAgent(query, {
    organizationId,
    id: newId(),
    projectId,
    handle: document.name,
    ...shown,
    status: "draft",
    now,
  });
  if (agent.status === "archived") throw archived(agent);
  const isPublished = definition === (await publishedText(query, agent));
  const draft = isPublished ? NO_DRAFT : { text: definition, draftVersion: document.version ?? null };
  return updateDraft(query, agent, { ...shown, ...draft }, now);
}

const NO_DRAFT = { text: null, draftVersion: null };

async function publishedText(
  query: Query,
  { organizationId, id, publishedVersion }: Agent,
): Promise<string | undefined> {
  return publishedVersion === null ? undefined : readSource(query, organizationId, id, publishedVersion);
}
