/** The sentence that a run was reviewed from (run-drafts/): taken from its draft at the start, and kept with the run. */
import { startPart, type Brought, type Follower } from "../execution/journal/part.ts";
import { Refusal } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunDraftId, RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { RowSet, text, uuid, type RowOf } from "../storage/unnest.ts";
import type { Runs } from "./handle/runs.ts";

const DRAFT_TEXT = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  run_draft_id: uuid<RunDraftId>(),
  text: text(),
};

const ROWS = new RowSet<RowOf<typeof DRAFT_TEXT>>("given_draft", "draft_text_row", DRAFT_TEXT);

export const DRAFT_TEXTS = startPart<RowOf<typeof DRAFT_TEXT>, Follower>({
  code: "w",
  rows: ROWS,
  sql: (from) => `
      written_drafts as (
        insert into draft_texts (${ROWS.list})
        select ${ROWS.selected} from ${from} where (given_draft.run_id in (select id from live)) is true
        on conflict do nothing)`,
});

/** The draft that a run was reviewed from. */
export type TakenDraft = { id: RunDraftId; text: string };

export const draftToWrite = (
  { id: runId, organizationId }: { id: RunId; organizationId: OrganizationId },
  { id, text: sentence }: TakenDraft,
): Brought => {
  const row = { run_id: runId, organization_id: organizationId, run_draft_id: id, text: sentence };
  return DRAFT_TEXTS.row(row, sentence.length);
};

/** Unknown, expired, of another agent or of another organization: all alike. */
export class DraftNotFound extends Refusal {
  constructor() {
    const message = `is no draft of this agent from the last ${LIMITS.runDraftHours} hours`;
    super("NOT_FOUND", "Draft not found", { fields: [{ path: "input.runDraftId", code: "unknown", message }] });
  }
}

/** A draft for which no agent was found is any agent's: a person has chosen it since. Throws DraftNotFound. */
export async function takeDraft(
  { database, clock }: Runs,
  organizationId: OrganizationId,
  agentId: AgentId,
  draftId: RunDraftId,
): Promise<TakenDraft> {
  const [row] = await database.query(
    `select text from run_drafts
      where organization_id = $1 and id = $2 and expires_at > $3 and (agent_id is null or agent_id = $4)`,
    [organizationId, draftId, new Date(clock.now()), agentId],
    organizationId,
  );
  if (!row) throw new DraftNotFound();
  return { id: draftId, text: row["text"] as string };
}

/** Null: the run was not started from a sentence. */
export async function readDraftTexts(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  ids: readonly RunId[],
): Promise<Map<RunId, string | null>> {
  const found = new Map<RunId, string | null>(ids.map((id) => [id, null]));
  const rows = await database.query(
    "select run_id, text from draft_texts where organization_id = $1 and run_id = any($2::uuid[])",
    [organizationId, ids],
    organizationId,
  );
  for (const { run_id: id, text } of rows as { run_id: RunId; text: string }[]) found.set(id, text);
  return found;
}
