/** The SQL of invitations. A row is an invitation that nobody has used or revoked. */
import type { InvitationId, OrganizationId, UserId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Database, Query, Row } from "../storage/database.ts";
import type { Role } from "../storage/schema.ts";
import type { Invitation } from "./invitation.ts";

const COLUMNS = "i.id, i.email, i.role, i.created_by_kind, i.created_by_id, i.created_at, i.expires_at";

const invitationOf = (row: Row): Invitation => ({
  id: row["id"],
  email: row["email"],
  role: row["role"],
  createdBy: { kind: row["created_by_kind"], id: row["created_by_id"] },
  createdAt: row["created_at"],
  expiresAt: row["expires_at"],
});

/**
 * Whether it may be used: not too late, not after too many tries, and by somebody who may still give the role. An administrator's link ends
 * with their role, and a key's link ends when the key is revoked or expires. `$1` is now.
 */
const IS_OPEN = `i.expires_at > $1 and i.tries < ${LIMITS.invitationTries} and case i.created_by_kind
  when 'key' then exists (
    select from api_keys k
     where k.organization_id = i.organization_id and k.id = i.created_by_id and k.revoked_at is null
       and (k.expires_at is null or k.expires_at > $1))
  else exists (
    select from members g
     where g.organization_id = i.organization_id and g.user_id = i.created_by_id
       and (g.role = 'owner' or g.role = 'admin' and i.role <> 'owner'))
  end`;

type NewInvitation = Invitation & { organizationId: OrganizationId; secretHash: Buffer };

/**
 * Clears what is open no longer. Undefined when the organization has the most open ones that it may have; the caller
 * holds the lock of the organization's people.
 */
export async function insertInvitation(query: Query, invitation: NewInvitation): Promise<Invitation | undefined> {
  const { organizationId, createdBy, createdAt } = invitation;
  await query(`delete from invitations i where i.organization_id = $2 and not (${IS_OPEN})`, [
    createdAt,
    organizationId,
  ]);
  const [row] = await query(
    `with i as (
       insert into invitations (organization_id, id, secret_hash, email, role, created_by_kind, created_by_id, created_at, expires_at)
       select $1, $2, $3, $4, $5, $6, $7, $8, $9
        where (select count(*) from invitations where organization_id = $1) < $10::int
       returning *)
     select ${COLUMNS} from i`,
    [
      organizationId,
      invitation.id,
      invitation.secretHash,
      invitation.email,
      invitation.role,
      createdBy.kind,
      createdBy.id,
      createdAt,
      invitation.expiresAt,
      LIMITS.invitationsPerOrganization,
    ],
  );
  return row && invitationOf(row);
}

/** Whether somebody with this e-mail is a member. */
export async function hasMember(query: Query, organizationId: OrganizationId, email: string): Promise<boolean> {
  const rows = await query(
    `select from members m join users u on u.id = m.user_id
      where m.organization_id = $1 and lower(u.email) = lower($2)`,
    [organizationId, email],
  );
  return rows.length > 0;
}

/** Newest first; `after` is an invitation's id. */
export async function pageOfInvitations(
  database: Database,
  organizationId: OrganizationId,
  { first, after }: PageRequest,
  now: number,
): Promise<Page<Invitation>> {
  const rows = await database.query(
    `select ${COLUMNS} from invitations i
      where i.organization_id = $2 and ($3::uuid is null or i.id < $3) and ${IS_OPEN}
      order by i.id desc limit $4`,
    [new Date(now), organizationId, after ?? null, first + 1],
    organizationId,
  );
  return pageOf(rows.map(invitationOf), first);
}

export async function readInvitationRow(
  database: Database,
  organizationId: OrganizationId,
  id: InvitationId,
  now: number,
): Promise<Invitation | undefined> {
  const [row] = await database.query(
    `select ${COLUMNS} from invitations i where i.organization_id = $2 and i.id = $3 and ${IS_OPEN}`,
    [new Date(now), organizationId, id],
    organizationId,
  );
  return row && invitationOf(row);
}

export async function deleteInvitation(
  query: Query,
  organizationId: OrganizationId,
  id: InvitationId,
  now: number,
): Promise<Invitation | undefined> {
  const [row] = await query(
    `delete from invitations i where i.organization_id = $2 and i.id = $3 and ${IS_OPEN} returning ${COLUMNS}`,
    [new Date(now), organizationId, id],
  );
  return row && invitationOf(row);
}

/** The fields that any holder of the link may see. */
export type OpenInvitation = {
  organizationId: OrganizationId;
  organizationName: string;
  email: string | null;
  role: Role;
  expiresAt: Date;
  /** How many members the organization has. */
  members: number;
};

export async function readOpenInvitation(
  database: Database,
  secretHash: Buffer,
  now: number,
): Promise<OpenInvitation | undefined> {
  const [row] = await database.query(
    `select i.organization_id, o.name, i.email, i.role, i.expires_at,
            (select count(*) from members m where m.organization_id = i.organization_id) as members
       from invitations i join organizations o on o.id = i.organization_id
      where i.secret_hash = $2 and ${IS_OPEN}`,
    [new Date(now), secretHash],
    "strangers",
  );
  return (
    row && {
      organizationId: row["organization_id"],
      organizationName: row["name"],
      email: row["email"],
      role: row["role"],
      expiresAt: row["expires_at"],
      members: row["members"],
    }
  );
}

/**
 * Takes one of the link's tries before the password is checked, so that simultaneous requests have no more. `by` is -1 to give it
 * back. False: none was left.
 */
export async function takeTry(database: Database, secretHash: Buffer, by: 1 | -1 = 1): Promise<boolean> {
  const rows = await database.query(
    `update invitations set tries = tries + $2 where secret_hash = $1 and tries < $3::int + (1 - $2) / 2 returning id`,
    [secretHash, by, LIMITS.invitationTries],
    "strangers",
  );
  return rows.length > 0;
}

export async function countMembers(query: Query, organizationId: OrganizationId): Promise<number> {
  const [row] = await query("select count(*) as members from members where organization_id = $1", [organizationId]);
  return row!["members"];
}

/** A user who is made with the membership. */
export type NewUser = { email: string; name: string; passwordHash: string };

/**
 * Uses the invitation up and makes the member, in one statement: of two at the same time one gets it. False when it is not
 * open any longer. A unique index refuses who is a member already, and an e-mail that has got an account meanwhile; the
 * invitation then stays.
 */
export async function useInvitation(
  query: Query,
  secretHash: Buffer,
  user: { id: UserId; made?: NewUser },
  now: number,
): Promise<boolean> {
  const { made } = user;
  const rows = await query(
    `with i as (delete from invitations i where i.secret_hash = $2 and ${IS_OPEN} returning organization_id, role),
          u as (
            insert into users (id, email, name, password_hash, last_organization_id, created_at)
            select $3, $4, $5, $6, organization_id, $1 from i where $4::text is not null),
          m as (
            insert into members (organization_id, user_id, role, created_at)
            select organization_id, $3, role, $1 from i)
     select organization_id from i`,
    [new Date(now), secretHash, user.id, made?.email ?? null, made?.name ?? null, made?.passwordHash ?? null],
  );
  return rows.length > 0;
}
