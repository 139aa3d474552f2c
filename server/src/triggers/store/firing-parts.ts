/** The parts that a trigger adds to the statement of a run's start: its firing, and the trigger's slot. */
import type { ActorKind } from "../../lib/actor.ts";
import type { AgentId, EventId, FiringId, OrganizationId, ProjectId, RunId, TriggerId } from "../../lib/ids.ts";
import { startPart, type Brought, type Guard } from "../../execution/journal/part.ts";
import type { FiringOutcome } from "../../storage/schema.ts";
import { bool, hex, int4, json, ms, nullable, RowSet, text, uuid, type RowOf } from "../../storage/unnest.ts";

/** One time that a trigger was due or called. If it starts a run, both are written or neither. */
export const FIRING = {
  id: uuid<FiringId>(),
  organization_id: uuid<OrganizationId>(),
  project_id: uuid<ProjectId>(),
  agent_id: uuid<AgentId>(),
  trigger_id: uuid<TriggerId>(),
  /** The name under which a trigger fires only once, unique by trigger. Its own id if nothing would be a repeat. */
  once: text(),
  at: ms(),
  /** When the trigger was due, if it has a schedule. */
  due_at: nullable(ms()),
  outcome: text<FiringOutcome>(),
  /** The run that it started; for a duplicate, the run that the first delivery started. */
  run_id: nullable(uuid<RunId>()),
  /** The name of the policy by which it was skipped. */
  policy: nullable(text()),
  code: nullable(text()),
  message: nullable(text()),
  fields: nullable(json()),
  /** Its run waits until the one that the trigger started before has ended. */
  is_queued: bool(),
  /** How many instants this skipped firing stands for. */
  skipped: nullable(int4()),
  /** Its sender's name for the delivery. */
  delivery: nullable(text()),
  /** SHA-256 of what came with it. */
  body_hash: nullable(hex()),
  payload: nullable(json()),
  /** The headers and the query of a call, where the trigger's mapping used them. */
  request: nullable(json()),
  /** Who asked for it by hand. */
  fired_by_kind: nullable(text<ActorKind>()),
  fired_by_id: nullable(uuid<string>()),
  replay_of: nullable(uuid<FiringId>()),
  /** The event that it fired on. */
  event_id: nullable(uuid<EventId>()),
};

export type FiringRow = RowOf<typeof FIRING>;

/** A run that is written only if the one that its trigger started last has ended. */
const SLOT = {
  run_id: uuid<RunId>(),
  organization_id: uuid<OrganizationId>(),
  trigger_id: uuid<TriggerId>(),
  /** Somebody fires it by hand, which a paused trigger allows too. */
  by_hand: bool(),
};

type SlotRow = RowOf<typeof SLOT>;

const FIRING_ROWS = new RowSet<FiringRow>("given_firing", "firing_row", FIRING);
const SLOT_ROWS = new RowSet<SlotRow>("wanted_slot", "turn_row", SLOT);

/** It may have been paused or deleted since the firing was prepared. */
const mayFire = (trigger: string, byHand: string): string =>
  `${trigger}.deleted_at is null and (${trigger}.status = 'active' or ${byHand})`;

/**
 * Skips locked triggers: a transaction of one organization may hold its trigger for seconds, and this statement is for all
 * organizations. The last run's status is read in a CTE of its own: PostgreSQL 18.4 crashes when it rechecks a condition that looks
 * into partitions.
 */
const SLOTS = startPart<SlotRow, Guard>({
  code: "o",
  rows: SLOT_ROWS,
  locked: "select run_id, null from wanted_slots where run_id not in (select run_id from held_triggers)",
  sql: (from) => `
      wanted_slots as materialized (select * from ${from}),
      held_triggers as materialized (
        select wanted_slot.run_id, wanted_slot.organization_id, wanted_slot.trigger_id, t.last_run_id, (${mayFire("t", "wanted_slot.by_hand")}) as fires
          from wanted_slots as wanted_slot join triggers t on t.organization_id = wanted_slot.organization_id and t.id = wanted_slot.trigger_id
           for no key update of t skip locked),
      free_slots as materialized (
        select distinct on (held.trigger_id) held.run_id, held.organization_id, held.trigger_id from held_triggers as held
         where held.fires and (held.last_run_id is null or held.last_run_id = held.run_id or exists (
           select from runs r where r.organization_id = held.organization_id and r.id = held.last_run_id and r.status in ('completed', 'failed', 'cancelled')))
         order by held.trigger_id, held.run_id),
      taken_slots as (
        update triggers t set last_run_id = free.run_id from free_slots as free
         where t.organization_id = free.organization_id and t.id = free.trigger_id
        returning free.run_id)`,
});

/** Leaves out firings whose run wanted a slot and got none. */
const HAS_SLOT = `and (given_firing.run_id in (select run_id from wanted_slots except select run_id from taken_slots)) is not true`;

const FIRINGS = startPart<FiringRow, Guard>({
  code: "f",
  rows: FIRING_ROWS,
  refused: "(select run_id from given_firings except select run_id from kept_firings)",
  sql: (from, { has }) => `
      given_firings as materialized (select * from ${from}),
      kept_firings as (
        insert into firings as known (${FIRING_ROWS.list})
        select distinct on (given_firing.trigger_id, given_firing.once) ${FIRING_ROWS.selected} from given_firings as given_firing
         where exists (
           select from triggers t where t.organization_id = given_firing.organization_id and t.id = given_firing.trigger_id
              and ${mayFire("t", "given_firing.fired_by_kind is not null")})
         ${has(SLOTS) ? HAS_SLOT : ""}
         order by given_firing.trigger_id, given_firing.once, given_firing.id
        on conflict (trigger_id, once) do update set run_id = excluded.run_id where known.id = excluded.id
        returning run_id)`,
});

/** Slots first: a firing asks whether its run has one. */
export const FIRING_PARTS: readonly Guard[] = [SLOTS, FIRINGS];

/** `slot`: the run is written only if the trigger's last one has ended. */
export const firingToWrite = (firing: FiringRow, slot: SlotRow | undefined): Brought[] => {
  const bytes = (firing.payload?.length ?? 0) + (firing.request?.length ?? 0);
  return [FIRINGS.row(firing, bytes), ...(slot ? [SLOTS.row(slot)] : [])];
};
