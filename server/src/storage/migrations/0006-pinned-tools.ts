/** How MCP servers described their tools when a version of an agent first listed them. */
export const pinnedTools = `
create table pinned_tools (
  organization_id uuid not null,
  id uuid not null,
  agent_id uuid not null,
  version text not null,
  -- The address, or a command's words as JSON. An index can't hold a long one.
  server text not null,
  server_hash text not null,
  name text not null,
  -- JSON. Null: the server had no such tool.
  pinned text,
  pinned_hash text not null,
  pinned_at timestamptz not null,
  -- Null: nobody; it is the first list.
  trusted_by_kind actor_kind,
  trusted_by_id uuid,
  -- As the server last described it, if that is not what is pinned.
  changed text,
  changed_hash text,
  changed_at timestamptz,
  primary key (organization_id, id),
  unique (organization_id, agent_id, version, server_hash, name),
  foreign key (organization_id, agent_id, version) references agent_versions (organization_id, agent_id, version)
    on delete cascade,
  check ((changed is null) = (changed_hash is null) and (changed is null) = (changed_at is null)),
  check (changed_hash <> pinned_hash)
);
`;
