/**
 * The types of the rows that go to a statement as one parameter (storage/unnest.ts). None is ever altered: another column comes with
 * another type, because a process of the version before may still write the former one.
 */
import { sql, type Kysely } from "kysely";

const TYPES = `
create type start_row as (
  id uuid, organization_id uuid, project_id uuid, agent_id uuid, version text, status run_status,
  started_by_kind actor_kind, started_by_id uuid, created_at timestamptz, started_at timestamptz,
  finished_at timestamptz, revision int, current_step int, progress int, run_at timestamptz, parent_run_id uuid,
  parent_awaits bool, retry_of uuid, input json, output json, error json, state json, epoch int, wake_seq int,
  limited bool, held_bytes int, owner uuid, wake_at timestamptz, queued bool);
create type update_row as (
  id uuid, epoch int, from_status run_status, status run_status, output json, error json, state json,
  now timestamptz, started_at timestamptz, finished_at timestamptz, revision int, current_step int, progress int,
  moved bool, release bool, wake_at timestamptz, wake_seq int, exact bool, held_bytes int);
create type step_row as (
  run_id uuid, number int, organization_id uuid, parent_number int, key text, name text, kind text,
  status step_status, attempt int, started_at timestamptz, finished_at timestamptz, revision int, round text,
  state json, input json, output json, error json, response json);
create type attempt_row as (
  run_id uuid, number int, attempt int, organization_id uuid, status text, error json, response json,
  started_at timestamptz, finished_at timestamptz);
create type approval_row as (
  organization_id uuid, id uuid, project_id uuid, agent_id uuid, run_id uuid, step_number int, status text,
  question text, assignee text, expires_at timestamptz, created_at timestamptz, decided_at timestamptz,
  decided_by_kind text, decided_by_id uuid, comment text, context json, form json, answer json);
create type approval_change_row as (
  run_id uuid, organization_id uuid, id uuid, status text, decided_at timestamptz);
create type key_row as (
  run_id uuid, organization_id uuid, agent_id uuid, key text, body_hash bytea, created_at timestamptz);
create type firing_row as (
  id uuid, organization_id uuid, project_id uuid, agent_id uuid, trigger_id uuid, once text, at timestamptz,
  due_at timestamptz, outcome text, run_id uuid, policy text, code text, message text, fields json, is_queued bool,
  skipped int, delivery text, body_hash bytea, payload json, request json, fired_by_kind actor_kind,
  fired_by_id uuid, replay_of uuid, event_id uuid);
create type turn_row as (
  run_id uuid, organization_id uuid, trigger_id uuid, by_hand bool);
create type draft_text_row as (
  run_id uuid, organization_id uuid, run_draft_id uuid, text text);
create type untold_row as (
  organization_id uuid, event text, subject_id uuid, run_id uuid, at timestamptz);
create type told_row as (
  organization_id uuid, event text, subject_id uuid, at timestamptz);
create type event_row as (
  id uuid, organization_id uuid, project_ids text, agent_ids text, source text, event text, source_id text,
  time timestamptz, at timestamptz, depth int, root_id uuid, root_number int, published_by_kind actor_kind,
  published_by_id uuid, reach bytea, once bytea, body_hash bytea, data json, fire_at timestamptz,
  known_at timestamptz);
create type next_due_row as (
  organization_id uuid, id uuid, due_at timestamptz, next_due_at timestamptz, wakes_at timestamptz);
`;

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(TYPES).execute(db);
}
