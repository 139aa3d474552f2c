/**
 * Members in the order they joined, and invitations. An invitation is a row as long as it may be accepted: it is deleted when
 * it is used or revoked, so a link works once, and a table of them stays small.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  "create index members_joined on members (organization_id, created_at, user_id)",
  `create table invitations (
    organization_id uuid not null references organizations (id),
    id uuid not null,
    secret_hash bytea not null unique,
    email text,
    role text not null check (role in ('owner', 'admin', 'editor', 'runner', 'viewer')),
    created_by_kind actor_kind not null,
    created_by_id uuid not null,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (organization_id, id)
  )`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
