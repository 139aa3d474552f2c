/** The costs of agents' questions to models, by day (UTC). */
import type { Clock } from "../lib/clock.ts";
import { createFreshCache } from "../lib/fresh-cache.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";

/** By date, YYYY-MM-DD. A day without questions is not there. */
type Costs = ReadonlyMap<string, number | null>;

/** The cost of a day of the last `LIMITS.usageDays`; null if a question had no price, or there are two currencies. */
export type ReadModelCost = (organizationId: OrganizationId, date: string) => Promise<number | null>;

type Options = { database: Database; clock: Clock };

const DAY_MS = 86_400_000;

/** Days that are summed up together. */
const SPANS = [31, 93, LIMITS.usageDays];

/** Half a million questions take a second to sum up, so all that is asked meanwhile shares the answer. */
export function createModelCosts({ database, clock }: Options): ReadModelCost {
  const load = (key: string): Promise<Costs> => {
    const [organizationId, days] = key.split(" ") as [OrganizationId, string];
    return readCosts(database, organizationId, { days: Number(days), today: Math.floor(clock.now() / DAY_MS) });
  };
  const costs = createFreshCache({ clock, ttlMs: 0, most: 1, load });
  return async (organizationId, date) => {
    const ago = clock.now() - Date.parse(date);
    const days = SPANS.find((span) => ago < span * DAY_MS) ?? LIMITS.usageDays;
    const cost = (await costs.get(`${organizationId} ${days}`))?.get(date);
    return cost === undefined ? 0 : cost;
  };
}

async function readCosts(
  database: Database,
  organizationId: OrganizationId,
  { days, today }: { days: number; today: number },
): Promise<Costs> {
  const rows = await database.query(
    `select to_char((called_at at time zone 'UTC')::date, 'YYYY-MM-DD') as date,
            case when bool_and(cost is not null) and min(currency) = max(currency) then sum(cost)::float8 end as cost
       from model_calls where organization_id = $1 and called_at >= $2 and called_at < $3
      group by (called_at at time zone 'UTC')::date`,
    [organizationId, new Date((today - days + 1) * DAY_MS), new Date((today + 1) * DAY_MS)],
    organizationId,
  );
  return new Map(rows.map((row) => [row["date"], row["cost"]]));
}
