/**
 * Lists of runs, newest first: by a statement that is planned already where there is one; else through the newest two
 * months first, and through all others only when these don't fill the page.
 */
import { timeOfId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { checkPage, pageOf, type Page, type PageRequest } from "../lib/page.ts";
import type { Database, Row } from "../storage/database.ts";
import { startOfMonth } from "../storage/partitions.ts";
import type { RunStatus } from "../storage/schema.ts";
import { plannedList, type IdRange } from "./planned-lists.ts";
import { RUN_COLUMNS, runFromRow } from "./read-rows.ts";
import type { Run, RunFilter } from "./run.ts";
import type { Runs } from "./runs.ts";
import { RUN_STATUSES } from "./states.ts";

type Wanted = { organizationId: OrganizationId; filter: RunFilter; limit: number };

export async function listRuns(
  runs: Pick<Runs, "database" | "clock">,
  organizationId: OrganizationId,
  filter: RunFilter,
  page: PageRequest,
): Promise<Page<Run>> {
  const { first, after } = checkPage(page);
  const rows = await read(runs, { organizationId, filter, limit: first + 1 }, rangeOf(filter, after));
  return pageOf(rows.map(runFromRow), first);
}

const LEAST_ID = "00000000-0000-0000-0000-000000000000";
const ABOVE_ALL_IDS = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The id carries the time, so that whole months are left out. */
function rangeOf({ createdAfter, createdBefore }: RunFilter, after = ABOVE_ALL_IDS): IdRange {
  const end = createdBefore ? leastId(createdBefore.getTime()) : ABOVE_ALL_IDS;
  return { least: createdAfter ? leastId(createdAfter.getTime()) : LEAST_ID, before: end < after ? end : after };
}

async function read(
  { database, clock }: Pick<Runs, "database" | "clock">,
  wanted: Wanted,
  range: IdRange,
): Promise<Row[]> {
  const { organizationId, filter, limit } = wanted;
  if (filter.status?.length === 0) return [];
  const planned = plannedList(organizationId, filter, range, limit);
  if (planned) return database.hot(planned.name, planned.text, planned.values, organizationId);
  const newest = Math.min(clock.now(), timeOfId(range.before as RunId));
  const boundary = leastId(startOfMonth(newest, 1 - NEWEST_MONTHS));
  if (boundary <= range.least) return readRange(database, wanted, range);
  const rows = await readRange(database, wanted, { ...range, least: boundary });
  if (rows.length === limit) return rows;
  const rest = { ...wanted, limit: limit - rows.length };
  return [...rows, ...(await readRange(database, rest, { ...range, before: boundary }))];
}

const NEWEST_MONTHS = 2;

/** Planned with its values, so that months outside of the range are left out and statistics choose the index. */
function readRange(
  database: Database,
  { organizationId, filter, limit }: Wanted,
  { least, before }: IdRange,
): Promise<Row[]> {
  const values: unknown[] = [organizationId, before, least];
  const conditions = ["organization_id = $1", "id < $2", "id >= $3"];
  const also = (condition: string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition.replace("?", `$${values.length}`));
  };
  also("project_id = ?", filter.projectId);
  also("agent_id = ?", filter.agentId);
  also("parent_run_id = ?", filter.parentId);
  also("started_by_kind = ?", filter.startedBy?.kind);
  also("started_by_id = ?", filter.startedBy?.id);
  if (filter.status) conditions.push(statusCondition(filter.status));
  return database.query(
    `select ${RUN_COLUMNS} from runs where ${conditions.join(" and ")} order by id desc limit ${limit}`,
    values,
    organizationId,
  );
}

/** As literals: as parameters the partial indexes are unusable (280 ms a page). */
function statusCondition(statuses: RunStatus[]): string {
  const known = RUN_STATUSES.filter((status) => statuses.includes(status));
  return `status in (${known.map((status) => `'${status}'`).join(", ")})`;
}

/** The least UUIDv7 of a time in ms. */
function leastId(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
