import { readFormInSlices } from "../definition/read-form.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import type { Agents } from "./agents.ts";
import { readDraftRows, type Draft } from "./draft-store.ts";

/** The drafts of those of `ids` that the organization has, for a loader; null: none is saved. */
export const readDrafts = (
  agents: Agents,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Map<AgentId, Draft | null>> => readDraftRows(agents.database.query, organizationId, ids);

/** The input schema of a draft's text, in the organization's turn; undefined while it has none, or has mistakes. */
export const readDraftForm = (
  agents: Agents,
  organizationId: OrganizationId,
  text: string,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> => agents.reading.run(organizationId, () => readFormInSlices(text), signal);
