/** How members are changed, removed and added: one change of an organization's members at a time. */
import { requireScope, type Caller } from "../auth/caller.ts";
import { lockRights } from "../auth/present-rights.ts";
import { conflict } from "../lib/errors.ts";
import type { OrganizationId, UserId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";
import type { Granter } from "./member.ts";
import type { Members } from "./members.ts";

/**
 * Each later statement sees what others have committed until then: of two owners who leave at the same moment, the second is
 * the last one, and of two who join, the second may be one too many. The lock is `no key`: rows that refer to the organization
 * are written meanwhile.
 */
export const lockMembers = (query: Query, organizationId: OrganizationId): Promise<unknown> =>
  query("select from organizations where id = $1 for no key update", [organizationId]);

/** The organization's members are locked first. */
export const changeMembers = <Result>(
  { auth }: Members,
  { organizationId }: Caller,
  work: (query: Query) => Promise<Result>,
): Promise<Result> =>
  auth.database.transaction(async (query) => {
    await lockMembers(query, organizationId);
    return work(query);
  }, organizationId);

/**
 * The caller as they are now, not as they were up to 5 s ago. Throws UNAUTHENTICATED for somebody who is no member any
 * longer and a key that is revoked, FORBIDDEN for one who may not administer any longer.
 */
export async function readGranter(query: Query, caller: Caller): Promise<Granter> {
  const { role, scopes } = await lockRights(query, caller);
  requireScope({ ...caller, scopes }, "admin");
  return { isOwner: role === "owner", scopes };
}

export async function readRole(
  query: Query,
  organizationId: OrganizationId,
  userId: UserId,
): Promise<Role | undefined> {
  const [row] = await query("select role from members where organization_id = $1 and user_id = $2", [
    organizationId,
    userId,
  ]);
  return row?.["role"];
}

/** Throws CONFLICT when nobody else is an owner. */
export async function requireOtherOwner(query: Query, organizationId: OrganizationId, userId: UserId): Promise<void> {
  const rows = await query(
    "select from members where organization_id = $1 and role = 'owner' and user_id <> $2 limit 1",
    [organizationId, userId],
  );
  if (rows.length === 0)
    throw conflict("last_owner", "an organization keeps at least one owner: make somebody else an owner first");
}
