/** The SQL of sessions. A session is in one organization at a time; `generation` counts its refresh tokens. */
import type { OrganizationId, SessionId, UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";
import type { Client } from "./caller.ts";
import { REFRESH_LIFE_MS } from "./session.ts";

export type NewSession = {
  id: SessionId;
  organizationId: OrganizationId;
  userId: UserId;
  client: Client;
  secretHash: Buffer;
  now: number;
};

/** Also notes the organization last used, and clears the user's sessions that ended long ago. */
export const insertSession = (database: Database, session: NewSession): Promise<unknown> =>
  database.query(
    `with used as (update users set last_organization_id = $1 where id = $3 and last_organization_id is distinct from $1),
          ended as (delete from sessions where user_id = $3 and expires_at < $6)
     insert into sessions (organization_id, id, user_id, client, generation, secret_hash, created_at, refreshed_at, expires_at)
     values ($1, $2, $3, $4, 1, $5, $6, $6, $7)`,
    [
      session.organizationId,
      session.id,
      session.userId,
      session.client,
      session.secretHash,
      new Date(session.now),
      new Date(session.now + REFRESH_LIFE_MS),
    ],
    session.organizationId,
  );

/** A refresh token that was sent, and the one that replaces it. */
export type Rotation = {
  sessionId: SessionId;
  generation: number;
  secretHash: Buffer;
  nextSecretHash: Buffer;
  /** The organization to move to. Default: the session's own. */
  organizationId?: OrganizationId | undefined;
  now: number;
};
export type Rotated = {
  organizationId: OrganizationId;
  formerOrganizationId: OrganizationId;
  userId: UserId;
  email: string;
  client: Client;
  /** Of the token that is good from now on: the next one, or the one that was sent. */
  generation: number;
};

/**
 * A session of the web UI that was refreshed a moment ago keeps its token: another tab may have had the same one. Clocks of
 * two processes differ, and one may be set back.
 */
const isHeld = (now: string): string =>
  `(s.client = 'ui' and abs(extract(epoch from s.refreshed_at - ${now}::timestamptz)) < ${LIMITS.uiRefreshGraceSeconds})`;

/**
 * Compare-and-set on the token in use: of two refreshes at the same time one gets nothing. The user must be a member. A session
 * that is held takes the token before as well, and stays at the one that it has.
 */
export async function rotateSession(database: Database, rotation: Rotation): Promise<Rotated | undefined> {
  const [row] = await database.query(
    `with former as (select organization_id, user_id from sessions where id = $1),
          rotated as (
            update sessions s
               set organization_id = m.organization_id,
                   generation = case when ${isHeld("$6")} then s.generation else $2 + 1 end,
                   secret_hash = case when ${isHeld("$6")} then s.secret_hash else $4 end,
                   refreshed_at = case when ${isHeld("$6")} then s.refreshed_at else $6 end,
                   expires_at = case when ${isHeld("$6")} then s.expires_at else $7 end
              from members m
             where s.id = $1 and s.revoked_at is null and s.expires_at > $6
               and (s.generation = $2 and s.secret_hash = $3
                 or s.generation = $2 + 1 and s.secret_hash = $4 and ${isHeld("$6")})
               and m.user_id = s.user_id and m.organization_id = coalesce($5::uuid, s.organization_id)
            returning s.organization_id, s.user_id, s.client, s.generation),
          used as (
            update users u set last_organization_id = rotated.organization_id from rotated
             where u.id = rotated.user_id and u.last_organization_id is distinct from rotated.organization_id)
     select rotated.*, former.organization_id as former_organization_id, users.email
       from rotated cross join former join users on users.id = rotated.user_id`,
    [
      rotation.sessionId,
      rotation.generation,
      rotation.secretHash,
      rotation.nextSecretHash,
      rotation.organizationId ?? null,
      new Date(rotation.now),
      new Date(rotation.now + REFRESH_LIFE_MS),
    ],
  );
  if (!row) return undefined;
  return {
    organizationId: row.organization_id,
    formerOrganizationId: row.former_organization_id,
    userId: row.user_id,
    email: row.email,
    client: row.client,
    generation: row.generation,
  };
}

export type SessionRow = {
  organizationId: OrganizationId;
  userId: UserId;
  generation: number;
  isLive: boolean;
  isHeld: boolean;
};

export async function readSession(database: Database, id: SessionId, now: number): Promise<SessionRow | undefined> {
  const [row] = await database.query(
    `select organization_id, user_id, generation, revoked_at is null and expires_at > $2 as is_live, ${isHeld("$2")} as is_held
       from sessions s where id = $1`,
    [id, new Date(now)],
  );
  return (
    row && {
      organizationId: row.organization_id,
      userId: row.user_id,
      generation: row.generation,
      isLive: row.is_live,
      isHeld: row.is_held,
    }
  );
}

export const revokeSession = (
  database: Database,
  organizationId: OrganizationId,
  id: SessionId,
  now: number,
): Promise<unknown> =>
  database.query(
    "update sessions set revoked_at = $3 where organization_id = $1 and id = $2 and revoked_at is null",
    [organizationId, id, new Date(now)],
    organizationId,
  );
