import { isPlainText } from "../auth/names.ts";
import type { Within } from "../lib/reach.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { findAgentRow, findAgentRowByHash } from "./store.ts";

/** By its project's handle and its own, as a definition names it. */
export const findAgent = async (
  agents: Pick<Agents, "database">,
  within: Within,
  project: string,
  handle: string,
): Promise<Agent | undefined> =>
  isPlainText(project) && isPlainText(handle) ? findAgentRow(agents.database, within, project, handle) : undefined;

/** By `<project>_<handle>`, of which the beginning and the first characters of the SHA-256 are known. */
export const findAgentByHash = (
  agents: Pick<Agents, "database">,
  within: Within,
  beginning: string,
  hash: string,
): Promise<Agent | undefined> => findAgentRowByHash(agents.database, within, beginning, hash);
