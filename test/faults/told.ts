/** Compares what happened with the service's own events about it. */
import type pg from "pg";
import { expect } from "vitest";
import { decodeId, encodeId } from "../../server/src/lib/ids.ts";
import { eventually } from "../client.ts";

/** Waits until the organization (its public id) has nothing left to publish or fire. */
export const untilTold = (database: pg.Client, organizationId: string): Promise<unknown> =>
  eventually(async () => {
    const { rows } = await database.query(
      `select (select count(*) from untold_events where organization_id = $1)
         + (select count(*) from events where organization_id = $1 and fire_at is not null) as count`,
      [decodeId("organization", organizationId)],
    );
    return Number(rows[0].count) === 0;
  }, 60_000);

type Event = { event: string; subject: string; runs: number };

/**
 * Each run of these agents of an organization that ended, and each question, has one event, and each event has started one run of each of its triggers.
 * Returns how many there are. `since`: those from then on.
 */
export async function expectTold(
  database: pg.Client,
  organizationId: string,
  agents: readonly string[],
  triggersOf: Readonly<Record<string, number>>,
  since = new Date(0),
): Promise<number> {
  const values = [agents, since, decodeId("organization", organizationId)];
  const { rows: happened } = await database.query(
    `select 'run' as kind, r.id, 'run.' || r.status as event from runs r join agents a on a.id = r.agent_id
      where a.handle = any($1) and r.finished_at >= $2 and r.organization_id = $3
     union all
     select 'approval', p.id, 'approval.requested' from approvals p join agents a on a.id = p.agent_id
      where a.handle = any($1) and p.created_at >= $2 and p.organization_id = $3`,
    values,
  );
  const { rows: events } = await database.query<Event>(
    `select e.event, e.source_id as subject, count(distinct r.id)::int as runs from events e
       left join firings f on f.event_id = e.id and f.outcome = 'started' left join runs r on r.id = f.run_id
      where e.source = 'autograph' and e.organization_id = $1 group by e.id`,
    [decodeId("organization", organizationId)],
  );
  const told = Map.groupBy(events, ({ event, subject }) => `${event} ${subject}`);
  const wanted = happened
    .filter(({ event }) => event in triggersOf)
    .map(({ kind, id, event }) => ({ event, subject: encodeId(kind, id), runs: triggersOf[event]! }));
  const wrong = wanted.filter((one) => {
    const found = told.get(`${one.event} ${one.subject}`) ?? [];
    return found.length !== 1 || found[0]!.runs !== one.runs;
  });
  expect(wrong).toEqual([]);
  await expectNoOtherRuns(database, organizationId);
  return wanted.length;
}

/** No trigger of an organization has started a run that its firing does not know of: a firing that was made twice keeps one of its two runs. */
export async function expectNoOtherRuns(database: pg.Client, organizationId: string): Promise<void> {
  const { rows } = await database.query(
    `select r.id from runs r where r.started_by_kind = 'trigger' and r.organization_id = $1
        and not exists (select from firings f where f.run_id = r.id)`,
    [decodeId("organization", organizationId)],
  );
  expect(rows).toEqual([]);
}
