/** Approvals whose assignees are mailed, each with a link of their own. */
export const mailedApprovals = `
alter table approvals add column notify boolean not null default false;

create type mailed_approval_row as (
  organization_id uuid, id uuid, project_id uuid, agent_id uuid, run_id uuid, step_number int, status text,
  question text, assignee text, expires_at timestamptz, created_at timestamptz, decided_at timestamptz,
  decided_by_kind text, decided_by_id uuid, comment text, assignees json, excluded json, quorum int, decisions json,
  due_at timestamptz, escalated_at timestamptz, reassignments json, reminded_at timestamptz, notify boolean, context json,
  form json, answer json);

-- The links of mails. A token decides one approval as one person.
create table approval_links (
  organization_id uuid not null references organizations (id),
  approval_id uuid not null,
  user_id uuid not null references users (id),
  -- SHA-256 of the token.
  secret_hash bytea not null unique,
  created_at timestamptz not null,
  primary key (organization_id, approval_id, secret_hash)
);
`;
