/**
 * The SQL of sessions. A session is in one organization at a time; `generation` counts its refresh tokens. Anyone who opens, moves
 * or ends sessions of a user, ends a membership, or sets the password, holds the user's row first, so that none is opened with
 * what was just made void. When a membership ends, the sessions that are in its organization have left (`left_at`): they may
 * move to another one, and never come back to life by a new membership.
 */
import type { OrganizationId, SessionId, UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import type { Database, Query, Row } from "../../storage/database.ts";
import type { Client } from "../caller.ts";
import { COLUMNS as ORGANIZATION, organizationOf, type Organization } from "../organization.ts";
import { REFRESH_LIFE_MS } from "./session.ts";

/** Until the transaction ends, no other one opens or ends sessions of the user. Answers the password's hash. */
export async function holdUser(query: Query, userId: UserId): Promise<string | undefined> {
  const [row] = await query("select password_hash from users where id = $1 for no key update", [userId]);
  return row?.["password_hash"];
}

/** The same for the user of a session. False when there is no such session. */
export async function holdUserOf(query: Query, id: SessionId): Promise<boolean> {
  const rows = await query(
    "select s.organization_id from sessions s join users u on u.id = s.user_id where s.id = $1 for no key update of u",
    [id],
  );
  return rows.length > 0;
}

export type NewSession = {
  id: SessionId;
  organizationId: OrganizationId;
  userId: UserId;
  client: Client;
  secretHash: Buffer;
  address: string | null;
  userAgent: string | null;
  now: number;
};

/** Where a session is, and which one. */
export type SessionPlace = { organizationId: OrganizationId; id: SessionId };

/**
 * Also notes the organization last used, and clears the user's sessions that have ended. Answers those that end because the
 * user has too many: the ones used least recently.
 */
export async function insertSession(query: Query, session: NewSession): Promise<SessionPlace[]> {
  const rows = await query(
    `with used as (update users set last_organization_id = $1 where id = $3 and last_organization_id is distinct from $1),
          ended as (delete from sessions where user_id = $3 and (revoked_at is not null or expires_at <= $6)),
          opened as (
            insert into sessions (organization_id, id, user_id, client, generation, secret_hash, created_at, refreshed_at, expires_at, address, user_agent)
            values ($1, $2, $3, $4, 1, $5, $6, $6, $7, $8, $9))
     delete from sessions where user_id = $3 and id in (
       select id from sessions where user_id = $3 and revoked_at is null and expires_at > $6
        order by refreshed_at desc, id desc offset $10::int - 1)
     returning organization_id, id`,
    [
      session.organizationId,
      session.id,
      session.userId,
      session.client,
      session.secretHash,
      new Date(session.now),
      new Date(session.now + REFRESH_LIFE_MS),
      session.address,
      session.userAgent,
      LIMITS.sessionsPerUser,
    ],
  );
  return rows.map(placeOf);
}

const placeOf = (row: Row): SessionPlace => ({ organizationId: row["organization_id"], id: row["id"] });

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
  /** The number of the token that is good from now on: the next one, or the one that was sent. */
  generation: number;
};

/**
 * A session of the web UI that was refreshed a moment ago keeps its token: another tab may have had the same one. Clocks of
 * two processes differ, and one may be set back.
 */
const isHeld = (now: string): string =>
  `(s.client = 'ui' and abs(extract(epoch from s.refreshed_at - ${now}::timestamptz)) < ${LIMITS.uiRefreshGraceSeconds})`;

/**
 * Compare-and-set on the token in use: of two refreshes at the same time one gets nothing. The user, whose row is held, must be
 * a member. A session that is held takes the token before as well, and stays at the one that it has.
 */
