/** The models that a project's agents and sentences are asked with, as people configured them. */
export const models = `
create table model_connections (
  organization_id uuid not null,
  id uuid not null,
  project_id uuid not null,
  name text not null,
  provider text not null check (provider in ('openai_compatible', 'openai', 'anthropic', 'google', 'mistral')),
  -- Null: the provider's own.
  base_url text,
  model text not null,
  -- Sealed like the values of secrets (secrets/seal.ts). Null: the endpoint asks for none.
  sealed_key text,
  is_default boolean not null,
  -- Per million tokens. Null: what a call costs is not known. A model without a price of its own for cached tokens has none.
  input_price float8 check (input_price >= 0),
  output_price float8 check (output_price >= 0),
  cached_input_price float8 check (cached_input_price >= 0),
  currency text,
  -- Null: only those of the server.
  concurrency integer check (concurrency > 0),
  tokens_per_day bigint check (tokens_per_day >= 0),
  cost_per_day float8 check (cost_per_day >= 0),
  created_by_kind actor_kind not null,
  created_by_id uuid,
  created_at timestamptz not null,
  updated_by_kind actor_kind not null,
  updated_by_id uuid,
  updated_at timestamptz not null,
  primary key (organization_id, id),
  unique (organization_id, project_id, name),
  foreign key (organization_id, project_id) references projects (organization_id, id),
  check ((currency is null) = (input_price is null) and (currency is null) = (output_price is null))
);

-- A project has one default at most.
create unique index model_connections_default on model_connections (organization_id, project_id) where is_default;
`;
