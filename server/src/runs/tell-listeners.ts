/** The SQL that tells runs of an event, or one run of a signal, that their steps may listen to. */
import { OPEN_STATUSES_SQL } from "../execution/run/states.ts";
import { DUE_SQL } from "./wake-run.ts";

/** `$1`: the organization, `$2`: the type of event. */
export const PATHS_SQL = "select path from listened where organization_id = $1 and event = $2";

/**
 * Writes for the steps of these runs that have one of the keys that they have heard the event, and makes the runs due, in one statement.
 * Those that had heard it are left out. Returns the runs that are due. `$1`: the organization, `$2`: the runs, all of this month, `$3`: the event,
 * `$4`: the keys, `$5`: how many events may wait for a step.
 */
export const tellSql = (month: string): string => `
  with locked as materialized (
    select r.id from runs_${month} r
     where r.organization_id = $1 and r.id = any($2::uuid[]) and r.status in (${OPEN_STATUSES_SQL})
     order by r.id for no key update),
  told as (
    insert into heard_events (organization_id, run_id, step_number, event_id)
    select distinct $1::uuid, l.run_id, l.step_number, $3::uuid
      from locked join listeners l on l.organization_id = $1 and l.run_id = locked.id
     where l.key in (select decode(key, 'hex') from unnest($4::text[]) as key)
       and (select count(*) from (
         select from heard_events h where h.organization_id = $1 and h.run_id = l.run_id
            and h.step_number = l.step_number limit $5) as waiting) < $5
    on conflict do nothing returning run_id)
  update runs_${month} r set ${DUE_SQL}
   where r.organization_id = $1 and r.id in (select run_id from told) and r.status in (${OPEN_STATUSES_SQL})
  returning r.id`;
