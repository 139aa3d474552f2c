/**
 * Runs of a trigger that go one after the other (`overlap: queue`). A run that has to wait is written with its firing, and both say
 * so; it is parked (`runs/unpark-runs.ts`). The trigger's row decides whose turn it is.
 */
import { OPEN_STATUSES_SQL } from "../../execution/run/states.ts";
import { conflict } from "../../lib/errors.ts";
import type { AgentId, FiringId, RunId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import { unparkRuns } from "../../runs/unpark-runs.ts";
import type { Query } from "../../storage/database.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Firings } from "./firings.ts";
import type { Waiting } from "./queues.ts";

/** Those that wait are read in portions: most of them wait on. */
const READ = 20;

export async function hasQueue({ database }: Firings, { organizationId, id }: Trigger): Promise<boolean> {
  const rows = await database.hot(
    "firings_queued",
    "select 1 from firings where organization_id = $1 and trigger_id = $2 and is_queued limit 1",
    [organizationId, id],
    organizationId,
  );
  return rows.length > 0;
}

/** Throws CONFLICT when as many wait as may. Some that come at the same moment may exceed it. */
export async function checkQueue({ database }: Firings, { organizationId, id }: Trigger): Promise<void> {
  const count = async (): Promise<number> => {
    const [row] = await database.query(
      `select count(*)::int as count from (
         select from firings where organization_id = $1 and trigger_id = $2 and is_queued limit $3) queued`,
      [organizationId, id, LIMITS.queuedFirings],
      organizationId,
    );
    return row!["count"];
  };
  if ((await count()) < LIMITS.queuedFirings) return;
  await forgetEnded(database.query, { organizationId, triggerId: id });
  if ((await count()) >= LIMITS.queuedFirings)
    throw conflict("limit_reached", `at most ${LIMITS.queuedFirings} runs of a trigger may wait for the previous one`);
}

/** Runs that were cancelled while they waited do not wait any longer. */
async function forgetEnded(query: Query, { organizationId, triggerId }: Waiting): Promise<void> {
  const ended = await query(
    `select f.id from firings f join runs r on r.organization_id = f.organization_id and r.id = f.run_id
      where f.organization_id = $1 and f.trigger_id = $2 and f.is_queued and r.status not in (${OPEN_STATUSES_SQL})`,
    [organizationId, triggerId],
    organizationId,
  );
  if (ended.length === 0) return;
  await query(
    "update firings set is_queued = false where organization_id = $1 and id = any($2::uuid[])",
    [organizationId, ended.map(({ id }) => id)],
    organizationId,
  );
}

/** Lets the first one go that waits, if the one before has ended and nobody has the trigger locked. */
export async function release(
  { database, runs, queues }: Firings,
  { organizationId, triggerId }: Waiting,
): Promise<void> {
  const agentId = await database.transaction(async (query) => {
    const [trigger] = await query(
      "select agent_id, last_run_id from triggers where organization_id = $1 and id = $2 for no key update skip locked",
      [organizationId, triggerId],
    );
    if (!trigger) return undefined;
    // A statement of its own: a condition that looks into partitions is planned for each of them (store/firing-parts.ts).
    const [open] = await query(
      `select 1 from runs where organization_id = $1 and id = $2 and status in (${OPEN_STATUSES_SQL})`,
      [organizationId, trigger["last_run_id"]],
    );
    if (open) return undefined;
    // A firing that begins to wait from now on says so again.
    queues.known.delete(organizationId, triggerId);
    const runId = await takeFirst(query, { organizationId, triggerId });
    if (!runId) return undefined;
    queues.known.set(organizationId, triggerId, true);
    await query("update runs set queued = false where organization_id = $1 and id = $2", [organizationId, runId]);
    await query("update triggers set last_run_id = $3 where organization_id = $1 and id = $2", [
      organizationId,
      triggerId,
      runId,
    ]);
    return trigger["agent_id"] as AgentId;
  }, organizationId);
  if (agentId) await unparkRuns(runs, organizationId, agentId);
}

/** The first run that still is to begin, and all firings before it, wait no longer. */
async function takeFirst(query: Query, { organizationId, triggerId }: Waiting): Promise<RunId | undefined> {
  for (;;) {
    const waiting = await query(
      `select f.id, f.run_id, (r.status in (${OPEN_STATUSES_SQL})) is true as is_open
         from (select id, run_id from firings where organization_id = $1 and trigger_id = $2 and is_queued
                order by id limit ${READ}) f
         left join runs r on r.organization_id = $1 and r.id = f.run_id
        order by f.id`,
      [organizationId, triggerId],
    );
    const first = waiting.findIndex((row) => row["is_open"]);
    const gone = first < 0 ? waiting : waiting.slice(0, first + 1);
    if (gone.length === 0) return undefined;
    const ids = gone.map((row) => row["id"] as FiringId);
    await query("update firings set is_queued = false where organization_id = $1 and id = any($2::uuid[])", [
      organizationId,
      ids,
    ]);
    if (first >= 0) return waiting[first]!["run_id"];
  }
}
