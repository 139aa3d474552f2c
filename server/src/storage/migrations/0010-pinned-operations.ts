/** The operations of OpenAPI documents, as a version of an agent first read them. */
export const pinnedOperations = `
create table pinned_operations (
  organization_id uuid not null,
  agent_id uuid not null,
  version text not null,
  -- SHA-256 of the document's address and the operation's id. An index can't hold a long address.
  key_hash text not null,
  -- For people; cut.
  document text not null,
  operation_id text not null,
  -- SHA-256 of the document.
  document_hash text not null,
  -- JSON.
  operation text not null,
  pinned_at timestamptz not null,
  primary key (organization_id, agent_id, version, key_hash),
  foreign key (organization_id, agent_id, version) references agent_versions (organization_id, agent_id, version)
    on delete cascade
);
`;
