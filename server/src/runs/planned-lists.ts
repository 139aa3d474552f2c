/**
 * The lists of runs that are mostly asked for, as statements that are planned once a connection: planning one over 24
 * months of partitions costs 2 to 5 ms, running it 0.2 to 1.
 *
 * A plan that is made once doesn't know how rare a value is: where the primary key is the smaller index it would walk
 * that one past everybody else's runs (240 ms for a million). So the order begins with a column whose value it doesn't
 * know to be one, and no other index has that order. Behind a cursor PostgreSQL 18 skips to its place in the index.
 */
import type { OrganizationId } from "../lib/ids.ts";
import { RUN_COLUMNS } from "./read-rows.ts";
import type { RunFilter } from "./run.ts";
import { RUN_STATUSES } from "./states.ts";

/** For `database.hot`. */
export type Planned = { name: string; text: string; values: unknown[] };
/** `least` inclusive, `before` exclusive. */
export type IdRange = { least: string; before: string };

/** Columns that lead an index with the run's id behind them. */
const COLUMNS = { agentId: "agent_id", projectId: "project_id" } as const;

/** Undefined for what no index has by itself. The filter's times are taken to be in the range of ids. */
export function plannedList(
  organizationId: OrganizationId,
  filter: RunFilter,
  { least, before }: IdRange,
  limit: number,
): Planned | undefined {
  const { createdAfter: _after, createdBefore: _before, status, ...others } = filter;
  const given = Object.entries(others).filter(([, value]) => value !== undefined);
  if (given.length === 0) {
    const { name, text } = ofOrganization(status);
    return { name, text, values: [organizationId, before, least, limit] };
  }
  const [[key, value]] = given as [[string, unknown]];
  if (given.length > 1 || status || !Object.hasOwn(COLUMNS, key)) return undefined;
  const column = COLUMNS[key as keyof typeof COLUMNS];
  return {
    name: `runs_of_${column}`,
    text: `select ${RUN_COLUMNS} from runs
      where organization_id = $1 and ${column} between $2 and $2 and id < $3 and id >= $4
      order by ${column}, id desc limit $5`,
    values: [organizationId, value, before, least, limit],
  };
}

/** `runs_by_rare_status` has all states but this one, which nearly every run ends in. */
const USUAL = "completed";

function ofOrganization(wanted: RunFilter["status"]): Omit<Planned, "values"> {
  const states = RUN_STATUSES.filter((status) => wanted?.includes(status) ?? true);
  // As literals: as a parameter the partial index is unusable.
  const only = wanted ? ` and status in (${states.map((status) => `'${status}'`).join(", ")})` : "";
  const name = `runs_${wanted ? states.join("_") : "all"}`;
  if (states.includes(USUAL) || states.length === 1) return { name, text: listed(only) };
  // One statement for all, so that a run which changes its state meanwhile is in one of them.
  const each = states.map((status) => `(${listed(` and status = '${status}'`)})`);
  return { name, text: `${each.join(" union all ")} order by id desc limit $4` };
}

const listed = (only: string): string => `select ${RUN_COLUMNS} from runs
  where organization_id between $1 and $1${only} and id < $2 and id >= $3 order by organization_id, id desc limit $4`;
