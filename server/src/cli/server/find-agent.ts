/** The agent that a person means by its id, its handle or `project/handle`. */
import { hint } from "../../lib/did-you-mean.ts";
import { OperatorError } from "../../lib/errors.ts";
import { ApiError, type Api } from "./api.ts";
import type { FieldType } from "../line/run-input.ts";

type Listed = { id: string; handle: string; project: { id: string; handle: string } };

const LIST = "query { agents { id handle project { id handle } } }";
const FIND_IN_PROJECT = `query ($project: String!, $agent: String!) {
  agentByHandle(project: $project, agent: $agent) { id }
}`;
const INPUT_FIELDS = "query ($id: ID!) { agent(id: $id) { inputFields { name type } } }";

/** Asked for only where pairs must be read: a key that may only start runs can't see the form. */
export async function inputFieldsOf(api: Api, id: string, pairs: readonly string[]): Promise<FieldType[]> {
  if (pairs.length === 0) return [];
  return (await api.send<{ agent: { inputFields: FieldType[] } }>(INPUT_FIELDS, { id })).agent.inputFields;
}

/**
 * `project` (handle or id) chooses between agents with the same handle. Throws OperatorError. Of an id, whether there is
 * such an agent is not asked. An archived one is found by its id or its project and handle.
 */
export async function findAgentId(api: Api, name: string, project?: string): Promise<string> {
  if (name.startsWith("agent_")) return name;
  const [handle = "", within = project] = name.split("/", 2).toReversed() as [string?, string?];
  return (within === undefined ? undefined : await inProject(api, within, handle)) ?? byHandle(api, handle, within);
}

/** Undefined if there is none, or `project` is an id. */
async function inProject(api: Api, project: string, agent: string): Promise<string | undefined> {
  if (project.startsWith("project_")) return undefined;
  try {
    return (await api.send<{ agentByHandle: { id: string } }>(FIND_IN_PROJECT, { project, agent })).agentByHandle.id;
  } catch (error) {
    if (error instanceof ApiError && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

/** Among all, for who leaves the project out or mistyped: the refusal says what is near. */
async function byHandle(api: Api, handle: string, within: string | undefined): Promise<string> {
  const { agents } = await api.send<{ agents: Listed[] }>(LIST);
  const candidates = agents.filter(
    (agent) => within === undefined || agent.project.handle === within || agent.project.id === within,
  );
  const [found, ...others] = candidates.filter((agent) => agent.handle === handle);
  if (!found) throw new OperatorError(unknown(handle, within, candidates));
  if (others.length === 0) return found.id;
  const choices = [found, ...others].map((agent) => `${agent.project.handle}/${handle}`);
  throw new OperatorError(`${choices.length} projects have an agent ${handle}: say which, as ${choices.join(" or ")}`);
}

function unknown(handle: string, within: string | undefined, agents: readonly Listed[]): string {
  const where = within === undefined ? "" : ` in the project ${within}`;
  return `there is no agent ${JSON.stringify(handle)}${where}${hint(
    handle,
    agents.map((agent) => agent.handle),
  )}`;
}
