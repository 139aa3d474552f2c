/** The mails that wait or were given up, for the operator: those of all organizations, without their texts. */
import type { Database } from "../storage/database.ts";

export type ListedMail = {
  state: "waiting" | "given up";
  kind: string;
  recipient: string;
  messageId: string;
  queuedAt: string;
  tries: number;
  /** Why the last try failed. */
  problem: string | null;
};

/** Newest first. */
export async function listMails(database: Database, first: number): Promise<{ items: ListedMail[]; hasMore: boolean }> {
  const rows = await database.query(
    `select kind, recipient, message_id, queued_at, tries, problem, gave_up_at from mails
      where organization_id is not null order by id desc limit $1`,
    [first + 1],
  );
  const items = rows.slice(0, first).map((row): ListedMail => ({
    state: row["gave_up_at"] === null ? "waiting" : "given up",
    kind: row["kind"],
    recipient: row["recipient"],
    messageId: row["message_id"],
    queuedAt: (row["queued_at"] as Date).toISOString(),
    tries: row["tries"],
    problem: row["problem"],
  }));
  return { items, hasMore: rows.length > first };
}
