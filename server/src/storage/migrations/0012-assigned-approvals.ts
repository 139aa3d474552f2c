/** Approvals that name who may decide, and how many people it takes. */
export const assignedApprovals = `
alter table approvals
  -- E-mails in lower case and roles as role:editor. Null: anyone with the scope.
  add column assignees jsonb,
  -- Users who may not decide, whatever their role.
  add column excluded jsonb,
  add column quorum integer not null default 1 check (quorum > 0),
  -- Who decided what so far. Null: before there was this column, or nobody.
  add column decisions jsonb,
  add column due_at timestamptz,
  add column escalated_at timestamptz;

-- What somebody is asked, by their names: an index of arrays can't begin with the organization.
create function approval_keys(organization_id uuid, assignees jsonb) returns text[]
  language sql immutable strict parallel safe
  as $$ select array_agg(organization_id::text || ' ' || assignee) from jsonb_array_elements_text(assignees) assignee $$;
create index approvals_by_assignee on approvals using gin (approval_keys(organization_id, assignees))
  where assignees is not null;

create type assigned_approval_row as (
  organization_id uuid, id uuid, project_id uuid, agent_id uuid, run_id uuid, step_number int, status text,
  question text, assignee text, expires_at timestamptz, created_at timestamptz, decided_at timestamptz,
  decided_by_kind text, decided_by_id uuid, comment text, assignees json, excluded json, quorum int, decisions json,
  due_at timestamptz, escalated_at timestamptz, context json, form json, answer json);
`;
