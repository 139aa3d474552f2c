/**
 * What limited organizations have asked in the last minute, for all processes of one database, and what each organization
 * used by day. The first is worth nothing after a crash: unlogged, a request that counts waits for no disk.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create unlogged table rate_windows (
  organization_id uuid primary key references organizations (id),
  times bigint[] not null default '{}',
  level float8 not null default 0,
  level_at bigint not null default 0,
  granted integer not null
) with (fillfactor = 50)`,
  `create table usage_days (
  organization_id uuid not null references organizations (id),
  day date not null,
  requests bigint not null,
  refused bigint not null,
  runs bigint not null,
  steps bigint not null,
  primary key (organization_id, day)
)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
