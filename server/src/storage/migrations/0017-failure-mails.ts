/** Who gets a mail when a run fails that a trigger started, and which runs did. */
export const failureMails = `
create table failure_mails (
  organization_id uuid not null,
  agent_id uuid not null,
  user_ids uuid[] not null,
  -- Since the last mail.
  failed integer not null default 0,
  last_run_id uuid,
  last_at timestamptz,
  mailed_at timestamptz,
  primary key (organization_id, agent_id),
  foreign key (organization_id, agent_id) references agents (organization_id, id)
);
create index failure_mails_due on failure_mails (organization_id, last_at) where failed > 0;

-- Those that are not counted yet, written with their end.
create table failed_runs (
  run_id uuid primary key,
  organization_id uuid not null,
  agent_id uuid not null,
  at timestamptz not null
);
create type failed_run_row as (run_id uuid, organization_id uuid, agent_id uuid, at timestamptz);
`;
