/** The use of models by day (UTC): what it cost, which agents it was for, and over which connections. */
import type { Clock } from "../lib/clock.ts";
import { createFreshCache } from "../lib/fresh-cache.ts";
import type { AgentId, OrganizationId, ProjectId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Database } from "../storage/database.ts";

/** `cost`: null if a question had no price, or there are two currencies. `currency`: null without a cost. */
type Cost = { cost: number | null; currency: string | null };

/** The cost of a day of the last `LIMITS.usageDays`. */
export type ReadModelCost = (organizationId: OrganizationId, date: string) => Promise<Cost>;

/** `agentId`: null for sentences before their agent is known, and tests of connections. */
export type AgentModelUse = { agentId: AgentId | null; tokens: number } & Cost;

/** The agents with the most tokens of a day first, at most `LIMITS.usageAgents`. */
export type ReadAgentModelUse = (organizationId: OrganizationId, date: string) => Promise<AgentModelUse[]>;

/**
 * `name`: the connection's at the time, `server` for the operator's own, as a project may call its own as well. `projectId`: null
 * where none asked.
 */
export type ConnectionModelUse = { name: string; isOperators: boolean; projectId: ProjectId | null } & Omit<
  AgentModelUse,
  "agentId"
>;

/** The connections with the most tokens of a day first, at most `LIMITS.usageConnections`, once for each currency or without prices. */
export type ReadConnectionModelUse = (organizationId: OrganizationId, date: string) => Promise<ConnectionModelUse[]>;

type Options = { database: Database; clock: Clock; settled: (organizationId: OrganizationId) => Promise<void> };

const DAY_MS = 86_400_000;

/** Days that are summed up together. */
const SPANS = [31, 93, LIMITS.usageDays];

export function createModelCosts(options: Options): ReadModelCost {
  const costs = byDay(options, readCosts);
  return async (organizationId, date) => (await costs(organizationId, date)) ?? { cost: 0, currency: null };
}

export function createAgentModelUse(options: Options): ReadAgentModelUse {
  const uses = byDay(options, readAgentUse);
  return async (organizationId, date) => (await uses(organizationId, date)) ?? [];
}

export function createConnectionModelUse(options: Options): ReadConnectionModelUse {
  const uses = byDay(options, readConnectionUse);
  return async (organizationId, date) => (await uses(organizationId, date)) ?? [];
}

/** The days from `from` up to `before`. */
type Span = { from: Date; before: Date };
/** By date, YYYY-MM-DD. A day without questions is not there. */
type Days<Value> = ReadonlyMap<string, Value>;
type ReadDays<Value> = (database: Database, organizationId: OrganizationId, span: Span) => Promise<Days<Value>>;

/** Half a million questions take a second to sum up, so all that is asked meanwhile shares the answer. */
function byDay<Value>({ database, clock, settled }: Options, read: ReadDays<Value>) {
  const load = async (key: string): Promise<Days<Value>> => {
    const [organizationId, days] = key.split(" ") as [OrganizationId, string];
    await settled(organizationId);
    const today = Math.floor(clock.now() / DAY_MS);
    const [from, before] = [new Date((today - Number(days) + 1) * DAY_MS), new Date((today + 1) * DAY_MS)];
    return read(database, organizationId, { from, before });
  };
  const shared = createFreshCache({ clock, ttlMs: 0, most: 1, load });
  return async (organizationId: OrganizationId, date: string): Promise<Value | undefined> => {
    const ago = clock.now() - Date.parse(date);
    const days = SPANS.find((span) => ago < span * DAY_MS) ?? LIMITS.usageDays;
    return (await shared.get(`${organizationId} ${days}`))?.get(date);
  };
}

/** Null: a call had no price, or there are two currencies. */
const COST = "case when bool_and(cost is not null) and min(currency) = max(currency) then sum(cost)::float8 end";
const DATE = "to_char((called_at at time zone 'UTC')::date, 'YYYY-MM-DD')";

const readCosts: ReadDays<Cost> = async (database, organizationId, { from, before }) => {
  const rows = await database.query(
    `select date, cost, case when cost is not null then currency end as currency
       from (select ${DATE} as date, ${COST} as cost, min(currency) as currency
               from model_calls where organization_id = $1 and called_at >= $2 and called_at < $3
              group by 1) as of_day`,
    [organizationId, from, before],
    organizationId,
  );
  return new Map(rows.map(({ date, cost, currency }) => [date, { cost, currency }]));
};

type Use = Omit<AgentModelUse, "agentId">;

/** The uses with the most tokens of each day. `columns`: what they are grouped by and returned with; `apart`: what they are grouped by alone. */
const readUses =
  <Of extends Use>(columns: Readonly<Record<string, string>>, most: number, apart: string[] = []): ReadDays<Of[]> =>
  async (database, organizationId, { from, before }) => {
    const of = [...Object.values(columns), ...apart].join(", ");
    const names = Object.keys(columns).map((name) => `"${name}"`);
    const named = Object.entries(columns).map(([name, column]) => `${column} as "${name}"`);
    const tokens = "sum(input_tokens::bigint + output_tokens)";
    const rows = await database.query(
      `select date, ${names.join(", ")}, tokens, cost, case when cost is not null then currency end as currency
         from (select ${DATE} as date, ${named.join(", ")}, ${tokens}::float8 as tokens, ${COST} as cost, min(currency) as currency,
                 row_number() over (partition by ${DATE} order by ${tokens} desc, ${of}) as place
                 from model_calls where organization_id = $1 and called_at >= $2 and called_at < $3
                group by 1, ${of}) as of_day
        where place <= $4 order by date, place`,
      [organizationId, from, before, most],
      organizationId,
    );
    const days = new Map<string, Of[]>();
    for (const { date, ...use } of rows) days.set(date, [...(days.get(date) ?? []), use as unknown as Of]);
    return days;
  };

const readAgentUse = readUses<AgentModelUse>({ agentId: "agent_id" }, LIMITS.usageAgents);
const readConnectionUse = readUses<ConnectionModelUse>(
  { name: "connection", isOperators: "connection_id is null", projectId: "project_id" },
  LIMITS.usageConnections,
  ["currency"],
);
