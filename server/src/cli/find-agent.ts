/** The agent that a person means by its id, its handle or `project/handle`. */
import { hint } from "../definition/did-you-mean.ts";
import { OperatorError } from "../lib/errors.ts";
import type { Api } from "./api.ts";
import type { FieldType } from "./run-input.ts";

export type FoundAgent = { id: string; inputFields: FieldType[] };

type Listed = { id: string; handle: string; project: { id: string; handle: string } };

const LIST = "query { agents { id handle project { id handle } } }";
const FIND = "query ($id: ID!) { agent(id: $id) { id inputFields { name type } } }";

/** `project` (handle or id) chooses between agents of one handle. Throws OperatorError. */
export async function findAgent(api: Api, name: string, project?: string): Promise<FoundAgent> {
  const id = name.startsWith("agent_") ? name : (await byHandle(api, name, project)).id;
  return (await api.send<{ agent: FoundAgent }>(FIND, { id })).agent;
}

async function byHandle(api: Api, name: string, project: string | undefined): Promise<Listed> {
  const { agents } = await api.send<{ agents: Listed[] }>(LIST);
  const [handle = "", within = project] = name.split("/", 2).toReversed() as [string?, string?];
  const inProject = agents.filter(
    (agent) => within === undefined || agent.project.handle === within || agent.project.id === within,
  );
  const [found, ...others] = inProject.filter((agent) => agent.handle === handle);
  if (!found) throw new OperatorError(unknown(handle, within, inProject));
  if (others.length === 0) return found;
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
