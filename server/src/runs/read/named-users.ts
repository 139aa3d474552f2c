/** The users whom assignees name. */
import { DECIDING_ROLES, isRole } from "../../definition/tasks/assignees.ts";
import { encodeId, type OrganizationId, type UserId } from "../../lib/ids.ts";
import type { Query } from "../../storage/database.ts";

/** The users whose e-mails are among the assignees: members who may decide at all. */
export async function readByEmail(
  query: Query,
  organizationId: OrganizationId,
  assignees: readonly string[],
): Promise<Map<string, UserId>> {
  const rows = await query(
    `select lower(u.email) as email, m.user_id from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.role = any ($2::text[]) and lower(u.email) = any ($3::text[])`,
    [organizationId, DECIDING_ROLES, assignees],
  );
  return new Map(rows.map((row) => [row["email"] as string, row["user_id"] as UserId]));
}

/** As the audit names them: by their ids, because nothing in it can be forgotten, and an e-mail must be. */
export const auditNames = (assignees: readonly string[], known: ReadonlyMap<string, UserId>): string[] =>
  assignees.map((name) => (isRole(name) ? name : known.has(name) ? encodeId("user", known.get(name)!) : "unknown"));
