/**
 * Secrets of a project, sealed (`secrets/seal.ts`): a dump has no value of them. A version says which it names, so that one
 * finds who uses a secret without reading definitions; no version that came before could name any.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table secrets (
  organization_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  name text not null,
  sealed text not null,
  created_by_kind actor_kind not null,
  created_by_id uuid,
  created_at timestamptz not null,
  updated_by_kind actor_kind not null,
  updated_by_id uuid,
  updated_at timestamptz not null,
  primary key (organization_id, id),
  unique (organization_id, project_id, name),
  foreign key (organization_id, project_id) references projects (organization_id, id)
)`,
  "alter table agent_versions add column secrets text[] not null default '{}'",
  // Few versions name any.
  "create index agent_versions_secrets on agent_versions (organization_id, agent_id) where secrets <> '{}'",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
