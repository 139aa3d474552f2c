/**
 * The most common lists of runs, as statements that are planned once per connection: planning one over 24 months of
 * partitions costs 2 to 5 ms, running it 0.2 to 1.
 *
 * A generic plan doesn't know how rare a value is: where the primary key is the smaller index, it would walk that one past
 * everybody else's runs (240 ms for a million). So the order begins with a column that the planner doesn't know to have
 * only one value, and no other index has that order. After a cursor PostgreSQL 18 skips to its place in the index.
 */
import type { IdRange, OrganizationId } from "../../lib/ids.ts";
import { RUN_COLUMNS } from "../../execution/journal/read-rows.ts";
import type { RunFilter } from "../../execution/run/run.ts";
import { RUN_STATUSES } from "../../execution/run/states.ts";

/** For `database.hot`. */
export type Planned = { name: string; text: string; values: unknown[] };
/** Columns that lead an index and are followed by the run's id. */
const COLUMNS = { agentId: "agent_id", projectId: "project_id" } as const;

/** The filter's other conditions: its times and ids are in the range of ids. */
function givenOf({
  createdFrom: _from,
  createdBefore: _before,
  idPrefix: _prefix,
  status: _status,
  ...others
}: RunFilter) {
  return Object.entries(others).filter(([, value]) => value !== undefined) as [string, readonly string[]][];
}

/** The list is read along one index, or along one for each state: going through all months at once costs little. */
export function isOneWalk(filter: RunFilter): boolean {
  const [first, ...others] = givenOf(filter);
  if (!first) return true;
  return others.length === 0 && !filter.status && Object.hasOwn(COLUMNS, first[0]) && first[1].length === 1;
}

/** Undefined if no single index fits. Assumes that the filter's times and ids are in the range. */
export function plannedList(
  organizationId: OrganizationId,
  filter: RunFilter,
  { least, before }: IdRange,
  limit: number,
  columns = RUN_COLUMNS,
): Planned | undefined {
  const [first, ...others] = givenOf(filter);
  if (!first) {
    const { name, text } = ofOrganization(filter.status, columns);
    return { name, text, values: [organizationId, before, least, limit] };
  }
  const [key, wanted] = first;
  if (others.length > 0 || filter.status || !Object.hasOwn(COLUMNS, key)) return undefined;
  const column = COLUMNS[key as keyof typeof COLUMNS];
  const isOne = wanted.length === 1;
  const { name, text } = isOne ? ofOne(column, columns) : ofSeveral(column);
  return { name, text, values: [organizationId, isOne ? wanted[0] : wanted, before, least, limit] };
}

type Column = (typeof COLUMNS)[keyof typeof COLUMNS];

const ofOne = (column: Column, columns: string): Omit<Planned, "values"> => ({
  name: `runs_of_${column}`,
  text: `select ${columns} from runs
    where organization_id = $1 and ${column} between $2 and $2 and id < $3 and id >= $4
    order by ${column}, id desc limit $5`,
});

/** A page of each, of which the newest are read. Several in one condition would be walked to their ends and sorted. */
const ofSeveral = (column: Column): Omit<Planned, "values"> => ({
  name: `runs_of_${column}s`,
  text: `select ${RUN_COLUMNS} from runs
    where organization_id = $1 and id in (
      select listed.id from unnest($2::uuid[]) as wanted (value), lateral (
        select id from runs
         where organization_id = $1 and ${column} between wanted.value and wanted.value and id < $3 and id >= $4
         order by ${column}, id desc limit $5) as listed
       order by listed.id desc limit $5)
    order by id desc`,
});

/** A page of each agent, newest first. */
export const OF_EACH_AGENT = `select ${RUN_COLUMNS} from unnest($2::uuid[]) as wanted (value), lateral (
    select * from runs
     where organization_id = $1 and agent_id between wanted.value and wanted.value and id < $3 and id >= $4
     order by agent_id, id desc limit $5) as listed
  order by agent_id, id desc`;

/** `runs_by_rare_status` has all states except this one, in which nearly every run ends. */
const USUAL = "completed";

function ofOrganization(wanted: RunFilter["status"], columns: string): Omit<Planned, "values"> {
  const states = RUN_STATUSES.filter((status) => wanted?.includes(status) ?? true);
  // Literals, because PostgreSQL can't use the partial index with a parameter.
  const only = wanted ? ` and status in (${states.map((status) => `'${status}'`).join(", ")})` : "";
  const name = `runs_${wanted ? states.join("_") : "all"}`;
  if (states.includes(USUAL) || states.length === 1) return { name, text: listed(only, columns) };
  // One statement for all, so that a run that changes state meanwhile appears exactly once.
  const each = states.map((status) => `(${listed(` and status = '${status}'`, columns)})`);
  return { name, text: `${each.join(" union all ")} order by id desc limit $4` };
}

const listed = (only: string, columns: string): string => `select ${columns} from runs
  where organization_id between $1 and $1${only} and id < $2 and id >= $3 order by organization_id, id desc limit $4`;
