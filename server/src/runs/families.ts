/** The consequences of a run's end for its parent, its children and the runs that queue behind it. */
import { messageOf, Refusal } from "../lib/errors.ts";
import type { OrganizationId, RunId, TriggerId } from "../lib/ids.ts";
import { unparkRuns } from "./unpark-runs.ts";
import { commitCancel } from "./commit-cancel.ts";
import type { Head } from "../execution/journal/loaded-run.ts";
import type { Runs } from "./handle/runs.ts";
import { wakeRun } from "./wake-run.ts";
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";

/**
 * After the commit of a run's end: makes its parent look at it, cancels the children that it waited for unless it
 * completed, and unparks the next queued run of its agent. `mendFamilies` does what a crash or an error leaves undone here.
 */
export async function afterEnd(
  runs: Runs,
  run: Pick<Head, "id" | "organizationId" | "agentId" | "parent" | "status" | "limited" | "startedBy">,
): Promise<void> {
  releaseNext(runs, run);
  try {
    if (run.parent?.awaits) {
      await wakeRun(runs, run.organizationId, run.parent.runId, run.id);
    }
    if (run.status !== "completed") await cancelChildren(runs, run.organizationId, run.id);
    if (run.limited) await unparkRuns(runs, run.organizationId, run.agentId);
  } catch (error) {
    runs.mended = false;
    runs.log.warn({ run: run.id, reason: messageOf(error) }, "a run's end was not told to its relatives");
  }
}

/** After the commit of a run's end: another run of its trigger may wait for the slot. */
export function releaseNext(
  { slotFreed }: Runs,
  { organizationId, startedBy }: Pick<Head, "organizationId" | "startedBy">,
): void {
  if (startedBy.kind === "trigger") slotFreed(organizationId, startedBy.id as TriggerId);
}

/** After the commit that closed the steps waiting for them, early or with the run. A child that has ended stays so. */
export async function cancelLeft(runs: Runs, organizationId: OrganizationId, ids: readonly RunId[]): Promise<void> {
  try {
    for (const id of ids) await cancelRelative(runs, organizationId, id);
  } catch (error) {
    runs.mended = false;
    runs.log.warn({ runs: ids, reason: messageOf(error) }, "children that nobody waits for were not cancelled");
  }
}

async function cancelChildren(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<void> {
  const rows = await runs.database.query(
    `select id from runs where parent_run_id = $1 and organization_id = $2 and parent_awaits and status in (${OPEN_STATUSES_SQL})`,
    [id, organizationId],
    organizationId,
  );
  for (const row of rows) await cancelRelative(runs, organizationId, row["id"] as RunId);
}

/** The relative may have ended meanwhile, or never begun. Its parent no longer waits for it. */
async function cancelRelative(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<void> {
  try {
    const { run, changed } = await commitCancel(runs, organizationId, id);
    if (changed) await afterEnd(runs, { ...run, parent: null });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/**
 * Does what a crash after a commit left undone: makes parents look at children that have ended since, and cancels
 * children whose step is no longer open (`afterEnd`, `cancelLeft`), as long as `goesOn` says so.
 */
export async function mendFamilies(runs: Runs, since: Date, goesOn = (): boolean => true): Promise<void> {
  const parents = await runs.database.query(
    `select distinct p.id, p.organization_id from runs c join runs p on p.id = c.parent_run_id
      where c.parent_awaits and c.parent_run_id is not null and c.finished_at >= $2
        and p.status in ('running', 'paused') and p.owner is null and (p.wake_at is null or p.wake_at > $1)`,
    [new Date(runs.clock.now()), since],
  );
  for (const row of parents)
    if (goesOn()) await wakeRun(runs, row["organization_id"] as OrganizationId, row["id"] as RunId);
  if (!goesOn()) return;
  const orphans = await runs.database.query(ORPHANS);
  for (const row of orphans)
    if (goesOn()) await cancelRelative(runs, row["organization_id"] as OrganizationId, row["id"] as RunId);
}

/**
 * How the state of a step that waits for its child ends (run-task.ts). Compared as text: PostgreSQL's JSON operators
 * refuse a state that has a NUL or half a surrogate pair anywhere, and one such run would block the mending of all others.
 */
const AWAITED = `'"childId":"([0-9a-f-]{36})","awaits":true}$'`;

/** Reads open steps once per parent: it may have 10,000 of them, and a hundred children at a time. */
const ORPHANS = `
  with children as materialized (
    select id, organization_id, parent_run_id from runs where parent_awaits and status in (${OPEN_STATUSES_SQL})),
  awaited as materialized (
    select s.child as id
      from (select distinct parent_run_id from children) p
     cross join lateral (
       select (substring(right(state::text, 80) from ${AWAITED}))::uuid as child from steps
        where run_id = p.parent_run_id and status in (${OPEN_STATUSES_SQL}) and state is not null offset 0) s)
  select id, organization_id from children c where not exists (select 1 from awaited a where a.id = c.id)`;
