/**
 * Agents with a limit on concurrent runs: a run is parked at its start (`pending`, not due) and unparked in order when
 * fewer runs than the limit have begun and not ended. Running, waiting and paused runs count. A run of a trigger that lets its
 * runs wait for one another is parked too, and not looked at here until its turn comes (`triggers/firings/queue.ts`).
 */
import { messageOf } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import type { Runs } from "./handle/runs.ts";
import { DUE_SQL, hintDue } from "./wake-run.ts";
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";

type Unparking = Pick<Runs, "database" | "clock" | "engine" | "log" | "notices" | "executions">;

/** A timer unparks runs whose time comes within this; a sweep finds later ones before then. */
const AHEAD_MS = 6_000;

/** When its time comes, unparks this run, and others whose time has come. */
export function unparkAt(runs: Unparking, organizationId: OrganizationId, agentId: AgentId, at: number): void {
  if (at > runs.clock.now() + AHEAD_MS) return;
  runs.clock.at(at, () => {
    if (!runs.executions.draining) void unparkRuns(runs, organizationId, agentId);
  });
}

/** Makes as many of the agent's parked runs due as its limit allows. Never throws: a sweep unparks what was missed. */
export async function unparkRuns(runs: Unparking, organizationId: OrganizationId, agentId: AgentId): Promise<void> {
  try {
    const unparked = await runs.database.transaction(async (query) => {
      // One at a time per agent, across all processes: its row is the lock.
      const [agent] = await query(
        "select concurrency_limit from agents where organization_id = $1 and id = $2 for no key update",
        [organizationId, agentId],
      );
      return query(UNPARK, [organizationId, agentId, new Date(runs.clock.now()), agent?.["concurrency_limit"] ?? null]);
    }, organizationId);
    for (const row of unparked) hintDue(runs, organizationId, row["id"] as RunId);
  } catch (error) {
    runs.log.warn(
      { agent: agentId, reason: messageOf(error) },
      "parked runs could not be unparked: the next sweep does it",
    );
  }
}

/** All of them if the limit has been removed. Both look-ups end at the limit: `runs_parked` and `runs_begun`, in order. */
const UNPARK = `
  update runs set ${DUE_SQL}
   where organization_id = $1 and id = any (array(
     select id from runs
      where agent_id = $2 and organization_id = $1 and limited and not queued and status = 'pending'
        and owner is null and wake_at is null and (run_at is null or run_at <= $3)
      order by id
      limit $4::int - (
        select count(*) from (
          select from runs
           where agent_id = $2 and organization_id = $1 and limited
             and (status in ('running', 'paused') or (status = 'pending' and wake_at is not null))
           limit $4::int) begun)))
  returning id`;

/**
 * Within the transaction that gives an agent a limit: counts its open runs from now on, and parks those that nobody has
 * begun. Locks them in the same order as the journals' writes.
 */
export async function limitRuns(query: Query, organizationId: OrganizationId, agentId: AgentId): Promise<void> {
  const open = `organization_id = $1 and agent_id = $2 and status in (${OPEN_STATUSES_SQL}) and not limited`;
  const values = [organizationId, agentId];
  await query(`select count(*) from (select id from runs where ${open} order by id for no key update) locked`, values);
  await query(
    `update runs set limited = true,
        wake_at = case when status = 'pending' and owner is null then null else wake_at end
      where ${open}`,
    values,
  );
}

/**
 * After its commit: runs in this process's memory report their end from now on. Runs in another's memory don't; the sweep
 * then unparks the next one.
 */
export function limitLoaded(runs: Pick<Runs, "executions">, agentId: AgentId): void {
  for (const { journal } of runs.executions.loaded.values())
    if (journal.head.agentId === agentId) journal.head.limited = true;
}

/** For every agent with parked runs in any organization: unparks runs whose time has come, sets a timer for each near one,
 * as long as `goesOn` says so. */
export async function unparkAll(runs: Unparking, goesOn = (): boolean => true): Promise<void> {
  const now = runs.clock.now();
  const agents = await runs.database.query(
    `select organization_id, agent_id, bool_or(run_at is null or run_at <= $1) as has_due,
        array_agg(distinct run_at) filter (where run_at > $1) as times
       from runs
      where limited and not queued and status = 'pending' and wake_at is null and owner is null
        and (run_at is null or run_at <= $2)
      group by organization_id, agent_id`,
    [new Date(now), new Date(now + AHEAD_MS)],
  );
  for (const row of agents) {
    const [organizationId, agentId] = [row["organization_id"] as OrganizationId, row["agent_id"] as AgentId];
    for (const time of (row["times"] as Date[] | null) ?? []) unparkAt(runs, organizationId, agentId, time.getTime());
    if (!goesOn()) return;
    if (row["has_due"]) await unparkRuns(runs, organizationId, agentId);
  }
}
