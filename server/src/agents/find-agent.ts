/** Agents by their names. Neither a project's handle nor an agent's ever changes, so a name that was found once is looked up no more. */
import { isPlainText } from "../lib/mail/email-address.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { reachedAgent, type Within } from "../lib/reach.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { readAgent } from "./published.ts";
import { findAgentRow, findAgentRowByHash } from "./store.ts";

/** By its project's handle and its own, as a definition names it. */
export const findAgent = async (
  agents: Agents,
  within: Within,
  project: string,
  handle: string,
): Promise<Agent | undefined> =>
  isPlainText(project) && isPlainText(handle)
    ? findOnce(agents, within, `${project}/${handle}`, (organizationId) =>
        findAgentRow(agents.database, organizationId, project, handle),
      )
    : undefined;

/** By `<project>_<handle>`, of which the beginning and the first characters of the SHA-256 are known. */
export const findAgentByHash = (
  agents: Agents,
  within: Within,
  beginning: string,
  hash: string,
): Promise<Agent | undefined> =>
  findOnce(agents, within, `${beginning}#${hash}`, (organizationId) =>
    findAgentRowByHash(agents.database, organizationId, beginning, hash),
  );

/** `name`: says the same agent for ever. What is not reached takes as long as what is not there, also when others looked for it. */
async function findOnce(
  agents: Agents,
  within: Within,
  name: string,
  find: (organizationId: OrganizationId) => Promise<Agent | undefined>,
): Promise<Agent | undefined> {
  const { organizationId } = within;
  const { names } = agents.cache;
  const id = names.get(organizationId, name);
  const known = id && (await readAgent(agents, within, id));
  if (known) return known;
  const found = reachedAgent(within, await find(organizationId));
  if (found) names.set(organizationId, name, found.id);
  return found;
}
