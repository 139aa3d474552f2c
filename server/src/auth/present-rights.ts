/** The rights of a caller at this moment. Admission may answer from memory that is 5 s old; work that outlives its caller asks here. */
import type { Query } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";
import { notSignedIn, type Caller } from "./caller.ts";
import { ROLE_SCOPES, scopesOf } from "./scopes.ts";

/** `role`: undefined for an API key. */
type Rights = { role: Role | undefined; scopes: Caller["scopes"] };

/**
 * Until the transaction ends, nobody revokes the key, changes the role or ends the membership. Throws UNAUTHENTICATED for a
 * key that is revoked, a session that has ended and somebody who is no member any longer.
 */
export async function lockRights(query: Query, { organizationId, credential, user }: Caller): Promise<Rights> {
  if (credential.kind === "key") {
    const [key] = await query(
      "select scopes from api_keys where organization_id = $1 and id = $2 and revoked_at is null for share",
      [organizationId, credential.keyId],
    );
    if (!key) throw notSignedIn();
    return { role: undefined, scopes: scopesOf(key["scopes"] as string[]) };
  }
  // Who acts for the operator has none (`ownerCaller`).
  const sessionId = credential.expiresAt === Number.POSITIVE_INFINITY ? null : credential.sessionId;
  const [member] = await query(
    `select role from members m where m.organization_id = $1 and m.user_id = $2
        and ($3::uuid is null or exists (
          select from sessions s where s.organization_id = $1 and s.id = $3 and s.revoked_at is null and s.left_at is null))
      for share of m`,
    [organizationId, user.id, sessionId],
  );
  if (!member) throw notSignedIn();
  const role = member["role"] as Role;
  return { role, scopes: ROLE_SCOPES[role] };
}
