/** The SQL of drafts: the text being worked on, at most one per agent, besides the published version. */
import type { Actor } from "../lib/actor.ts";
import type { AgentId, OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Query, Row } from "../storage/database.ts";
import type { Agent } from "./agent.ts";
import { agentOf, COLUMNS } from "./store.ts";

/** A draft as it was saved. */
export type Draft = {
  agentId: AgentId;
  /** Null: not read, as the drafts that were asked for together are larger than an answer may be. */
  text: string | null;
  /** Counts the saves of the agent's drafts; never starts again. */
  revision: number;
  savedAt: Date;
  savedBy: Actor;
};

/** `name` null: the agent keeps its own. `text` null: no draft. */
type NewDraft = Pick<Agent, "description" | "draftVersion"> & {
  name: string | null;
  text: string | null;
  savedBy: Actor;
  now: number;
  /** The revision of the draft that it replaces, 0 for none; undefined: whichever there is. */
  expectedRevision: number | undefined;
};

/**
 * An agent that was never published shows its draft's fields. Undefined if the agent's draft is not the expected one: of two
 * who save at once, this statement decides.
 */
export async function updateDraft(
  query: Query,
  { organizationId, id }: Pick<Agent, "organizationId" | "id">,
  { text, draftVersion, name, description, savedBy, now, expectedRevision }: NewDraft,
): Promise<Agent | undefined> {
  const [row] = await query(
    `update agents set draft = $3, draft_version = $4, updated_at = $7, draft_revision = draft_revision + 1,
        draft_saved_at = case when $3::text is not null then $7::timestamptz end,
        draft_saved_by_kind = case when $3::text is not null then $8::text end,
        draft_saved_by_id = case when $3::text is not null then $9::uuid end,
        name = case when published_version is null and $5::text is not null then $5 else name end,
        description = case when published_version is null and $5::text is not null then $6 else description end
      where organization_id = $1 and id = $2
        and ($10::integer is null or $10 = case when draft is null then 0 else draft_revision end)
      returning ${COLUMNS}`,
    [
      organizationId,
      id,
      text,
      draftVersion,
      name,
      description,
      new Date(now),
      savedBy.kind,
      savedBy.id,
      expectedRevision ?? null,
    ],
  );
  return row && agentOf(row);
}

/** Only a draft with this text, as another may have been saved meanwhile. Undefined if there is none. */
export async function deleteDraft(
  query: Query,
  { organizationId, id }: Pick<Agent, "organizationId" | "id">,
  text: string,
): Promise<Agent | undefined> {
  const [row] = await query(
    `update agents set draft = null, draft_version = null,
        draft_saved_at = null, draft_saved_by_kind = null, draft_saved_by_id = null
      where organization_id = $1 and id = $2 and draft = $3 returning ${COLUMNS}`,
    [organizationId, id, text],
  );
  return row && agentOf(row);
}

/** For those of `ids` that the organization has; null: none is saved. */
export async function readDraftRows(
  query: Query,
  organizationId: OrganizationId,
  ids: readonly AgentId[],
): Promise<Map<AgentId, Draft | null>> {
  const rows = await query(
    `select id, draft_revision, draft_saved_at, draft_saved_by_kind, draft_saved_by_id,
        case when sum(octet_length(draft)) over (order by id) <= $3 then draft end as draft
      from agents where organization_id = $1 and id = any($2::uuid[])`,
    [organizationId, ids, LIMITS.answerBytes],
    organizationId,
  );
  return new Map(rows.map((row) => [row["id"] as AgentId, draftOf(row)]));
}

/** The draft's text alone. */
export async function readDraftText(
  query: Query,
  organizationId: OrganizationId,
  id: AgentId,
): Promise<string | undefined> {
  return (await readDraftRows(query, organizationId, [id])).get(id)?.text ?? undefined;
}

const draftOf = (row: Row): Draft | null =>
  row["draft_saved_at"] && {
    agentId: row["id"],
    text: row["draft"],
    revision: row["draft_revision"],
    savedAt: row["draft_saved_at"],
    savedBy: { kind: row["draft_saved_by_kind"], id: row["draft_saved_by_id"] },
  };
