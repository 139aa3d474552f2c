/** Refresh tokens by which an authority of OAuth 2 has replaced one that an author set. */
export const refreshTokens = `
create table refresh_tokens (
  organization_id uuid not null references organizations (id) on delete cascade,
  -- A hash of the author's token and of where it is good.
  key text not null,
  sealed text not null,
  replaced_at timestamptz not null,
  primary key (organization_id, key)
);
`;
