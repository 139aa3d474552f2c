/** Agents as lists. */
import type { Caller } from "../auth/caller.ts";
import { isPlainText } from "../lib/mail/email-address.ts";
import { refuseProblems } from "../auth/names.ts";
import { readProject } from "../projects/projects.ts";
import { notFound, type FieldProblem } from "../lib/errors.ts";
import type { AgentId, ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Within } from "../lib/reach.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { listAgentRows, pageOfAgentRows, readAgentRows, type AgentFilter, type AgentOrder } from "./store.ts";

/** By name, without archived ones, at most `LIMITS.agentsListed`. Throws NOT_FOUND for the project. */
export async function listAgents(
  agents: Agents,
  caller: Caller,
  { projectId }: { projectId?: ProjectId | undefined } = {},
): Promise<Agent[]> {
  await checkProject(agents, caller, projectId);
  return listAgentRows(agents.database, caller, {
    projectId,
    most: LIMITS.agentsListed,
  });
}

/**
 * Newest first or by name, archived ones too unless the filter says otherwise; `after` is an agent's id. Its ids are of the organization.
 * Throws BAD_USER_INPUT.
 */
export async function pageOfAgents(
  agents: Agents,
  caller: Caller,
  request: PageRequest,
  filter: AgentFilter = {},
  order: AgentOrder = "newest",
): Promise<Page<Agent>> {
  const page = checkPage(request);
  if (filter.text !== undefined) refuseProblems([textProblem(filter.text, "filter.text")]);
  const wanted = { ...filter, text: filter.text?.normalize("NFC") };
  return pageOf(await pageOfAgentRows(agents.database, caller, page, wanted, order), page.first);
}

/** A longer text is part of no name. */
function textProblem(text: string, path: string): FieldProblem | undefined {
  if (text.length > LIMITS.nameCharacters) {
    return { path, code: "too_long", message: `must have at most ${LIMITS.nameCharacters} characters` };
  }
  if (isPlainText(text)) return undefined;
  return { path, code: "invalid", message: "must not contain control characters or lone surrogates" };
}

async function checkProject(agents: Agents, caller: Caller, projectId: ProjectId | undefined): Promise<void> {
  if (projectId !== undefined && !(await readProject(agents, caller, projectId))) throw notFound("Project");
}

/** Those of `ids` that there are, for a loader. */
export async function readAgents(
  agents: Agents,
  within: Within,
  ids: readonly AgentId[],
): Promise<Map<AgentId, Agent>> {
  const found = await readAgentRows(agents.database, within, ids);
  return new Map(found.map((agent) => [agent.id, agent]));
}
