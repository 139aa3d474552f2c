/**
 * Triggers, and each time that one was due or called. A deleted trigger keeps its row, without its tokens, for the name of
 * what started a run. `firings.once` is unique for each trigger: an instant of a schedule, or a delivery by what its sender
 * calls it; the run of a repeat is not written (execution/journal/write.ts). Runs of triggers are found by indexes of their own, which
 * other runs pay nothing for.
 */
import { sql, type Kysely } from "kysely";

const STATEMENTS = [
  `create table triggers (
  organization_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  name text not null,
  type text not null,
  status text not null check (status in ('active', 'paused')),
  configuration json not null,
  policy json not null,
  next_due_at timestamptz,
  created_by_kind actor_kind not null,
  created_by_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (organization_id, id),
  foreign key (organization_id, agent_id) references agents (organization_id, id)
)`,
  "create unique index triggers_name on triggers (organization_id, agent_id, name) where deleted_at is null",
  "create index triggers_live on triggers (organization_id, id desc) where deleted_at is null",
  "create index triggers_due on triggers (next_due_at) where next_due_at is not null",
  `create table webhook_tokens (
  organization_id uuid not null,
  trigger_id uuid not null,
  agent_id uuid not null,
  hash bytea not null unique,
  sealed text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (organization_id, trigger_id, hash),
  foreign key (organization_id, trigger_id) references triggers (organization_id, id)
)`,
  `create table firings (
  id uuid not null primary key,
  organization_id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  trigger_id uuid not null,
  once text not null,
  at timestamptz not null,
  due_at timestamptz,
  outcome text not null check (outcome in ('started', 'skipped', 'refused', 'duplicate')),
  run_id uuid,
  policy text,
  code text,
  message text,
  fields json,
  skipped integer,
  delivery text,
  body_hash bytea,
  payload json,
  fired_by_kind actor_kind,
  fired_by_id uuid,
  replay_of uuid,
  unique (trigger_id, once),
  check ((outcome = 'started') <= (run_id is not null) and (outcome = 'refused') = (code is not null))
)`,
  "create index firings_of_trigger on firings (trigger_id, id desc)",
  "create index firings_of_run on firings (run_id) where outcome = 'started'",
  "create index runs_of_trigger on runs (started_by_id, id desc) where started_by_kind = 'trigger'",
  "create index runs_by_trigger on runs (organization_id, id desc) where started_by_kind = 'trigger'",
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
