/** How many runs match a filter: counted up to a limit, beyond it estimated by PostgreSQL from its statistics. */
import type { RunFilter } from "../../execution/run/run.ts";
import type { Clock } from "../../lib/clock.ts";
import { createFreshCache, type FreshCache } from "../../lib/fresh-cache.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { parseStored } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { narrowed, type Within } from "../../lib/reach.ts";
import type { Database } from "../../storage/database.ts";
import { conditionsOf, rangeOf, selectsNothing } from "./list-runs.ts";
import { isOneWalk, plannedList } from "./planned-lists.ts";
import type { Runs } from "../handle/runs.ts";

export type Count = { value: number; isExact: boolean };

/** By what was asked. Planning over 24 months costs 2 to 5 ms, and statistics are minutes old anyway. */
export type Estimates = FreshCache<string, number>;

const ESTIMATE_TTL_MS = 30_000;
const ESTIMATES_KEPT = 1_000;

export const createEstimates = (database: Database, clock: Clock): Estimates =>
  createFreshCache({
    clock,
    ttlMs: ESTIMATE_TTL_MS,
    most: ESTIMATES_KEPT,
    load: (key) => {
      const [organizationId, { createdFrom, createdBefore, ...others }] = parseStored(key) as unknown as [
        OrganizationId,
        RunFilter,
      ];
      return estimate(database, organizationId, {
        ...others,
        ...(createdFrom && { createdFrom: new Date(createdFrom) }),
        ...(createdBefore && { createdBefore: new Date(createdBefore) }),
      });
    },
  });

export async function countRuns(
  runs: Pick<Runs, "database" | "estimates">,
  within: Within,
  wanted: RunFilter,
): Promise<Count> {
  const { organizationId } = within;
  const filter = narrowed(wanted, within);
  if (selectsNothing(filter)) return { value: 0, isExact: true };
  const value = await countSome(runs.database, organizationId, filter);
  if (value <= LIMITS.counted) return { value, isExact: true };
  const estimated = await runs.estimates.get(JSON.stringify([organizationId, filter]));
  return { value: Math.max(value, estimated ?? 0), isExact: false };
}

/** One more than the limit if there are more. */
async function countSome(database: Database, organizationId: OrganizationId, filter: RunFilter): Promise<number> {
  const range = rangeOf(filter);
  const most = LIMITS.counted + 1;
  const planned = isOneWalk(filter) ? plannedList(organizationId, filter, range, most, "id") : undefined;
  const counting = (text: string): string => `select count(*)::integer as found from (${text}) as found_runs`;
  if (planned) {
    const [row] = await database.hot(`count_${planned.name}`, counting(planned.text), planned.values, organizationId);
    return row!["found"];
  }
  const { conditions, values } = conditionsOf(organizationId, filter, range);
  const some = `select 1 from runs where organization_id = $1 and ${conditions} limit ${most}`;
  const [row] = await database.query(counting(some), values, organizationId);
  return row!["found"];
}

async function estimate(database: Database, organizationId: OrganizationId, filter: RunFilter): Promise<number> {
  const { conditions, values } = conditionsOf(organizationId, filter, rangeOf(filter));
  const [row] = await database.query(
    `explain (format json) select 1 from runs where organization_id = $1 and ${conditions}`,
    values,
    organizationId,
  );
  const [{ Plan: plan }] = row!["QUERY PLAN"] as [{ Plan: { "Plan Rows": number } }];
  return Math.min(plan["Plan Rows"], MAX_INT);
}

/** GraphQL's Int. */
const MAX_INT = 2 ** 31 - 1;
