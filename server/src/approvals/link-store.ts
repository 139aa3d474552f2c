/** The SQL of links, and of the people who get them. */
import type { ApprovalId, OrganizationId, UserId } from "../lib/ids.ts";
import { DECIDING_ROLES, isRole, roleOf } from "../definition/tasks/assignees.ts";
import type { Database, Query } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";

type Link = { organizationId: OrganizationId; approvalId: ApprovalId; userId: UserId };

export async function insertLink(
  query: Query,
  { organizationId, approvalId, userId }: Link,
  secretHash: Buffer,
  now: number,
): Promise<void> {
  await query(
    `insert into approval_links (organization_id, approval_id, user_id, secret_hash, created_at)
     values ($1, $2, $3, $4, $5)`,
    [organizationId, approvalId, userId, secretHash, new Date(now)],
  );
}

/** A member whom a link belongs to, as they are now. */
export type Holder = { userId: UserId; name: string; email: string; role: Role };
export type HeldLink = Link & { holder: Holder; organizationName: string };

/** Undefined if there is no such link, or its holder is no member any longer. */
export async function findLink(database: Database, secretHash: Buffer): Promise<HeldLink | undefined> {
  const [row] = await database.query(
    `select l.organization_id, l.approval_id, l.user_id, u.name, u.email, m.role, o.name as organization_name
       from approval_links l
       join members m on m.organization_id = l.organization_id and m.user_id = l.user_id
       join users u on u.id = l.user_id
       join organizations o on o.id = l.organization_id
      where l.secret_hash = $1`,
    [secretHash],
    "strangers",
  );
  if (!row) return undefined;
  const userId = row["user_id"] as UserId;
  return {
    organizationId: row["organization_id"],
    approvalId: row["approval_id"],
    userId,
    holder: { userId, name: row["name"], email: row["email"], role: row["role"] },
    organizationName: row["organization_name"],
  };
}

type Asked = {
  organizationId: OrganizationId;
  approvalId: ApprovalId;
  /** Some have been mailed: only those who have no link are asked now. */
  isAgain: boolean;
  assignees: readonly string[];
  /** Users who may not decide, or have. */
  except: readonly UserId[];
  most: number;
};

/** The members whom the assignees name, those whose e-mail is one first. */
export async function readAsked(query: Query, asked: Asked): Promise<Holder[]> {
  const { organizationId, assignees } = asked;
  const emails = assignees.filter((assignee) => !isRole(assignee));
  const roles = assignees.filter(isRole).map(roleOf);
  const rows = await query(
    `select m.user_id, m.role, u.name, u.email from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and m.role = any ($2::text[])
        and (lower(u.email) = any ($3::text[]) or m.role = any ($4::text[])) and m.user_id <> all ($5::uuid[])
        and not ($7::boolean and exists (
          select from approval_links l
           where l.organization_id = $1 and l.approval_id = $8 and l.user_id = m.user_id))
      order by lower(u.email) = any ($3::text[]) desc, m.user_id limit $6`,
    [organizationId, DECIDING_ROLES, emails, roles, asked.except, asked.most, asked.isAgain, asked.approvalId],
  );
  return rows.map((row) => ({ userId: row["user_id"], name: row["name"], email: row["email"], role: row["role"] }));
}
