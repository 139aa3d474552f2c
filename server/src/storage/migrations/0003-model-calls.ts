/** The tokens and costs of calls of models, each written with the step that made it. */
export const modelCalls = `
create table model_calls (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  run_id uuid not null,
  step_number integer not null,
  agent_id uuid not null,
  project_id uuid not null,
  -- Null: the server's own. A connection may be deleted afterwards, so its name is kept.
  connection_id uuid,
  connection text not null,
  model text not null,
  called_at timestamptz not null,
  input_tokens integer not null,
  output_tokens integer not null,
  -- Among the input tokens.
  cached_input_tokens integer not null,
  -- Null: the connection had no prices.
  cost numeric,
  currency text,
  primary key (organization_id, id),
  check ((cost is null) = (currency is null))
);
create index model_calls_of_run on model_calls (run_id, step_number);
create index model_calls_of_day on model_calls (organization_id, called_at);

create type model_call_row as (
  run_id uuid, organization_id uuid, id uuid, step_number int, agent_id uuid, project_id uuid, connection_id uuid,
  connection text, model text, called_at timestamptz, input_tokens int, output_tokens int, cached_input_tokens int,
  cost text, currency text);
`;
