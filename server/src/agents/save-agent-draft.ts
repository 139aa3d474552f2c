import { actorOf, type Caller } from "../auth/caller.ts";
import type { Project } from "../projects/project.ts";
import { readProject } from "../projects/projects.ts";
import { notOfProject } from "../definition/check-definition.ts";
import { readDocumentInSlices, type DocumentHead } from "../definition/read-document.ts";
import { unfitText } from "../definition/text/read-text.ts";
import type { Actor } from "../lib/actor.ts";
import { badInput, notFound, Refusal } from "../lib/errors.ts";
import { newId, type AgentId, type ProjectId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import type { Query } from "../storage/database.ts";
import { archived, shownOf, type Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readDraftRows, updateDraft, type Draft } from "./draft-store.ts";
import { fieldProblem, firstOf, misfit, namedProject } from "./publish-agent.ts";
import { lockAgent, readAgentRow } from "./store.ts";
import { readSource } from "./version-store.ts";

type SaveDraftRequest = {
  /** By default the agent's, else the one that the namespace names. */
  projectId?: ProjectId | undefined;
  /** The agent that the text must name; without it, whichever agent it names, created if there is none. */
  agentId?: AgentId | undefined;
  /** YAML or JSON text, or, with `agentId`, any text. */
  definition: string;
  /** The revision of the draft that it replaces, 0 for none; by default whichever there is. */
  expectedRevision?: number | undefined;
  /** Nobody waits for it any longer: if it has not begun, it does not. */
  signal?: AbortSignal | undefined;
};

/**
 * Saves a text as its agent's draft, replacing the previous one; the published version stays. Saving the published text
 * itself removes the draft. Throws NOT_FOUND for the project and the agent, BAD_USER_INPUT if the text does not name its
 * agent or names another, FORBIDDEN if the caller does not reach the agent, CONFLICT for an archived agent and if the draft
 * is not the expected one, unless it is this very one of the same caller: a save whose answer was lost is repeated.
 */
export async function saveAgentDraft(agents: Agents, caller: Caller, request: SaveDraftRequest): Promise<Agent> {
  checkRevision(request.expectedRevision);
  const { organizationId } = caller;
  const owner = request.agentId && (await readAgentRow(agents.database, caller, request.agentId));
  if (request.agentId && !owner) throw notFound("Agent");
  const given = request.projectId && (await readProject(agents, caller, request.projectId));
  if (request.projectId && !given) throw notFound("Project");
  if (owner && given) checkOwner(owner, given);
  const named = await agents.reading.run(organizationId, () => readHead(request.definition, owner), request.signal);
  const place = named
    ? await placeOf(agents, caller, request.definition, named, owner, given)
    : { projectId: owner!.projectId, handle: owner!.handle };
  const agent = await agents.database.transaction(
    (query) => save(agents, query, caller, { ...request, ...place, named }),
    organizationId,
  );
  agents.cache.invalidate(agent.organizationId, agent.id);
  return agent;
}

function checkRevision(revision: number | undefined): void {
  if (revision === undefined || revision >= 0) return;
  const message = "must be the revision of a draft, or 0 for none";
  throw badInput("invalid_input", `input.expectedRevision ${message}`, [
    { path: "input.expectedRevision", code: "out_of_range", message },
  ]);
}

function checkOwner(owner: Agent, { id }: Project): void {
  if (owner.projectId === id) return;
  const message = "is not the agent's project";
  throw badInput("invalid_input", `input.projectId ${message}`, [
    { path: "input.projectId", code: "differs", message },
  ]);
}

/** Undefined for a text that names no agent; one is known then. */
async function readHead(definition: string, owner: Agent | undefined): Promise<DocumentHead | undefined> {
  const { document, problems } = await readDocumentInSlices(definition);
  if (document || (owner && !unfitText(definition))) return document;
  const fields = problems.map(fieldProblem);
  throw badInput("invalid_definition", `the draft does not say which agent it is of: ${firstOf(problems)}`, fields);
}

type Place = Pick<Agent, "projectId" | "handle">;

/** Where the agent is that the text names, which must be the given one. */
async function placeOf(
  agents: Agents,
  within: Within,
  definition: string,
  document: DocumentHead,
  owner: Agent | undefined,
  given: Project | undefined,
): Promise<Place> {
  const known = given ?? (owner && (await readProject(agents, within, owner.projectId)));
  const { namespace, name } = document;
  const differs = (part: "namespace" | "name", message: string): Promise<Refusal> =>
    misfit(agents, within.organizationId, definition, { part, message });
  if (known && namespace !== known.handle) throw await differs("namespace", notOfProject(namespace, known.handle));
  if (owner && name !== owner.handle) throw await differs("name", notOfAgent(name, owner.handle));
  const { id: projectId } = known ?? (await namedProject(agents, within, definition, document));
  return { projectId, handle: name };
}

const notOfAgent = (name: string, handle: string): string =>
  `the draft's name is ${name}, the agent's handle is ${handle}, which never changes: leave agentId out to make another agent`;

type Saved = Pick<SaveDraftRequest, "definition" | "expectedRevision"> & Place & { named: DocumentHead | undefined };

async function save(
  agents: Agents,
  query: Query,
  caller: Caller,
  { definition, expectedRevision, projectId, handle, named }: Saved,
): Promise<Agent> {
  const { organizationId } = caller;
  const shown = named && shownOf(named);
  const now = agents.clock.now();
  const agent = await lockAgent(query, caller, {
    organizationId,
    id: newId(),
    projectId,
    handle,
    ...(shown ?? { name: handle, description: null }),
    status: "draft",
    now,
  });
  if (agent.status === "archived") throw archived(agent);
  const isPublished = definition === (await publishedText(query, agent));
  const text = isPublished ? null : definition;
  const savedBy = actorOf(caller);
  const saved = await updateDraft(query, agent, {
    text,
    draftVersion: isPublished ? null : (named?.version ?? null),
    name: shown?.name ?? null,
    description: shown?.description ?? null,
    savedBy,
    now,
    expectedRevision,
  });
  if (saved) return saved;
  const present = (await readDraftRows(query, organizationId, [agent.id])).get(agent.id) ?? null;
  if (isSame(present, text, savedBy)) return agent;
  throw draftChanged(present, caller);
}

function isSame(present: Draft | null, text: string | null, { kind, id }: Actor): boolean {
  if (present === null) return text === null;
  return present.text === text && present.savedBy.kind === kind && present.savedBy.id === id;
}

async function publishedText(
  query: Query,
  { organizationId, id, publishedVersion }: Agent,
): Promise<string | undefined> {
  return publishedVersion === null ? undefined : readSource(query, organizationId, id, publishedVersion);
}

/** With the present draft for a caller who may read it, so that the two can be merged. */
function draftChanged(present: Draft | null, { scopes }: Caller): Refusal {
  const message = present
    ? `the draft was saved meanwhile: it has revision ${present.revision}`
    : "the agent has no draft: expect revision 0";
  const shown = present && {
    definition: present.text!,
    revision: present.revision,
    savedAt: present.savedAt.toISOString(),
  };
  return new Refusal("CONFLICT", message, {
    reason: "draft_changed",
    ...(scopes.has("agents:read") && { draft: shown }),
  });
}
