/** Mail that waits to be sent, and how much of it each organization sends. */
export const mails = `
create table mails (
  organization_id uuid not null references organizations (id),
  id uuid not null,
  kind text not null,
  recipient text not null,
  message_id text not null,
  -- Subject and texts, sealed: they may have links that are credentials. Null: it was given up.
  sealed text,
  queued_at timestamptz not null,
  expires_at timestamptz not null,
  tries integer not null default 0,
  due_at timestamptz not null,
  -- No other process takes it before.
  taken_until timestamptz,
  -- Why the last try failed.
  problem text,
  gave_up_at timestamptz,
  primary key (organization_id, id),
  check ((sealed is null) = (gave_up_at is not null))
);
create index mails_waiting on mails (organization_id, due_at) where gave_up_at is null;
create index mails_given_up on mails (gave_up_at) where gave_up_at is not null;

create table mail_days (
  organization_id uuid not null references organizations (id),
  -- In UTC.
  day date not null,
  recipients integer not null,
  primary key (organization_id, day)
);
`;
