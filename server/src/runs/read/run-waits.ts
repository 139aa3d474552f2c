/** The things that open runs wait for. */
import type { ApprovalId, OrganizationId, RunId } from "../../lib/ids.ts";
import { kindsThatWaitFor } from "../../definition/tasks/kinds.ts";
import { isOneOf, TRIED } from "../../execution/journal/read-rows.ts";
import { isObject, parseStored } from "../../lib/json/json.ts";
import { groupsByMonth } from "../../storage/partitions.ts";
import type { Runs } from "../handle/runs.ts";

/** Neither a time nor an approval: the step waits for the run that it started, or for events. */
export type RunWait = { stepNumber: number; until: Date | null; approvalId: ApprovalId | null; events: string[] };

/** The run, and how many at most. */
export type WaitsKey = { runId: RunId; most: number };

/** Each may have 10,000 steps, which are read in 4 ms: others get the connection in between. */
const RUNS_AT_ONCE = 10;

/**
 * Running steps of these kinds wait if their state says until when, or that they await a child. Others' states are not
 * read: those of loops have their items in them.
 */
/** Steps that listen, once their input says to what. The events that they have taken are in their state, which is not read: PostgreSQL refuses some texts in it. */
const LISTENS = isOneOf(kindsThatWaitFor("event"));
const MAY_WAIT = isOneOf([...kindsThatWaitFor("time"), ...kindsThatWaitFor("child"), ...TRIED]);

const ofOthers = (sql: string): string => `case when not ${LISTENS} then ${sql} end`;

/** In the order of `wanted`: the first `most` of each run, by step. */
export async function listWaits(
  { database }: Pick<Runs, "database">,
  organizationId: OrganizationId,
  wanted: readonly WaitsKey[],
): Promise<RunWait[][]> {
  const most = Math.max(...wanted.map((one) => one.most));
  const waits = new Map<RunId, RunWait[]>(wanted.map(({ runId }) => [runId, []]));
  for (const [month, ids] of groupsByMonth(database, [...waits.keys()], RUNS_AT_ONCE)) {
    const rows = await database.hot(
      `waits_${month}`,
      `select wanted.id, number, ${ofOthers("state ->> 'until'")} as until, ${ofOthers("state ->> 'approvalId'")} as approval_id,
           case when ${LISTENS} then input::text end as asked
         from unnest($2::uuid[]) as wanted (id) cross join lateral (
           select number, state, kind, input from steps_${month}
            where run_id = wanted.id and organization_id = $1 and status in ('running', 'paused') and case
              when status = 'paused' then true
              when ${LISTENS} then input is not null
              when ${MAY_WAIT} then coalesce(state ->> 'until', state ->> 'awaits') is not null end
            order by number limit $3) as waiting
        order by wanted.id, number`,
      [organizationId, ids, most],
      organizationId,
    );
    for (const row of rows) waits.get(row["id"])!.push(waitFromRow(row));
  }
  return wanted.map((one) => waits.get(one.runId)!.slice(0, one.most));
}

/** The types of the events that a step says that it listens to. */
function typesIn(asked: string | null): string[] {
  const filters = asked === null ? [] : parseStored(asked);
  const types = Array.isArray(filters) ? filters.map((one) => isObject(one) && one["type"]) : [];
  return [...new Set(types)].filter((type) => typeof type === "string");
}

const waitFromRow = (row: Record<string, any>): RunWait => ({
  stepNumber: row["number"],
  until: row["until"] === null ? null : new Date(Number(row["until"])),
  approvalId: row["approval_id"],
  events: typesIn(row["asked"]),
});
