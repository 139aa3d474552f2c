/**
 * What a session is worth now: read at most every 5 s and session, so that a revocation anywhere is seen within that; at
 * once when the process that made it could tell (realtime/notices.ts).
 */
import type { Clock } from "../lib/clock.ts";
import { createFreshCache, type TellChange } from "../lib/fresh-cache.ts";
import type { OrganizationId, SessionId, UserId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";

/** Of a session that is neither revoked nor without its membership. */
export type SessionState = { userId: UserId; userName: string; role: Role };

export type SessionStates = {
  get(organizationId: OrganizationId, sessionId: SessionId): Promise<SessionState | undefined>;
  forget(organizationId: OrganizationId, sessionId: SessionId): void;
  /** After a change in this process: forgotten here and in others. */
  invalidate(organizationId: OrganizationId, sessionId: SessionId): void;
  /** After a change to many sessions or to a membership. */
  clear(): void;
};

export const STATE_TTL_MS = 5_000;
const REMEMBERED = 10_000;

export function createSessionStates(database: Database, clock: Clock, tell: TellChange): SessionStates {
  const cache = createFreshCache<string, SessionState>({
    clock,
    ttlMs: STATE_TTL_MS,
    most: REMEMBERED,
    load: (key) => readState(database, ...(key.split(" ") as [OrganizationId, SessionId])),
  });
  const forget = (organizationId: OrganizationId, sessionId: SessionId): void =>
    cache.forget(`${organizationId} ${sessionId}`);
  return {
    get: (organizationId, sessionId) => cache.get(`${organizationId} ${sessionId}`),
    forget,
    invalidate(organizationId, sessionId) {
      forget(organizationId, sessionId);
      tell("session", organizationId, sessionId);
    },
    clear: () => cache.clear(),
  };
}

/** A session that moved to another organization is unknown in the former: a caller is in exactly one. */
async function readState(
  database: Database,
  organizationId: OrganizationId,
  sessionId: SessionId,
): Promise<SessionState | undefined> {
  const [row] = await database.query(
    `select s.user_id, u.name, m.role
       from sessions s
       join users u on u.id = s.user_id
       join members m on m.organization_id = s.organization_id and m.user_id = s.user_id
      where s.organization_id = $1 and s.id = $2 and s.revoked_at is null`,
    [organizationId, sessionId],
    organizationId,
  );
  return row && { userId: row.user_id, userName: row.name, role: row.role };
}
