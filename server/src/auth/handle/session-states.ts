/**
 * The present state of sessions, read at most every 5 s for each, so that a revocation in any process is noticed by then, or
 * at once when that process could tell (realtime/notices.ts).
 */
import type { Clock } from "../../lib/clock.ts";
import { createFreshCache } from "../../lib/fresh-cache.ts";
import type { OrganizationId, SessionId, UserId } from "../../lib/ids.ts";
import type { Notices } from "../../realtime/notices.ts";
import type { Database } from "../../storage/database.ts";
import type { Role } from "../../storage/schema.ts";

/** The state of a session that is not revoked and whose user is still a member, without having left meanwhile. */
type SessionState = { userId: UserId; userName: string; role: Role };

export type SessionStates = {
  get(organizationId: OrganizationId, sessionId: SessionId): Promise<SessionState | undefined>;
  forget(organizationId: OrganizationId, sessionId: SessionId): void;
  /** After a change in this process: forgotten here and in others. */
  invalidate(organizationId: OrganizationId, sessionId: SessionId): void;
  /** After a membership changed or ended in this process: its sessions are forgotten here and in others. */
  invalidateMember(organizationId: OrganizationId, userId: UserId): void;
  /** After a change to many sessions. */
  clear(): void;
};

export const STATE_TTL_MS = 5_000;
const REMEMBERED = 10_000;

export function createSessionStates(
  database: Database,
  clock: Clock,
  notices: Pick<Notices, "send" | "on">,
): SessionStates {
  const cache = createFreshCache<string, SessionState>({
    clock,
    ttlMs: STATE_TTL_MS,
    most: REMEMBERED,
    load: (key) => readState(database, ...(key.split(" ") as [OrganizationId, SessionId])),
  });
  const forget = (organizationId: OrganizationId, sessionId: SessionId): void =>
    cache.forget(`${organizationId} ${sessionId}`);
  /** Looks at all that are remembered (0.5 ms): a membership changes rarely, and a session does not tell its user. */
  const forgetMember = (organizationId: OrganizationId, userId: UserId): void =>
    cache.forgetEach(
      (key, state) => key.startsWith(organizationId) && (state === undefined || state.userId === userId),
    );
  notices.on("session", forget);
  notices.on("member", forgetMember);
  return {
    get: (organizationId, sessionId) => cache.get(`${organizationId} ${sessionId}`),
    forget,
    invalidate(organizationId, sessionId) {
      forget(organizationId, sessionId);
      notices.send({ kind: "session", organizationId, id: sessionId });
    },
    invalidateMember(organizationId, userId) {
      forgetMember(organizationId, userId);
      notices.send({ kind: "member", organizationId, id: userId });
    },
    clear: () => cache.clear(),
  };
}

/** A session that moved to another organization is unknown in the one it left: a caller is in exactly one. */
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
      where s.organization_id = $1 and s.id = $2 and s.revoked_at is null and s.left_at is null`,
    [organizationId, sessionId],
    organizationId,
  );
  return row && { userId: row.user_id, userName: row.name, role: row.role };
}
