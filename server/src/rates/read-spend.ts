/** The use of model connections by day (UTC). */
import { utcDate } from "../lib/calendar.ts";
import type { ModelConnectionId, OrganizationId } from "../lib/ids.ts";
import type { Database } from "../storage/database.ts";

/** A day on which there were calls, in one currency. `cost` and `currency`: null for calls without a price. */
export type SpendDay = { date: string; tokens: number; cost: number | null; currency: string | null };

export type SpendKey = { connectionId: ModelConnectionId; days: number };

/** In the order of `keys`, the newest day first. Reservations that have expired count in full, as with the organization's next call. */
export async function readSpend(
  database: Database,
  organizationId: OrganizationId,
  { keys, now }: { keys: readonly SpendKey[]; now: number },
): Promise<SpendDay[][]> {
  const rows = await database.query(
    `select wanted.place::int as place, to_char(s.day, 'YYYY-MM-DD') as date, sum(s.tokens)::bigint as tokens,
            sum(s.cost)::float8 as cost, s.currency
       from unnest($2::uuid[], $3::int[]) with ordinality as wanted (subject, days, place)
       join (select subject, day, currency, tokens, cost from model_spend where organization_id = $1
             union all
             select connection_id, day, currency, tokens, cost from model_reservations
              where organization_id = $1 and expires_at <= $5) s
         on s.subject = wanted.subject and s.day > $4::date - wanted.days and s.day <= $4::date
      group by place, s.day, s.currency having sum(s.tokens) <> 0 or sum(s.cost) <> 0
      order by place, s.day desc, s.currency`,
    [
      organizationId,
      keys.map(({ connectionId }) => connectionId),
      keys.map(({ days }) => days),
      utcDate(now),
      new Date(now),
    ],
    organizationId,
  );
  const found = keys.map((): SpendDay[] => []);
  for (const { place, date, tokens, cost, currency } of rows) {
    const isPriced = currency !== "";
    found[place - 1]!.push({ date, tokens, cost: isPriced ? cost : null, currency: isPriced ? currency : null });
  }
  return found;
}
