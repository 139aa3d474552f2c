/** The SQL of links to set a new password. A row is a link that nobody has used. A new password takes all of its user's. */
import type { UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database, Query } from "../../storage/database.ts";

type NewReset = { userId: UserId; secretHash: Buffer; now: number; expiresAt: number };

/** Clears the user's that have expired. False: the user has as many as they may. The caller holds the user's row. */
export async function insertReset(query: Query, { userId, secretHash, now, expiresAt }: NewReset): Promise<boolean> {
  await query("delete from password_resets where user_id = $1 and expires_at <= $2", [userId, new Date(now)]);
  const rows = await query(
    `insert into password_resets (secret_hash, user_id, expires_at)
     select $1, $2, $3 where (select count(*) from password_resets where user_id = $2) < $4::int
     returning user_id`,
    [secretHash, userId, new Date(expiresAt), LIMITS.passwordResetsPerUser],
  );
  return rows.length > 0;
}

export type OpenReset = { userId: UserId; email: string };

export async function readReset(database: Database, secretHash: Buffer, now: number): Promise<OpenReset | undefined> {
  const [row] = await database.query(
    `select u.id, u.email from password_resets r join users u on u.id = r.user_id
      where r.secret_hash = $1 and r.expires_at > $2`,
    [secretHash, new Date(now)],
    "strangers",
  );
  return row && { userId: row["id"], email: row["email"] };
}

/** Whether the link is good. The caller holds the user's row, and then takes all links of the user. */
export async function holdsReset(query: Query, userId: UserId, secretHash: Buffer, now: number): Promise<boolean> {
  const rows = await query("select from password_resets where secret_hash = $1 and user_id = $2 and expires_at > $3", [
    secretHash,
    userId,
    new Date(now),
  ]);
  return rows.length > 0;
}

export const deleteResets = (query: Query, userId: UserId): Promise<unknown> =>
  query("delete from password_resets where user_id = $1", [userId]);
