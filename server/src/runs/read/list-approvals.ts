/**
 * Lists of approvals, in either direction. Each is read along one index: a page of each project, agent or run and of each
 * state, of which the first are shown. Several values in one condition would be walked to their ends and sorted.
 */
import { APPROVAL_COLUMNS, approvalFromRow } from "../../execution/journal/read-rows.ts";
import type { Approval } from "../../execution/run/run.ts";
import { ABOVE_ALL_IDS, NO_ID, type AgentId, type ProjectId, type RunId } from "../../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import { narrowed, type Reach, type Within } from "../../lib/reach.ts";
import type { ApprovalStatus } from "../../storage/schema.ts";
import type { Runs } from "../handle/runs.ts";

/** Those that match every given field. Of a list, any value; of an empty one, none. */
export type ApprovalFilter = {
  status?: readonly ApprovalStatus[];
  projectId?: readonly ProjectId[];
  agentId?: readonly AgentId[];
  runId?: readonly RunId[];
  /** Names, any of which is among the assignees. */
  assignedTo?: readonly string[];
  /** Besides all others. */
  among?: Reach;
};
/** `asc`: oldest first. */
export type SortDirection = "asc" | "desc";

const STATUSES: ApprovalStatus[] = ["open", "approved", "rejected", "expired", "withdrawn"];

export async function listApprovals(
  runs: Pick<Runs, "database">,
  within: Within,
  wanted: ApprovalFilter,
  page: PageRequest,
  direction: SortDirection = "desc",
): Promise<Page<Approval>> {
  const { organizationId } = within;
  const filter = narrowed(wanted, within);
  const { first, after } = checkPage(page);
  if (Object.values(filter).some((list) => Array.isArray(list) && list.length === 0))
    return { items: [], hasNextPage: false };
  const bounds = direction === "asc" ? [after ?? NO_ID, ABOVE_ALL_IDS] : [NO_ID, after ?? ABOVE_ALL_IDS];
  const { name, text, values } = (filter.assignedTo ? statementOfAssigned : statement)(filter, direction);
  const rows = await runs.database.hot(name, text, [organizationId, ...bounds, first + 1, ...values], organizationId);
  return pageOf(rows.map(approvalFromRow), first);
}

/** All that name somebody are found by the index of assignees, and sorted. */
function statementOfAssigned({ assignedTo, among, ...filter }: ApprovalFilter, direction: SortDirection): Statement {
  const values: unknown[] = [assignedTo];
  const placeOf = (value: unknown): string => `$${4 + values.push(value)}`;
  const conditions = ["id > $2 and id < $3"];
  let name = `approvals_assigned_${direction}`;
  for (const [key, column, type] of COLUMNS) {
    if (filter[key] === undefined) continue;
    conditions.push(`${column} = any (${placeOf(filter[key])}::${type}[])`);
    name += `_${key}`;
  }
  if (among) {
    const project = `project_id = any (${placeOf(among.projectIds)}::uuid[])`;
    conditions.push(`(${project} or agent_id = any (${placeOf(among.agentIds)}::uuid[]))`);
    name += "_among";
  }
  // The index has the organization within its keys. Materialized, or the planner would prefer an index that has only that.
  const text = `with assigned as materialized (
      select id, run_id, agent_id, project_id, status from approvals
       where assignees is not null
         and approval_keys(organization_id, assignees) && array(select $1::uuid || ' ' || name from unnest($5::text[]) name))
    select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and id in (
      select id from assigned where ${conditions.join(" and ")} order by id ${direction} limit $4)
    order by id ${direction}`;
  return { name, text, values };
}

/** The most telling comes first: its index is read. */
const COLUMNS = [
  ["runId", "run_id", "uuid"],
  ["agentId", "agent_id", "uuid"],
  ["projectId", "project_id", "uuid"],
  ["status", "status", "text"],
] as const;

type Statement = { name: string; text: string; values: unknown[] };

function statement(filter: ApprovalFilter, direction: SortDirection): Statement {
  const given = COLUMNS.filter(([key]) => filter[key] !== undefined);
  const { among } = filter;
  const name = `approvals_${direction}${given.map(([key]) => `_${key}`).join("")}${among ? "_among" : ""}`;
  const [first, ...others] = given;
  const values: unknown[] = first ? [filter[first[0]]] : [];
  const placeOf = (value: unknown): string => `$${4 + values.push(value)}`;
  const conditions = ["id > $2 and id < $3"];
  const addAmong = ({ projectIds, agentIds }: Reach): void => {
    const project = `project_id = any (${placeOf(projectIds)}::uuid[])`;
    conditions.push(`(${project} or agent_id = any (${placeOf(agentIds)}::uuid[]))`);
  };
  const select = `select ${APPROVAL_COLUMNS} from approvals where organization_id = $1 and`;
  if (!first) {
    if (among) addAmong(among);
    return { name, text: `${select} ${conditions.join(" and ")} order by id ${direction} limit $4`, values };
  }
  const [lead, column, type] = first;
  // The index of an agent or a project goes on with the state, and within one state with the id.
  const hasStates = lead === "agentId" || lead === "projectId";
  let from = `unnest($5::${type}[]) as lead (value)`;
  if (hasStates) {
    from += `, unnest(${placeOf(filter.status ?? STATUSES)}::text[]) as state (value)`;
    conditions.push("status = state.value");
  }
  for (const [key, other, otherType] of others) {
    if (key === "status" && hasStates) continue;
    conditions.push(`${other} = any (${placeOf(filter[key])}::${otherType}[])`);
  }
  if (among) addAmong(among);
  // `between`: the planner must not know that there is one value, or it walks the primary key past all others (planned-lists.ts).
  const text = `${select} id in (
      select listed.id from ${from}, lateral (
        select id from approvals
         where organization_id = $1 and ${[...conditions, `${column} between lead.value and lead.value`].join(" and ")}
         order by ${column} ${direction}, id ${direction} limit $4) as listed
       order by listed.id ${direction} limit $4)
    order by id ${direction}`;
  return { name, text, values };
}
