/** Keeps run drafts for a day. */
import type { Agents } from "../agents/agents.ts";
import type { Clock } from "../lib/clock.ts";
import type { AgentId, OrganizationId, RunDraftId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop } from "../lib/loops/loop.ts";
import type { Llm } from "../llm/llm.ts";
import type { Models } from "../models/models.ts";
import type { Database } from "../storage/database.ts";

/** The room's handle. */
export type RunDrafts = {
  database: Database;
  clock: Clock;
  log: Log;
  agents: Agents;
  models: Models;
  llm: Llm;
};

type KeptRunDraft = { id: RunDraftId; agent: { id: AgentId } | null; text: string; expiresAt: Date };

/** Beyond `LIMITS.runDrafts` the organization's oldest go. */
export async function keepRunDraft(
  { database }: Pick<RunDrafts, "database">,
  organizationId: OrganizationId,
  { id, agent, text, expiresAt }: KeptRunDraft,
): Promise<void> {
  await database.query(
    `with beyond as (
  delete from run_drafts where organization_id = $1 and id in (
    select id from run_drafts where organization_id = $1 order by id desc offset $6))
insert into run_drafts (organization_id, id, agent_id, text, expires_at) values ($1, $2, $3, $4, $5)`,
    [organizationId, id, agent?.id ?? null, text, expiresAt, LIMITS.runDrafts - 1],
    organizationId,
  );
}

const FORGET_EVERY_MS = 600_000;

/** Deletes expired drafts of all organizations every ten minutes. */
export const forgetRunDrafts = ({ database, clock, log }: Omit<RunDrafts, "agents" | "models" | "llm">): Loop =>
  new Loop({
    clock,
    log,
    name: "old-drafts",
    everyMs: FORGET_EVERY_MS,
    look: async () => {
      const old = "delete from run_drafts where organization_id is not null and expires_at <= $1";
      await database.query(old, [new Date(clock.now())]);
    },
    failed: "expired drafts of runs were not deleted",
  }).start(clock.now() + FORGET_EVERY_MS);
