/** Signals to runs. */
export const signals = `
create table signals (
  organization_id uuid not null,
  run_id uuid not null,
  id uuid not null,
  name text not null,
  data json not null,
  at timestamptz not null,
  sent_by_kind actor_kind not null,
  sent_by_id uuid,
  -- The idempotency key, and SHA-256 of the body that belongs to it.
  once text,
  body_hash bytea not null,
  -- A step of the run has taken it. Others that listened at the same time may still read it.
  is_taken boolean not null default false,
  primary key (organization_id, run_id, id)
);
create unique index signals_once on signals (organization_id, run_id, once) where once is not null;
create index signals_not_taken on signals (organization_id, run_id, id) where not is_taken;
create index signals_by_age on signals (id);
`;