export async function rotateSession(query: Query, rotation: Rotation): Promise<Rotated | undefined> {
  const [row] = await query(
    `with former as (select organization_id, user_id from sessions where id = $1),
          rotated as (
            update sessions s
               set organization_id = m.organization_id,
                   left_at = null,
                   generation = case when ${isHeld("$6")} then s.generation else $2 + 1 end,
                   secret_hash = case when ${isHeld("$6")} then s.secret_hash else $4 end,
                   refreshed_at = case when ${isHeld("$6")} then s.refreshed_at else $6 end,
                   expires_at = case when ${isHeld("$6")} then s.expires_at else $7 end
              from members m
             where s.id = $1 and s.revoked_at is null and s.expires_at > $6
               and (s.generation = $2 and s.secret_hash = $3
                 or s.generation = $2 + 1 and s.secret_hash = $4 and ${isHeld("$6")})
               and m.user_id = s.user_id and m.organization_id = coalesce($5::uuid, s.organization_id)
               and (s.left_at is null or s.organization_id <> m.organization_id)
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
    organizationId: row["organization_id"],
    formerOrganizationId: row["former_organization_id"],
    userId: row["user_id"],
    email: row["email"],
    client: row["client"],
    generation: row["generation"],
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
      organizationId: row["organization_id"],
      userId: row["user_id"],
      generation: row["generation"],
      isLive: row.is_live,
      isHeld: row.is_held,
    }
  );
}

/** False when it was revoked before. */
export async function revokeSession(
  query: Query,
  organizationId: OrganizationId,
  id: SessionId,
  now: number,
): Promise<boolean> {
  const rows = await query(
    "update sessions set revoked_at = $3 where organization_id = $1 and id = $2 and revoked_at is null returning id",
    [organizationId, id, new Date(now)],
  );
  return rows.length > 0;
}

/** A session that has not ended, as its user sees it. `organization`: null when the user has left it. */
export type LiveSession = {
  id: SessionId;
  organization: Organization | null;
  client: Client;
  address: string | null;
  userAgent: string | null;
  createdAt: Date;
  refreshedAt: Date;
  expiresAt: Date;
};

const COLUMNS = `s.id as session_id, s.client, s.address, s.user_agent, s.created_at as opened_at, s.refreshed_at, s.expires_at,
  ${ORGANIZATION}`;

const liveSessionOf = (row: Row): LiveSession => ({
  id: row["session_id"],
  organization: row["id"] === null ? null : organizationOf(row),
  client: row["client"],
  address: row["address"],
  userAgent: row["user_agent"],
  createdAt: row["opened_at"],
  refreshedAt: row["refreshed_at"],
  expiresAt: row["expires_at"],
});

/** The user and the organization of the sessions, and the time. */
export type Asked = { userId: UserId; organizationId: OrganizationId; now: number };

/** In all organizations, newest first. */
export async function pageOfSessions(
  database: Database,
  { userId, organizationId, now }: Asked,
  { first, after }: PageRequest,
): Promise<Page<LiveSession>> {
  const rows = await database.query(
    `select ${COLUMNS} from sessions s
      left join (members m join organizations o on o.id = m.organization_id)
        on m.organization_id = s.organization_id and m.user_id = s.user_id and s.left_at is null
      where s.user_id = $1 and s.revoked_at is null and s.expires_at > $2 and ($3::uuid is null or s.id < $3)
      order by s.id desc limit $4`,
    [userId, new Date(now), after ?? null, first + 1],
    organizationId,
  );
  return pageOf(rows.map(liveSessionOf), first);
}

export async function readLiveSession(
  database: Database,
  { userId, organizationId, now }: Asked,
  id: SessionId,
): Promise<LiveSession | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from sessions s
      left join (members m join organizations o on o.id = m.organization_id)
        on m.organization_id = s.organization_id and m.user_id = s.user_id and s.left_at is null
      where s.user_id = $1 and s.id = $3 and s.revoked_at is null and s.expires_at > $2`,
    [userId, new Date(now), id],
    organizationId,
  );
  return row && liveSessionOf(row);
}

/** Undefined when the user has no such session. */
export async function revokeLiveSession(
  query: Query,
  { userId, now }: Pick<Asked, "userId" | "now">,
  id: SessionId,
): Promise<{ session: LiveSession; place: SessionPlace } | undefined> {
  const [row] = await query(
    `with s as (
       update sessions set revoked_at = $2 where user_id = $1 and id = $3 and revoked_at is null and expires_at > $2 returning *)
     select ${COLUMNS}, s.organization_id from s
       left join (members m join organizations o on o.id = m.organization_id)
         on m.organization_id = s.organization_id and m.user_id = s.user_id and s.left_at is null`,
    [userId, new Date(now), id],
  );
  return row && { session: liveSessionOf(row), place: { id, organizationId: row["organization_id"] } };
}

/** All of the user's, but for `except`. The user's row is held. */
export async function revokeSessions(
  query: Query,
  { userId, except, now }: { userId: UserId; except?: SessionId | undefined; now: number },
): Promise<SessionPlace[]> {
  const rows = await query(
    `update sessions set revoked_at = $3
      where user_id = $1 and ($2::uuid is null or id <> $2) and revoked_at is null and expires_at > $3
     returning organization_id, id`,
    [userId, except ?? null, new Date(now)],
  );
  return rows.map(placeOf);
}

/** The user's row is held. */
export async function isLive(query: Query, { organizationId, id }: SessionPlace): Promise<boolean> {
  const [row] = await query(
    "select 1 as live from sessions where organization_id = $1 and id = $2 and revoked_at is null and left_at is null",
    [organizationId, id],
  );
  return row !== undefined;
}

/** Those of a membership that ends. The user's row is held. */
export const leaveSessions = (
  query: Query,
  { organizationId, userId, now }: { organizationId: OrganizationId; userId: UserId; now: number },
): Promise<unknown> =>
  query("update sessions set left_at = $3 where organization_id = $1 and user_id = $2 and left_at is null", [
    organizationId,
    userId,
    new Date(now),
  ]);

/** The user's row is held. */
export async function isMember(query: Query, organizationId: OrganizationId, userId: UserId): Promise<boolean> {
  const rows = await query("select from members where organization_id = $1 and user_id = $2", [organizationId, userId]);
  return rows.length > 0;
}
