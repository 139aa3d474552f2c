/** Runs that wait for events. */
export const listening = `
alter table events add column subject text;
create index events_of_type on events (organization_id, event, id desc);

-- The events that runs of an organization listen to, or did of late: one that is published says in its row that it is to be heard.
create table listened (
  organization_id uuid not null references organizations (id),
  event text not null,
  -- Where in an event's data the value is by which the runs are found: a field, or a list of names; empty: nowhere.
  path text not null,
  since timestamptz not null,
  used_at timestamptz not null,
  primary key (organization_id, event, path)
);

-- A filter of a step that listens.
create table listeners (
  organization_id uuid not null,
  run_id uuid not null,
  step_number integer not null,
  place integer not null,
  project_id uuid not null,
  agent_id uuid not null,
  -- SHA-256 of the event, its source if that is asked for, a path in its data and the value there.
  key bytea not null,
  primary key (organization_id, run_id, step_number, place)
);
create index listeners_by_key on listeners (organization_id, key, run_id);

-- An event that may be one that the step listens to: the run looks at it.
create table heard_events (
  organization_id uuid not null,
  run_id uuid not null,
  step_number integer not null,
  event_id uuid not null,
  primary key (organization_id, run_id, step_number, event_id)
);

create type listener_row as (
  organization_id uuid, run_id uuid, step_number int, place int, project_id uuid, agent_id uuid, key bytea);
create type unlistened_row as (organization_id uuid, run_id uuid, step_number int);
create type unheard_row as (organization_id uuid, run_id uuid, step_number int, event_id uuid);
create type event_with_subject_row as (
  id uuid, organization_id uuid, project_ids text, agent_ids text, source text, event text, source_id text,
  time timestamptz, at timestamptz, depth int, root_id uuid, root_number int, published_by_kind actor_kind,
  published_by_id uuid, subject text, reach bytea, once bytea, body_hash bytea, data json, fire_at timestamptz,
  known_at timestamptz);
`;
