/** The use of models by budget, reservations of calls that are under way, and calls without a run. */
export const modelBudgets = `
alter table organizations
  -- Overrides the plan's.
  add column model_tokens_per_day bigint check (model_tokens_per_day > 0);

create table model_spend (
  organization_id uuid not null references organizations (id),
  -- The organization, a model connection, or a run that no other run started.
  subject uuid not null,
  -- In UTC; a run's is the day on which it was created.
  day date not null,
  -- Empty: without a price.
  currency text not null,
  tokens bigint not null,
  cost numeric not null,
  primary key (organization_id, subject, day, currency)
);
create index model_spend_by_day on model_spend (day);

-- The most that a call under way may use.
create table model_reservations (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  day date not null,
  connection_id uuid,
  -- That no other run started.
  run_id uuid,
  currency text not null,
  tokens bigint not null,
  cost numeric not null,
  -- A call that has not ended by then counts in full: its process died.
  expires_at timestamptz not null,
  primary key (organization_id, id)
);

-- A sentence's call belongs to no run, and before its agent is found to no agent.
alter table model_calls
  alter column run_id drop not null,
  alter column step_number drop not null,
  alter column agent_id drop not null,
  alter column project_id drop not null;
`;
