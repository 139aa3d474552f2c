/**
 * Lists of runs, newest first: by an already planned statement where there is one; else through the newest two months,
 * and through all others only if these don't fill the page.
 */
import {
  ABOVE_ALL_IDS,
  leastIdOf,
  NO_ID,
  timeOfId,
  type AgentId,
  type IdRange,
  type OrganizationId,
  type RunId,
} from "../../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../../lib/page.ts";
import { narrowed, type Within } from "../../lib/reach.ts";
import type { Database, Row } from "../../storage/database.ts";
import { startOfMonth } from "../../storage/partitions.ts";
import type { RunStatus } from "../../storage/schema.ts";
import { isOneWalk, OF_EACH_AGENT, plannedList } from "./planned-lists.ts";
import { RUN_COLUMNS, runFromRow } from "../../execution/journal/read-rows.ts";
import type { Run, RunFilter } from "../../execution/run/run.ts";
import type { Runs } from "../handle/runs.ts";
import { RUN_STATUSES } from "../../execution/run/states.ts";

/** The newest runs of each agent, in one statement, or two if the newest months do not have enough. */
export async function newestRunsOfEach(
  { database, clock }: Pick<Runs, "database" | "clock">,
  organizationId: OrganizationId,
  agentIds: readonly AgentId[],
  first: number,
): Promise<Map<AgentId, Page<Run>>> {
  const most = first + 1;
  const readPart = async (
    ids: readonly AgentId[],
    { least, before }: IdRange,
    limit: number,
  ): Promise<Map<AgentId, Row[]>> => {
    const values = [organizationId, ids, before, least, limit];
    const rows = await database.hot("runs_of_each_agent", OF_EACH_AGENT, values, organizationId);
    return Map.groupBy(rows, (row) => row["agent_id"] as AgentId);
  };
  const boundary = leastIdOf(startOfMonth(clock.now(), 1 - NEWEST_MONTHS));
  const newest = await readPart(agentIds, { least: boundary, before: ABOVE_ALL_IDS }, most);
  const short = agentIds.filter((id) => (newest.get(id)?.length ?? 0) < most);
  const missing = Math.max(...short.map((id) => most - (newest.get(id)?.length ?? 0)));
  const older = short.length === 0 ? undefined : await readPart(short, { least: NO_ID, before: boundary }, missing);
  const pages = agentIds.map((id): [AgentId, Page<Run>] => {
    const rows = [...(newest.get(id) ?? []), ...(older?.get(id) ?? [])].slice(0, most);
    return [id, pageOf(rows.map(runFromRow), first)];
  });
  return new Map(pages);
}

type Wanted = { organizationId: OrganizationId; filter: RunFilter; limit: number };

export async function listRuns(
  runs: Pick<Runs, "database" | "clock">,
  within: Within,
  filter: RunFilter,
  page: PageRequest,
): Promise<Page<Run>> {
  const { first, after } = checkPage(page);
  const wanted = { organizationId: within.organizationId, filter: narrowed(filter, within), limit: first + 1 };
  const rows = await read(runs, wanted, rangeOf(filter, after));
  return pageOf(rows.map(runFromRow), first);
}

/** The id carries the time, so that whole months are left out. */
export function rangeOf({ createdFrom, createdBefore, idPrefix: ids }: RunFilter, after = ABOVE_ALL_IDS): IdRange {
  const from = createdFrom ? leastIdOf(createdFrom.getTime()) : NO_ID;
  const ends = [
    createdBefore ? leastIdOf(createdBefore.getTime()) : ABOVE_ALL_IDS,
    ids?.before ?? ABOVE_ALL_IDS,
    after,
  ];
  return { least: ids && ids.least > from ? ids.least : from, before: ends.toSorted()[0]! };
}

async function read(
  { database, clock }: Pick<Runs, "database" | "clock">,
  wanted: Wanted,
  range: IdRange,
): Promise<Row[]> {
  const { organizationId, filter, limit } = wanted;
  if (selectsNothing(filter)) return [];
  const readPart = (part: IdRange, most: number): Promise<Row[]> => {
    const planned = plannedList(organizationId, filter, part, most);
    if (planned) return database.hot(planned.name, planned.text, planned.values, organizationId);
    return readRange(database, { ...wanted, limit: most }, part);
  };
  if (isOneWalk(filter)) return readPart(range, limit);
  const newest = Math.min(clock.now(), timeOfId(range.before as RunId));
  const boundary = leastIdOf(startOfMonth(newest, 1 - NEWEST_MONTHS));
  if (boundary <= range.least) return readPart(range, limit);
  const rows = await readPart({ ...range, least: boundary }, limit);
  if (rows.length === limit) return rows;
  return [...rows, ...(await readPart({ ...range, before: boundary }, limit - rows.length))];
}

const NEWEST_MONTHS = 2;

/** Planned with its values, so that PostgreSQL skips months outside the range and statistics choose the index. */
function readRange(database: Database, { organizationId, filter, limit }: Wanted, range: IdRange): Promise<Row[]> {
  const { conditions, values } = conditionsOf(organizationId, filter, range);
  return database.query(
    `select ${RUN_COLUMNS} from runs where organization_id = $1 and ${conditions} order by id desc limit ${limit}`,
    values,
    organizationId,
  );
}

/** A list in the filter is empty. */
export const selectsNothing = (filter: RunFilter): boolean =>
  Object.values(filter).some((value) => Array.isArray(value) && value.length === 0);

/** The conditions for a run besides its organization, which is `$1`. */
export function conditionsOf(
  organizationId: OrganizationId,
  filter: RunFilter,
  { least, before }: IdRange,
): { conditions: string; values: unknown[] } {
  const values: unknown[] = [organizationId, before, least];
  const conditions = ["id < $2", "id >= $3"];
  const also = (column: string, type: string, wanted: readonly string[] | undefined): void => {
    if (!wanted) return;
    values.push(wanted.length === 1 ? wanted[0] : wanted);
    conditions.push(`${column} = ${wanted.length === 1 ? `$${values.length}` : `any ($${values.length}::${type}[])`}`);
  };
  also("project_id", "uuid", filter.projectId);
  also("agent_id", "uuid", filter.agentId);
  also("parent_run_id", "uuid", filter.parentId && [filter.parentId]);
  also("started_by_kind", "text", filter.starterKind);
  also("started_by_id", "uuid", filter.starterId);
  if (filter.status) conditions.push(statusCondition(filter.status));
  if (filter.among) {
    const { projectIds, agentIds } = filter.among;
    const project = `project_id = any ($${values.push(projectIds)}::uuid[])`;
    conditions.push(`(${project} or agent_id = any ($${values.push(agentIds)}::uuid[]))`);
  }
  return { conditions: conditions.join(" and "), values };
}

/** Literals, because PostgreSQL can't use the partial indexes with parameters (280 ms a page). */
function statusCondition(statuses: readonly RunStatus[]): string {
  const known = RUN_STATUSES.filter((status) => statuses.includes(status));
  return `status in (${known.map((status) => `'${status}'`).join(", ")})`;
}
