/**
 * Lets runs go that wait for the one before (`overlap: queue`): at once when that ended in this process, and every half second
 * whatever ended elsewhere or was missed. Organizations take turns: of each as many triggers are looked at as of the others, and
 * none waits until another's are done.
 */
import { OPEN_STATUSES_SQL } from "../../execution/run/states.ts";
import { messageOf } from "../../lib/errors.ts";
import { NO_ID, type OrganizationId, type TriggerId } from "../../lib/ids.ts";
import { Loop, type Round } from "../../lib/loops/loop.ts";
import type { Database, Row } from "../../storage/database.ts";
import { release } from "./queue.ts";
import type { Waiting } from "./queues.ts";
import type { Firings } from "./firings.ts";

const LOOK_MS = 500;
/** In one look; the next one goes on from there. */
const ORGANIZATIONS = 250;
const LOOKED_AT = 500;

/** A run of the trigger has ended in this process. */
function releaseNext(firings: Firings, waiting: Waiting): void {
  const { queues, runs } = firings;
  if (runs.executions.draining) return;
  const underWay = queues.releasing.get(waiting.triggerId);
  if (underWay) underWay.again = true;
  else void releaseOne(firings, waiting);
}

/** Never rejects: what fails is tried again with the next look. */
function releaseOne(firings: Firings, waiting: Waiting): Promise<void> {
  const { queues, log } = firings;
  const { triggerId } = waiting;
  const before = queues.releasing.get(triggerId);
  if (before) return before.done;
  const one = { again: false, done: Promise.resolve() };
  queues.releasing.set(triggerId, one);
  const work = async (): Promise<void> => {
    try {
      do {
        one.again = false;
        await release(firings, waiting);
      } while (one.again);
    } catch (error) {
      log.warn({ trigger: triggerId, reason: messageOf(error) }, "a waiting run was not released; trying again");
    } finally {
      queues.releasing.delete(triggerId);
    }
  };
  one.done = work();
  return one.done;
}

/** Looks every half second and at the start. */
export function releaseQueues(firings: Firings): { loop: Loop } & AsyncDisposable {
  const { database, queues, clock, log } = firings;
  const closing = new AbortController();
  /** Triggers that are being released, by organization. */
  const busy = new Map<OrganizationId, Promise<void>>();
  /** Where the next look goes on; of an organization that has more than its share, too. */
  let after = NO_ID as OrganizationId;
  const afterTriggers = new Map<OrganizationId, TriggerId>();

  const releaseOf = async (organizationId: OrganizationId, ready: readonly Waiting[]): Promise<void> => {
    for (const waiting of ready) if (!closing.signal.aborted) await releaseOne(firings, waiting);
    busy.delete(organizationId);
  };
  const look = async (round: Round): Promise<void> => {
    const organizations = await organizationsWaiting(database, after);
    if (!round.goesOn()) return;
    after = organizations.length < ORGANIZATIONS ? (NO_ID as OrganizationId) : organizations.at(-1)!;
    const turns = organizations.filter((id) => !busy.has(id));
    if (turns.length === 0) return;
    const most = Math.ceil(LOOKED_AT / turns.length);
    const waiting = await waitingTriggers(database, turns, afterTriggers, most);
    if (!round.goesOn()) return;
    const byOrganization = Map.groupBy(waiting, ({ organizationId }) => organizationId);
    for (const organizationId of turns) {
      const own = byOrganization.get(organizationId) ?? [];
      if (own.length < most) afterTriggers.delete(organizationId);
      else afterTriggers.set(organizationId, own.at(-1)!.triggerId);
    }
    for (const { organizationId, triggerId } of waiting) queues.known.set(organizationId, triggerId, true);
    const ready = Map.groupBy(await readyOf(database, waiting), ({ organizationId }) => organizationId);
    if (!round.goesOn()) return;
    for (const [organizationId, own] of ready) busy.set(organizationId, releaseOf(organizationId, own));
  };
  const loop = new Loop({
    clock,
    log,
    name: "trigger-queues",
    everyMs: LOOK_MS,
    look,
    failed: "looking for runs that wait for the one before failed; trying again",
  }).start();
  queues.releaseNext = (waiting) => releaseNext(firings, waiting);
  return {
    loop,
    async [Symbol.asyncDispose]() {
      queues.releaseNext = () => {};
      closing.abort();
      await loop[Symbol.asyncDispose]();
      await Promise.all(busy.values());
      await Promise.all(Array.from(queues.releasing.values(), ({ done }) => done));
    },
  };
}

/** Jumps through the index from one to the next. */
async function organizationsWaiting(database: Database, after: OrganizationId): Promise<OrganizationId[]> {
  const rows = await database.hot(
    "firings_waiting_organizations",
    `with recursive o as (
       (select organization_id, 1 as place from firings where is_queued and organization_id > $1
         order by organization_id, trigger_id, id limit 1)
       union all
       select next.organization_id, o.place + 1 from o
        cross join lateral (
          select f.organization_id from firings f where f.is_queued and f.organization_id > o.organization_id
           order by f.organization_id, f.trigger_id, f.id limit 1) next
        where o.place < $2)
     select organization_id from o`,
    [after, ORGANIZATIONS],
  );
  return rows.map((row) => row["organization_id"]);
}

/** At most so many of each, from the last look's on. So the cost grows with the triggers, and not with what waits. */
async function waitingTriggers(
  database: Database,
  organizations: readonly OrganizationId[],
  after: ReadonlyMap<OrganizationId, TriggerId>,
  most: number,
): Promise<Waiting[]> {
  const rows = await database.hot(
    "firings_waiting_triggers",
    `select turn.organization_id, w.trigger_id
       from unnest($1::uuid[], $2::uuid[]) as turn (organization_id, after)
      cross join lateral (
        with recursive w as (
          (select f.trigger_id, 1 as place from firings f
            where f.is_queued and f.organization_id = turn.organization_id and f.trigger_id > turn.after
            order by f.trigger_id, f.id limit 1)
          union all
          select next.trigger_id, w.place + 1 from w
           cross join lateral (
             select f.trigger_id from firings f
              where f.is_queued and f.organization_id = turn.organization_id and f.trigger_id > w.trigger_id
              order by f.trigger_id, f.id limit 1) next
           where w.place < $3)
        select trigger_id from w) w`,
    [organizations, organizations.map((id) => after.get(id) ?? NO_ID), most],
  );
  return rows.map(waitingOfRow);
}

const waitingOfRow = (row: Row): Waiting => ({ organizationId: row["organization_id"], triggerId: row["trigger_id"] });

/** Those whose last run has ended. */
async function readyOf(database: Database, waiting: readonly Waiting[]): Promise<Waiting[]> {
  if (waiting.length === 0) return [];
  const rows = await database.query(
    `select t.organization_id, t.id as trigger_id
       from unnest($1::uuid[], $2::uuid[]) as w (organization_id, trigger_id)
       join triggers t on t.organization_id = w.organization_id and t.id = w.trigger_id
       left join runs r on r.organization_id = t.organization_id and r.id = t.last_run_id
      where r.id is null or r.status not in (${OPEN_STATUSES_SQL})`,
    [waiting.map(({ organizationId }) => organizationId), waiting.map(({ triggerId }) => triggerId)],
  );
  return rows.map(waitingOfRow);
}
