import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { Agents } from "./agents.ts";
import { readDraftRows } from "./draft-store.ts";

/** The drafts of those of `ids` that the organization has, for a loader; null: none is saved. */
export const readDrafts = (
  agents: Agents,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Map<AgentId, string | null>> => readDraftRows(agents.database.query, organizationId, ids);
