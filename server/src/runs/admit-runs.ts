/**
 * Agents with a limit of concurrent runs: a run is parked at its start (`pending`, not due) and admitted in order when
 * fewer than the limit have begun and not ended; running, waiting and paused ones count.
 */
import { messageOf } from "../lib/errors.ts";
import type { AgentId, OrganizationId, RunId } from "../lib/ids.ts";
import type { Query } from "../storage/database.ts";
import { AT_ONCE_SQL } from "./due.ts";
import type { Head } from "./loaded-run.ts";
import type { Runs } from "./runs.ts";
import { OPEN_STATUSES_SQL } from "./states.ts";

type Admitting = Pick<Runs, "database" | "clock" | "engine" | "log" | "notices" | "draining">;

/** Parked runs whose time comes within this are admitted by a timer, later ones are found by a sweep before. */
const AHEAD_MS = 6_000;

/** After the commit of a start that was not begun by it. */
export async function wakeNew(
  runs: Admitting,
  head: Pick<Head, "id" | "organizationId" | "agentId" | "limited" | "runAt">,
): Promise<void> {
  if (head.limited) {
    if (head.runAt === null) return admitRuns(runs, head.organizationId, head.agentId);
    return admitAt(runs, head.organizationId, head.agentId, head.runAt);
  }
  wake(runs, head.organizationId, head.id, head.runAt);
}

function wake(runs: Admitting, organizationId: OrganizationId, id: RunId, at: number | null = null): void {
  runs.engine.wake(id, { organizationId, ...(at !== null && { at: new Date(at) }) });
  runs.notices.send({ kind: "wake", organizationId, id });
}

function admitAt(runs: Admitting, organizationId: OrganizationId, agentId: AgentId, at: number): void {
  if (at > runs.clock.now() + AHEAD_MS) return;
  runs.clock.at(at, () => {
    if (!runs.draining) void admitRuns(runs, organizationId, agentId);
  });
}

/** Makes as many parked runs of the agent due as its limit leaves room for. Never throws: a sweep admits what was missed. */
export async function admitRuns(runs: Admitting, organizationId: OrganizationId, agentId: AgentId): Promise<void> {
  try {
    const admitted = await runs.database.transaction(async (query) => {
      // One at a time for an agent, over all processes: its row is the lock.
      const [agent] = await query(
        "select concurrency_limit from agents where organization_id = $1 and id = $2 for no key update",
        [organizationId, agentId],
      );
      return query(ADMIT, [organizationId, agentId, new Date(runs.clock.now()), agent?.["concurrency_limit"] ?? null]);
    }, organizationId);
    for (const row of admitted) wake(runs, organizationId, row["id"] as RunId);
  } catch (error) {
    runs.log.warn({ agent: agentId, reason: messageOf(error) }, "queued runs were not admitted; the next sweep does");
  }
}

/** Without a limit, by now, all of them. Both look-ups end at the limit: `runs_parked` and `runs_begun`, in order. */
const ADMIT = `
  update runs set wake_at = ${AT_ONCE_SQL}, wake_seq = wake_seq + 1
   where organization_id = $1 and id = any (array(
     select id from runs
      where agent_id = $2 and organization_id = $1 and limited and status = 'pending' and owner is null and wake_at is null
        and (run_at is null or run_at <= $3)
      order by id
      limit $4::int - (
        select count(*) from (
          select from runs
           where agent_id = $2 and organization_id = $1 and limited
             and (status in ('running', 'paused') or (status = 'pending' and wake_at is not null))
           limit $4::int) begun)))
  returning id`;

/**
 * Within the transaction that gives an agent a limit: its open runs count from now on, those that nobody has begun are
 * parked. Locked in the order in which the journals' writes lock them.
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
 * After its commit: runs in the memory of this process tell of their end from now on; in another's memory they don't, and
 * the sweep admits the next one then.
 */
export function limitLoaded(runs: Pick<Runs, "loaded">, agentId: AgentId): void {
  for (const { journal } of runs.loaded.values()) if (journal.head.agentId === agentId) journal.head.limited = true;
}

/** Every agent with parked runs, of all organizations: those whose time has come, and a timer for each that is near. */
export async function admitAll(runs: Admitting): Promise<void> {
  const now = runs.clock.now();
  const agents = await runs.database.query(
    `select organization_id, agent_id, bool_or(run_at is null or run_at <= $1) as has_due,
        array_agg(distinct run_at) filter (where run_at > $1) as times
       from runs
      where limited and status = 'pending' and wake_at is null and owner is null
        and (run_at is null or run_at <= $2)
      group by organization_id, agent_id`,
    [new Date(now), new Date(now + AHEAD_MS)],
  );
  for (const row of agents) {
    const [organizationId, agentId] = [row["organization_id"] as OrganizationId, row["agent_id"] as AgentId];
    for (const time of (row["times"] as Date[] | null) ?? []) admitAt(runs, organizationId, agentId, time.getTime());
    if (row["has_due"]) await admitRuns(runs, organizationId, agentId);
  }
}
