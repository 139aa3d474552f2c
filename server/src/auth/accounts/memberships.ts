import type { UserId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Role } from "../../storage/schema.ts";
import type { Auth } from "../handle/auth.ts";
import { COLUMNS, organizationOf, type Organization } from "../organization.ts";

/** An organization that a user is a member of, and as what. */
export type Membership = { organization: Organization; role: Role };

/** By the organization's name, at most `LIMITS.membershipsListed`. */
export async function listMemberships({ database }: Auth, userId: UserId): Promise<Membership[]> {
  const rows = await database.query(
    `select ${COLUMNS}, m.role from members m join organizations o on o.id = m.organization_id
      where m.user_id = $1 order by o.name, o.id limit $2`,
    [userId, LIMITS.membershipsListed],
  );
  return rows.map((row) => ({ organization: organizationOf(row), role: row["role"] }));
}
