/** Approvals that others are asked about later: by somebody who passes them on, or because nobody decided in time. */
export const reassignedApprovals = `
alter table approvals
  -- Who passed it on, from whom to whom.
  add column reassignments jsonb,
  add column reminded_at timestamptz;

create type reassigned_approval_row as (
  organization_id uuid, id uuid, project_id uuid, agent_id uuid, run_id uuid, step_number int, status text,
  question text, assignee text, expires_at timestamptz, created_at timestamptz, decided_at timestamptz,
  decided_by_kind text, decided_by_id uuid, comment text, assignees json, excluded json, quorum int, decisions json,
  due_at timestamptz, escalated_at timestamptz, reassignments json, reminded_at timestamptz, context json, form json,
  answer json);
`;
