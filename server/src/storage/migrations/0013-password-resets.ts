/** Links to set a new password, for users who have forgotten theirs. */
export const passwordResets = `
-- Deleted with the first new password, so a link works once.
create table password_resets (
  secret_hash bytea primary key,
  user_id uuid not null references users (id),
  expires_at timestamptz not null
);
create index password_resets_of_user on password_resets (user_id);
`;
