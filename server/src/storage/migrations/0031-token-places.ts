/**
 * A token is looked up with the agent that it is called at: one that is good at another agent is no entry of the index, like one that
 * never was, so the look-up takes as long. Those whose time is over are deleted.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "alter table webhook_tokens drop constraint webhook_tokens_hash_key",
  "create unique index webhook_tokens_place on webhook_tokens (hash, agent_id)",
  "create index webhook_tokens_replaced on webhook_tokens (expires_at) where expires_at is not null",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
