/**
 * The whole schema of the first release, to be read from the top: who there is, what they define, what has run, what starts
 * runs by itself, what is counted, the audit, and what processes say to each other. A later migration only adds to it.
 *
 * Times are `timestamptz` set by the program's clock, ids are UUIDv7. Payloads are `json`: `jsonb` refuses NUL and lone
 * surrogates and reorders keys. `organization_id` leads the keys of tenant tables, and a foreign key between two of them
 * includes it. `_by_kind` and `_by_id` name the actor.
 *
 * The server makes the monthly partitions of `runs`, `steps` and `attempts` (storage/partitions.ts).
 */
export const start = `
-- Words that several tables use. They are domains because PostgreSQL keeps a domain's check parsed, and parses a table's at
-- every statement (60 to 80 us of 320).

create domain actor_kind as text check (value in ('user', 'key', 'trigger', 'run', 'link', 'system'));
create domain run_status as text
  check (value in ('pending', 'running', 'paused', 'completed', 'failed', 'cancelled'));
create domain step_status as text
  check (value in ('pending', 'running', 'paused', 'completed', 'failed', 'skipped', 'cancelled'));


-- The installation

-- What the installation knows of itself: its secret, the key that secrets are sealed with, when it was set up.
create table settings (
  name text primary key,
  value json not null
);

-- Access tokens are signed with keys derived from the installation's secret and an id (decision 0023), so no private key is
-- stored. The first one signs from the beginning.
create table signing_keys (
  id uuid primary key,
  signs_from timestamptz not null
);
insert into signing_keys (id, signs_from) values (gen_random_uuid(), 'epoch');


-- Organizations and people

create table organizations (
  id uuid primary key,
  name text not null,
  plan text not null check (plan in ('free', 'starter', 'pro', 'enterprise')),
  -- Overrides the plan's.
  requests_per_minute integer check (requests_per_minute > 0),
  created_at timestamptz not null
);

create table users (
  id uuid primary key,
  email text not null,
  name text not null,
  password_hash text not null,
  last_organization_id uuid references organizations (id),
  created_at timestamptz not null
);
create unique index users_email on users (lower(email));

create table members (
  organization_id uuid not null references organizations (id),
  user_id uuid not null references users (id),
  role text not null check (role in ('owner', 'admin', 'editor', 'runner', 'viewer')),
  created_at timestamptz not null,
  primary key (organization_id, user_id)
);
create index members_user on members (user_id);
create index members_joined on members (organization_id, created_at, user_id);

-- Deleted when used or revoked, so a link works once and the table stays small.
create table invitations (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  secret_hash bytea not null unique,
  email text,
  role text not null check (role in ('owner', 'admin', 'editor', 'runner', 'viewer')),
  created_by_kind actor_kind not null,
  created_by_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Wrong passwords given with it: a link is good for a few.
  tries integer not null default 0,
  primary key (organization_id, id)
);

create table sessions (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  user_id uuid not null references users (id),
  client text not null check (client in ('api', 'ui')),
  -- Raised with each refresh token.
  generation integer not null,
  secret_hash bytea not null,
  created_at timestamptz not null,
  refreshed_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  address text,
  user_agent text,
  -- When its user stopped being a member of its organization. A later membership does not bring the session back.
  left_at timestamptz,
  primary key (organization_id, id)
);
create unique index sessions_id on sessions (id);
create index sessions_user on sessions (user_id);

-- Addresses that users signed in from before (auth/sign-in/known-addresses.ts); at most 20 rows per user.
create table known_addresses (
  user_id uuid not null references users (id) on delete cascade,
  mark bytea not null,
  seen_at timestamptz not null,
  primary key (user_id, mark)
);
create index known_addresses_seen on known_addresses (seen_at);

-- Pauses after failed sign-ins, for all processes of one database. Worth nothing after a crash: unlogged, so that a sign-in
-- waits for no disk.
create unlogged table sign_in_pauses (
  mark text primary key,
  kind text not null check (kind in ('pair', 'account', 'address')),
  level float8 not null,
  until bigint not null,
  is_counted boolean not null
) with (fillfactor = 50);

-- Null in both project_ids and agent_ids: the key reaches the whole organization (decision 0019).
create table api_keys (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  user_id uuid not null references users (id),
  name text not null,
  hint text not null,
  secret_hash bytea not null unique,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  project_ids uuid[],
  agent_ids uuid[],
  primary key (organization_id, id),
  constraint api_keys_reach_is_not_empty check (
    coalesce(cardinality(project_ids), 1) > 0 and coalesce(cardinality(agent_ids), 1) > 0),
  -- Holds even if the code has a bug.
  constraint api_keys_narrowed_has_no_admin check (
    (project_ids is null and agent_ids is null) or not 'admin' = any (scopes))
);
-- For deleting those that ended a while ago.
create index api_keys_ended on api_keys (least(revoked_at, expires_at))
  where revoked_at is not null or expires_at is not null;

-- Names of deleted keys: the runs, versions and audit events that they made show them.
create table former_api_keys (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  name text not null,
  primary key (organization_id, id)
);


-- What they define

create table projects (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  handle text not null,
  name text not null,
  created_at timestamptz not null,
  primary key (organization_id, id),
  unique (organization_id, handle)
);

-- Values are sealed (secrets/seal.ts): a dump shows none.
create table secrets (
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
);

create table agents (
  organization_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  handle text not null,
  name text not null,
  description text,
  status text not null check (status in ('draft', 'active', 'paused', 'archived')),
  published_version text,
  -- Runs at a time.
  concurrency_limit integer check (concurrency_limit > 0),
  draft text,
  draft_version text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Stays when the draft goes, so that no two drafts of an agent have the same.
  draft_revision integer not null default 0,
  draft_saved_at timestamptz,
  draft_saved_by_kind text check (draft_saved_by_kind in ('user', 'key', 'trigger', 'run', 'link', 'system')),
  draft_saved_by_id uuid,
  primary key (organization_id, id),
  unique (organization_id, project_id, handle),
  foreign key (organization_id, project_id) references projects (organization_id, id),
  check (
    (draft is null) = (draft_saved_at is null) and (draft is null) = (draft_saved_by_kind is null)
    and (draft is null or draft_revision > 0))
);
create index agents_name on agents (organization_id, name, id);

create table agent_versions (
  organization_id uuid not null,
  agent_id uuid not null,
  version text not null,
  source text not null,
  created_by_id uuid,
  created_at timestamptz not null,
  id uuid not null,
  created_by_kind actor_kind not null,
  -- Names of those that the definition uses, so that nobody reads definitions to find who uses a secret.
  secrets text[] not null default '{}',
  primary key (organization_id, agent_id, version),
  foreign key (organization_id, agent_id) references agents (organization_id, id)
);
create unique index agent_versions_id on agent_versions (organization_id, id);
create index agent_versions_secrets on agent_versions (organization_id, agent_id) where secrets <> '{}';
alter table agents add foreign key (organization_id, id, published_version)
  references agent_versions (organization_id, agent_id, version) deferrable initially deferred;


-- Runs

-- Partitioned by month on the run's id, like steps and attempts, so that a month's rows lie together and are dropped
-- together. Nothing outside points into them with a foreign key, and organization_id is a column rather than the head of
-- the key. No check spans columns: PostgreSQL parsed it at every statement, 33 us of 240. test/faults asks after every
-- workload for what it said:
--   (status in ('completed', 'failed', 'cancelled')) = (finished_at is not null)
--   and (finished_at is null or (owner is null and wake_at is null))
--   and (status = 'cancelled') = (cancelled_at is not null)
--   and progress between 0 and 100 and (progress < 100 or status = 'completed')
create table runs (
  id uuid not null,
  organization_id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  version text not null,
  status run_status not null,
  started_by_kind actor_kind not null,
  started_by_id uuid not null,
  input json not null,
  output json,
  error json,
  state json,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  cancelled_at timestamptz,
  -- Counts the changes that a watcher may see.
  revision integer not null,
  current_step integer,
  progress smallint not null,
  -- Raised by each claim and each cancel; every later write names it, so a late one changes nothing.
  epoch integer not null,
  owner uuid,
  -- The next time that the run is to be advanced.
  wake_at timestamptz,
  wake_seq integer not null,
  -- How often the process ended while it advanced this run alone; it fails after some.
  blamed smallint not null default 0,
  run_at timestamptz,
  parent_run_id uuid,
  parent_awaits boolean,
  retry_of uuid,
  -- Its agent has a concurrency limit.
  limited boolean not null default false,
  -- Memory that it takes when loaded, estimated; known before it is loaded (execution/journal/claimed-run.ts). 0: never written.
  held_bytes integer not null default 0,
  -- Waits for the run that its trigger started before.
  queued boolean not null default false,
  primary key (id)
) partition by range (id);
create table runs_default partition of runs default;

-- Lists
create index runs_by_organization on runs (organization_id, id desc);
create index runs_by_project on runs (project_id, id desc);
create index runs_by_agent on runs (agent_id, id desc);
create index runs_by_rare_status on runs (organization_id, status, id desc)
  where status in ('pending', 'running', 'paused', 'failed', 'cancelled');
create index runs_of_trigger on runs (started_by_id, id desc) where started_by_kind = 'trigger';
create index runs_by_trigger on runs (organization_id, id desc) where started_by_kind = 'trigger';
-- The engine's timer; and by organization, for their turns when many are due (engine/due-runs.ts): beside 44,000 due runs of
-- others, those of an organization with two are found in 0.25 ms.
create index runs_due on runs (wake_at) where wake_at is not null;
create index runs_due_by_organization on runs (organization_id, wake_at, id) where wake_at is not null;
create index runs_owned on runs (owner) where owner is not null;
-- Children
create index runs_of_parent on runs (parent_run_id, id desc) where parent_run_id is not null;
create index runs_ended_children on runs (finished_at) where parent_run_id is not null;
-- An agent with a limit (runs/unpark-runs.ts): how many have begun, and who is next. With both in one index, 10,000 ends with
-- 10,000 waiting read 50 million rows.
create index runs_begun on runs (agent_id)
  where limited and (status in ('running', 'paused') or (status = 'pending' and wake_at is not null));
create index runs_parked on runs (agent_id, id)
  where limited and not queued and status = 'pending' and owner is null and wake_at is null;

create table steps (
  run_id uuid not null,
  -- From 1, in the order reached.
  number integer not null,
  organization_id uuid not null,
  -- The path of the enclosing tasks, each as name#visit, with the number of an item, catch or steps between.
  key text not null,
  name text not null,
  kind text not null,
  status step_status not null,
  round text not null,
  attempt integer not null,
  -- What a loop, a try or a timeout must find again.
  state json,
  input json,
  output json,
  error json,
  started_at timestamptz,
  finished_at timestamptz,
  revision integer not null,
  -- The step that encloses it, so that one level of a run is read without the keys of all its steps.
  parent_number integer,
  -- What an HTTP endpoint answered to the newest attempt; attempts has it for the earlier ones.
  response json,
  primary key (run_id, number)
) partition by range (run_id);
create table steps_default partition of steps default;

create table attempts (
  run_id uuid not null,
  number integer not null,
  attempt integer not null,
  organization_id uuid not null,
  status text not null check (status in ('completed', 'failed', 'skipped', 'cancelled')),
  error json,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  response json,
  primary key (run_id, number, attempt)
) partition by range (run_id);
create table attempts_default partition of attempts default;

create table approvals (
  organization_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  run_id uuid not null,
  step_number integer not null,
  status text not null check (status in ('open', 'approved', 'rejected', 'expired', 'withdrawn')),
  question text not null,
  context json,
  assignee text,
  form json,
  expires_at timestamptz,
  created_at timestamptz not null,
  decided_at timestamptz,
  decided_by_kind text check (decided_by_kind in ('user', 'key')),
  decided_by_id uuid,
  comment text,
  answer json,
  primary key (organization_id, id)
);
-- Each list along one index (runs/read/list-approvals.ts): without, an agent's few among a million took 200 ms.
create index approvals_by_run on approvals (organization_id, run_id, id);
create index approvals_by_agent on approvals (organization_id, agent_id, status, id);
create index approvals_by_project on approvals (organization_id, project_id, status, id);
create index approvals_by_status on approvals (organization_id, status, id);
-- Counted over all organizations for /metrics: closed ones may be millions.
create index approvals_waiting on approvals (id) where status = 'open';

-- A start that is repeated with its key gets the run of the first.
create table idempotency_keys (
  organization_id uuid not null,
  agent_id uuid not null,
  key text not null,
  body_hash bytea not null,
  run_id uuid not null,
  created_at timestamptz not null,
  primary key (organization_id, agent_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- A sentence that a person reviews before a run is started from it, for a day.
create table run_drafts (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  agent_id uuid,
  text text not null,
  expires_at timestamptz not null,
  primary key (organization_id, id)
);
create index run_drafts_expired on run_drafts (expires_at);

-- The sentence of a run that was started from such a draft, kept as long as the run.
create table draft_texts (
  organization_id uuid not null,
  run_id uuid not null,
  run_draft_id uuid not null,
  text text not null,
  primary key (organization_id, run_id)
);


-- Triggers and events

-- A deleted trigger keeps its row, without its tokens, for the name of what started a run.
create table triggers (
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
  -- When the clock looks at it next: when it is due, later by its jitter, or when the lease of the process that took it ends
  -- (triggers/schedule/due-clock.ts).
  wakes_at timestamptz,
  -- The run that it started last, if its runs must not overlap (execution/journal/write.ts).
  last_run_id uuid,
  -- Brought by a definition: publishing changes and deletes it.
  is_managed boolean not null default false,
  primary key (organization_id, id),
  foreign key (organization_id, agent_id) references agents (organization_id, id)
);
create unique index triggers_name on triggers (organization_id, agent_id, name) where deleted_at is null;
create index triggers_live on triggers (organization_id, id desc) where deleted_at is null;
-- The next of all, and by organization for their turns.
create index triggers_waking on triggers (wakes_at) where wakes_at is not null;
create index triggers_waking_by_turns on triggers (organization_id, wakes_at, id) where wakes_at is not null;
-- The triggers that an event matches; those changed since a process read them, asked with each event that is written; and lists
-- by source and event.
create index triggers_of_event on triggers (organization_id, (configuration ->> 'source'), (configuration ->> 'event'), id)
  where type = 'event' and deleted_at is null;
create index triggers_of_event_changed on triggers
  (organization_id, (configuration ->> 'source'), (configuration ->> 'event'), updated_at)
  where type = 'event' and deleted_at is null and status = 'active';
create index triggers_of_event_in_project on triggers
  (organization_id, project_id, (configuration ->> 'source'), (configuration ->> 'event'), id desc)
  where type = 'event' and deleted_at is null;
create index triggers_of_source on triggers (organization_id, (configuration ->> 'source'), id desc)
  where type = 'event' and deleted_at is null;
create index triggers_of_source_in_project on triggers
  (organization_id, project_id, (configuration ->> 'source'), id desc)
  where type = 'event' and deleted_at is null;
-- Who listens to the service's own events.
create index triggers_of_own_events on triggers ((configuration ->> 'event'), organization_id)
  where type = 'event' and deleted_at is null and configuration ->> 'source' = 'autograph';
-- Which webhooks check signatures with a secret: an organization may have 100,000 triggers.
create index triggers_by_secret on triggers (organization_id, project_id, (policy #>> '{signature,secret}'))
  where deleted_at is null and policy #>> '{signature,secret}' is not null;

create table webhook_tokens (
  organization_id uuid not null,
  trigger_id uuid not null,
  agent_id uuid not null,
  hash bytea not null,
  sealed text not null,
  created_at timestamptz not null,
  -- Set when a newer one replaced it, which works beside it until then.
  expires_at timestamptz,
  primary key (organization_id, trigger_id, hash),
  foreign key (organization_id, trigger_id) references triggers (organization_id, id)
);
-- Looked up with the agent that it is called at, so a token of another agent costs the same time as one that never was.
create unique index webhook_tokens_place on webhook_tokens (hash, agent_id);
create index webhook_tokens_replaced on webhook_tokens (expires_at) where expires_at is not null;

-- One time that a trigger was due or called, and what came of it.
create table firings (
  id uuid not null primary key,
  organization_id uuid not null,
  project_id uuid not null,
  agent_id uuid not null,
  trigger_id uuid not null,
  -- An instant of a schedule, or a delivery by its sender's name for it: the run of a repeat is not written.
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
  event_id uuid,
  -- Its run waits for the one before, under the policy overlap: queue.
  is_queued boolean not null default false,
  -- The headers and the query of a webhook's call, if the trigger's mapping uses them.
  request json,
  unique (trigger_id, once),
  check ((outcome = 'started') <= (run_id is not null) and (outcome = 'refused') = (code is not null))
);
create index firings_of_trigger on firings (trigger_id, id desc);
create index firings_of_run on firings (run_id) where outcome = 'started';
create index firings_of_event on firings (event_id, id desc) where event_id is not null;
-- Few rows at any time.
create index firings_queued on firings (organization_id, trigger_id, id) where is_queued;
-- A list may ask for a rare outcome among millions.
create index firings_by_outcome on firings (trigger_id, outcome, id desc) where outcome <> 'started';

create table events (
  id uuid not null primary key,
  organization_id uuid not null,
  -- SHA-256 of its publisher's reach, its source and the source's name for it: a repeat is no second row.
  once bytea not null,
  -- The reach of a narrowed key that published it.
  project_ids uuid[],
  agent_ids uuid[],
  source text not null,
  event text not null,
  source_id text not null,
  time timestamptz not null,
  at timestamptz not null,
  data json not null,
  body_hash bytea not null,
  depth integer not null,
  published_by_kind actor_kind not null,
  published_by_id uuid,
  -- A lease on the firing of its triggers, null when all have fired (triggers/matching/event-reactions.ts).
  fire_at timestamptz,
  -- Set if another event led to it and it fires: the first event of that chain, and its number among those that the first led to.
  root_id uuid,
  root_number integer,
  -- SHA-256 of project_ids and agent_ids, as lists of ids may be too long for an index.
  reach bytea,
  unique (organization_id, once),
  constraint events_check check ((project_ids is null) = (agent_ids is null)),
  constraint events_check1 check ((project_ids is null) = (reach is null))
);
create index events_to_fire on events (organization_id, fire_at) where fire_at is not null;
create index events_of_root_by_number on events (organization_id, root_id, root_number) where root_id is not null;
-- A page of a list costs what it shows: of all, by source, by source and name; and the same for a narrowed key.
create index events_of_organization on events (organization_id, id desc);
create index events_of_source on events (organization_id, source, id desc);
create index events_of_name on events (organization_id, source, event, id desc);
create index events_narrowed on events (organization_id, reach, id desc) where reach is not null;
create index events_narrowed_of_source on events (organization_id, reach, source, id desc) where reach is not null;
create index events_narrowed_of_name on events (organization_id, reach, source, event, id desc) where reach is not null;

-- An outbox: something happened that its organization listens to, written in the statement that makes it true and deleted
-- when it is published as an event of the service itself (decision 0027).
create table untold_events (
  organization_id uuid not null,
  event text not null,
  subject_id uuid not null,
  at timestamptz not null,
  run_id uuid,
  -- Of an agent that was published.
  version text,
  -- A lease on publishing it.
  take_at timestamptz,
  primary key (organization_id, event, subject_id, at)
);
create index untold_events_in_order on untold_events (organization_id, at);


-- Use

-- Requests in the last minute of organizations that have a rate limit, for all processes of one database. Worth nothing after
-- a crash: unlogged, so that counting a request waits for no disk.
create unlogged table rate_windows (
  organization_id uuid primary key references organizations (id),
  times bigint[] not null default '{}',
  level float8 not null default 0,
  level_at bigint not null default 0,
  granted integer not null
) with (fillfactor = 50);

create table usage_days (
  organization_id uuid not null references organizations (id),
  day date not null,
  requests bigint not null,
  refused bigint not null,
  runs bigint not null,
  steps bigint not null,
  -- What the language model counted.
  model_tokens bigint not null default 0,
  primary key (organization_id, day)
);


-- The audit (decision 0021)

-- Who did what from where. Rows are only added, and only by append_audit_event: an organization's are numbered from 1
-- without gaps, and each has the hash of the one before.
create table audit_events (
  organization_id uuid not null,
  number bigint not null,
  id uuid not null,
  at timestamptz not null,
  action text not null,
  actor_id uuid,
  event json not null check (octet_length(event::text) <= 16384),
  previous bytea not null,
  hash bytea not null,
  primary key (organization_id, number),
  unique (organization_id, id)
);
create index audit_events_at on audit_events (organization_id, at);
create index audit_events_action on audit_events (organization_id, action, number);
create index audit_events_actor on audit_events (organization_id, actor_id, number);

-- The lock is the last one that a transaction takes, and kept until it ends: so numbers follow commits. Each statement of a
-- volatile function sees what was committed until then, also the last event of the lock's former holder.
create function append_audit_event(
  organization uuid, event_id uuid, event_at timestamptz, event_action text, actor uuid, body text
) returns void language plpgsql volatile security definer as $$
declare
  last_number bigint;
  last_hash bytea;
begin
  perform pg_advisory_xact_lock(hashtextextended('audit ' || organization, 0));
  select e.number, e.hash into last_number, last_hash
    from audit_events e where e.organization_id = organization order by e.number desc limit 1;
  last_number := coalesce(last_number, 0);
  last_hash := coalesce(last_hash, decode(repeat('00', 32), 'hex'));
  insert into audit_events (organization_id, number, id, at, action, actor_id, event, previous, hash)
  values (organization, last_number + 1, event_id, event_at, event_action, actor, body::json, last_hash,
    sha256(convert_to('{"event":' || body || ',"number":' || last_number + 1 ||
      ',"previous":"' || encode(last_hash, 'hex') || '"}', 'UTF8')));
end $$;

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit_events is append-only: % is refused', tg_op using errcode = 'insufficient_privilege';
end $$;
create trigger audit_events_append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();

revoke all on function append_audit_event from public;
revoke all on audit_events from public;
revoke update, delete, truncate on audit_events from current_user;

do $$ begin
  -- A function with its definer's rights finds nothing but what is in this schema.
  execute format('alter function append_audit_event set search_path = %I, pg_temp', current_schema());
  -- In a cluster of our own, all three now go to a role that nobody signs in as, so that the server can't change them even
  -- if it wants to (postgres/audit-owner.ts). Elsewhere they belong to the schema's owner, whom the revoked rights and the
  -- trigger stop.
  if to_regprocedure('public.own_audit()') is not null then perform public.own_audit(); end if;
end $$;


-- Processes of one database

create table instances (
  id uuid primary key,
  started_at timestamptz not null,
  heartbeat_at timestamptz not null
);

-- The one process that advances runs (engine/election.ts). suspect is the run that is advanced alone after crashes.
create table executor (
  singleton boolean primary key default true check (singleton),
  instance_id uuid not null,
  backend_pid integer not null,
  heartbeat_at timestamptz not null,
  stopped_cleanly boolean not null,
  unclean_stops integer not null,
  suspect uuid
);

-- The time up to which the relatives of ended runs were told (runs/sweep-runs.ts), so that no number of crashes leaves a gap.
create table mended (
  singleton boolean primary key default true check (singleton),
  at timestamptz not null
);


-- Rows that go to a statement as one parameter (storage/unnest.ts)

-- None is ever altered: another column comes with another type, because a process of the version before may still write the
-- former one.
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
