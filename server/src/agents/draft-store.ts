/** The SQL of drafts: the text that is being worked on, at most one an agent, beside what is published. */
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import { agentOf, COLUMNS } from "./store.ts";

export type Draft = Pick<Agent, "name" | "description" | "draftVersion"> & { text: string | null };

/** An agent that was never published is shown by its draft. */
export async function updateDraft(
  query: Query,
  { organizationId, id }: Pick<Agent, "organizationId" | "id">,
  draft: Draft,
  now: number,
): Promise<Agent> {
  const [row] = await query(
    `update agents set draft = $3, draft_version = $4, updated_at = $7,
        name = case when published_version is null then $5 else name end,
        description = case when published_version is null then $6 else description end
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    [organizationId, id, draft.text, draft.draftVersion, draft.name, draft.description, new Date(now)],
  );
  return agentOf(row!);
}

/** Only a draft of this text: another one was saved meanwhile. Undefined when there is none. */
export async function deleteDraft(
  query: Query,
  { organizationId, id }: Pick<Agent, "organizationId" | "id">,
  text: string,
): Promise<Agent | undefined> {
  const [row] = await query(
    `update agents set draft = null, draft_version = null
      where organization_id = $1 and id = $2 and draft = $3 returning ${COLUMNS}`,
    [organizationId, id, text],
  );
  return row && agentOf(row);
}

/** Of those of `ids` that the organization has; null: none is saved. */
export async function readDraftRows(
  query: Query,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Map<AgentId, string | null>> {
  const rows = await query(
    "select id, draft from agents where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ids],
    organizationId,
  );
  return new Map(rows.map((row) => [row["id"] as AgentId, row["draft"] as string | null]));
}
