import type { OrganizationId } from "../lib/ids.ts";
import type { Agent } from "./agent.ts";
import type { Agents } from "./agents.ts";
import { findAgentRow } from "./store.ts";

/** By the handles of its project and its own, as a definition names it. */
export const findAgent = (
  agents: Pick<Agents, "database">,
  organizationId: OrganizationId,
  project: string,
  handle: string,
): Promise<Agent | undefined> => findAgentRow(agents.database, organizationId, project, handle);
