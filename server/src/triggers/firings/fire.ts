/**
 * The one door between triggers and runs: whatever fires goes through here, and leaves a firing that says what came of it. A
 * firing that starts a run is committed in the same statement as the run, or neither is.
 */
import { RefusedStart, UndecidedStart } from "../../execution/journal/journal.ts";
import { firingToWrite, type FiringRow } from "../store/firing-parts.ts";
import type { Run } from "../../execution/run/run.ts";
import { isFinal } from "../../execution/run/states.ts";
import { runOf } from "../../execution/journal/loaded-run.ts";
import type { Actor } from "../../lib/actor.ts";
import type { Ending } from "../../lib/ending.ts";
import { conflict, Refusal, shortened } from "../../lib/errors.ts";
import { encodeId, newIdAt, type FiringId } from "../../lib/ids.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { allOf } from "../../lib/reach.ts";
import { insertRun, newHead } from "../../runs/insert-run.ts";
import { checkTakes, prepareRun } from "../../runs/prepare-run.ts";
import { JsonText } from "../../lib/json/json-text.ts";
import { readPayloads } from "../../runs/read/read-payloads.ts";
import { readRun } from "../../runs/read/read.ts";
import { untilSettled } from "../../runs/watch/wait-for-run.ts";
import { firingOfRow, freeOnce, insertFiring, readFirst, type FirstFiring } from "../store/firing-store.ts";
import type { Event } from "../../events/event.ts";
import { kindOf } from "../kinds/kinds.ts";
import { withMapped } from "./map-input.ts";
import { makeWay, noTries, overlapIn, type HeldBy, type Tries } from "./make-way.ts";
import { checkQueue, hasQueue } from "./queue.ts";
import { readTriggerRows } from "../store/trigger-store.ts";
import type { Firing, Trigger } from "../store/trigger.ts";
import type { Firings } from "./firings.ts";
import { tellFiring } from "./watch-firings.ts";
import { unmatchedField } from "../kinds/webhook/body-filter.ts";

export type Occasion = {
  /** When it was due; null: it was called. ms since 1970. */
  dueAt: number | null;
  /** The body or the event's data. */
  payload: JsonObject | undefined;
  /** The headers and the query of a call, where the trigger's mapping uses them. */
  parts?: JsonObject | undefined;
  /** Its sender's name for it, and the SHA-256 of its body: one name starts one run, however often it is sent. */
  delivery?: { name: string; bodyHash: string } | undefined;
  /** The event that it fires on. Its row has the payload, and its source names the delivery. */
  event?: Event | undefined;
  /** Who fired it by hand, which a paused trigger allows too. */
  firedBy?: Actor | undefined;
  replayOf?: FiringId | undefined;
  /** The instant that dates in the input are relative to, if not `dueAt`. ms since 1970. */
  asOf?: number | undefined;
  /** Returns when the run ends or pauses, or after this long. */
  waitSeconds?: number | undefined;
  /** Ends the wait early: the client has gone, or may no longer wait. */
  ending?: Ending | undefined;
};

/** `run`: the one that it started; for a duplicate, the one that the first delivery started. `refusal`: why it was refused. */
export type Fired = { firing: Firing; run?: Run | undefined; refusal?: Refusal };

/**
 * Undefined: the instant or the event was already fired, in this process or another, or the trigger has been deleted. Throws
 * UNAVAILABLE and leaves no firing when the server takes no runs at all, or if the trigger stays locked for 10 s: call again.
 */
export async function fire(firings: Firings, trigger: Trigger, occasion: Occasion): Promise<Fired | undefined> {
  checkTakes("runs", firings.runs);
  const fired = (await passOver(firings, trigger, occasion)) ?? (await attempt(firings, trigger, occasion));
  if (fired) tellFiring(firings, fired.firing);
  return fired;
}

/** Records a call whose body does not match the policy's filter as a firing that started nothing. Undefined: it matches. */
async function passOver(firings: Firings, trigger: Trigger, occasion: Occasion): Promise<Fired | undefined> {
  const { payload, event, firedBy, dueAt } = occasion;
  // A firing by hand is wanted, and the firing of a paused trigger says that it is paused.
  if (event || firedBy || dueAt !== null || trigger.status === "paused") return undefined;
  const field = unmatchedField(trigger.policy, payload ?? {});
  if (field === undefined) return undefined;
  const message = `the body does not match the trigger's filter: ${shortened(field)}`;
  return skipped(firings, rowOf(firings, trigger, occasion), "filter", message);
}

/** Starts a run, or leaves a firing that says why not; tries again while the trigger is held by others. */
async function attempt(firings: Firings, trigger: Trigger, occasion: Occasion): Promise<Fired | undefined> {
  const tries = noTries();
  let present: Trigger | undefined = trigger;
  while (present) {
    const row = rowOf(firings, present, occasion);
    const tried = await tryToStart(firings, present, occasion, row, tries);
    if (tried !== "taken" && tried !== "locked") return tried;
    // The change that held it up may have changed the trigger.
    const known = await readTriggerRows(firings.database, allOf(row.organization_id), [trigger.id]);
    present = known.get(trigger.id);
    if (present && isPausedFor(present, occasion)) return refuse(firings, row, paused());
    if (present && !(await makeWay(firings, present, tried, tries))) return holdBack(firings, row);
  }
  return undefined;
}

/** `taken` or `locked`: the firing may try again. Throws errors that do not refuse this firing, such as UNAVAILABLE. */
async function tryToStart(
  firings: Firings,
  trigger: Trigger,
  occasion: Occasion,
  row: FiringRow,
  { isEnqueued }: Tries,
): Promise<Fired | HeldBy | undefined> {
  try {
    // Runs that wait go first.
    row.is_queued = overlapIn(trigger) === "queue" && (isEnqueued || (await hasQueue(firings, trigger)));
    return await start(firings, trigger, occasion, row);
  } catch (error) {
    const isHeld = error instanceof UndecidedStart || error instanceof RefusedStart;
    if (!isHeld && (!(error instanceof Refusal) || error.code === "UNAVAILABLE")) throw error;
    if (row.once !== row.id) {
      const first = await firstOf(firings, trigger, row);
      if (first) return occasion.delivery && !occasion.event ? repeated(firings, row, first, occasion) : undefined;
    }
    if (!isHeld) return refuse(firings, row, error);
    return error instanceof UndecidedStart ? "locked" : "taken";
  }
}

const isPausedFor = ({ status }: Trigger, { firedBy }: Occasion): boolean => status === "paused" && !firedBy;
const paused = (): Refusal => conflict("wrong_state", "the trigger is paused");

/** The row of a firing before its outcome is known. */
export function rowOf({ clock }: Pick<Firings, "clock">, trigger: Trigger, occasion: Occasion): FiringRow {
  const { organizationId, projectId, agentId, id: triggerId } = trigger;
  const { dueAt, payload, parts, delivery, event, firedBy, replayOf } = occasion;
  const at = clock.now();
  const id = newIdAt<"firing">(at);
  return {
    id,
    organization_id: organizationId,
    project_id: projectId,
    agent_id: agentId,
    trigger_id: triggerId,
    once: repeatOf(occasion) ?? id,
    at,
    due_at: dueAt,
    outcome: "started",
    run_id: null,
    policy: null,
    code: null,
    message: null,
    fields: null,
    is_queued: false,
    skipped: null,
    delivery: delivery?.name ?? null,
    body_hash: delivery?.bodyHash ?? null,
    // An event's payload is in the event's row, once for all its firings.
    payload: payload === undefined || event ? null : JSON.stringify(payload),
    request: parts === undefined ? null : JSON.stringify(parts),
    fired_by_kind: firedBy?.kind ?? null,
    fired_by_id: firedBy?.id ?? null,
    replay_of: replayOf ?? null,
    event_id: event?.id ?? null,
  };
}

export const onceAt = (dueAt: number): string => `due ${dueAt}`;

/** The key by which a second firing is a repeat of the first. Undefined: none is. */
function repeatOf({ dueAt, delivery, event }: Occasion): string | undefined {
  if (dueAt !== null) return onceAt(dueAt);
  if (!delivery) return undefined;
  return event ? `event ${event.id}` : `delivery ${delivery.name}`;
}

/** Throws the refusal of the start, RefusedStart or UndecidedStart. */
async function start(firings: Firings, trigger: Trigger, occasion: Occasion, row: FiringRow): Promise<Fired> {
  const { runs } = firings;
  const { organizationId, agentId } = trigger;
  const { dueAt, payload, parts, event, asOf, firedBy, waitSeconds, ending } = occasion;
  if (isPausedFor(trigger, occasion)) throw paused();
  const kind = kindOf(trigger.type);
  using stack = new DisposableStack();
  let settled: ReturnType<typeof untilSettled> | undefined;
  const variables = { event: event ? shownEvent(event) : null, headers: null, query: null, ...parts };
  const given = { data: payload, variables };
  const inserted = await withMapped(firings, organizationId, trigger.policy, given, async (came) => {
    const prepared = await prepareRun(runs, allOf(organizationId), {
      agentId,
      input: kind.inputOf(trigger.configuration, came, asOf ?? dueAt ?? row.at),
      path: "input",
      unknown: kind.dropsUnknown ? "drop" : "refuse",
    });
    if (row.is_queued) await checkQueue(firings, trigger);
    const parked = row.is_queued && { limited: true };
    const head = newHead(runs, prepared, { organizationId, startedBy: { kind: "trigger", id: trigger.id }, ...parked });
    if (waitSeconds !== undefined) settled = stack.use(untilSettled(runs, head, waitSeconds, ending));
    row.run_id = head.id;
    const slot = {
      run_id: head.id,
      organization_id: organizationId,
      trigger_id: trigger.id,
      by_hand: firedBy !== undefined,
    };
    return insertRun(runs, head, {
      ...prepared,
      brought: firingToWrite(row, overlapIn(trigger) === "allow" || row.is_queued ? undefined : slot),
      isQueued: row.is_queued,
      waits: settled !== undefined,
    });
  });
  if (row.is_queued) firings.queues.known.set(organizationId, trigger.id, true);
  const { run } = settled ? await settled.result() : { run: runOf(inserted) };
  return { firing: firingOfRow(row, event?.data), run };
}

/** The event as a mapping sees it: its fields have the API's names. */
const shownEvent = ({ id, source, event, sourceId, time, at }: Event): Json => ({
  id: encodeId("event", id),
  source,
  event,
  sourceId,
  time: time.toISOString(),
  at: at.toISOString(),
});

/** The first firing of the same instant, or of the same delivery within `deliveryHours`: an older one gives up its `once`. */
async function firstOf({ database, clock }: Firings, { type }: Trigger, row: FiringRow) {
  const first = await readFirst(database, row);
  if (!first || row.due_at !== null || row.event_id !== null) return first;
  if (first.at.getTime() > clock.now() - kindOf(type).deliveryHours * 3_600_000) return first;
  await freeOnce(database, row.organization_id, first.id);
  return undefined;
}

async function repeated(
  firings: Firings,
  row: FiringRow,
  first: FirstFiring,
  { delivery, waitSeconds, ending }: Occasion,
): Promise<Fired | undefined> {
  if (first.bodyHash !== delivery!.bodyHash)
    return refuse(firings, row, conflict("key_reused", "this delivery came before with another body"));
  const { runs, database } = firings;
  const firing = await insertFiring(database, {
    ...row,
    once: row.id,
    outcome: "duplicate",
    run_id: first.runId,
    // The first delivery's firing has the same payload.
    payload: first.runId ? null : row.payload,
  });
  const run = first.runId ? await readRun(runs, allOf(row.organization_id), first.runId) : undefined;
  if (!firing || !run || waitSeconds === undefined) return firing && { firing, run };
  using settled = untilSettled(runs, run, waitSeconds, ending);
  return { firing, run: (await settled.result()).run };
}

/** A delivery that started nothing may be sent again; an instant is fired once. */
const onceOf = (row: FiringRow): string => (row.due_at === null ? row.id : row.once);

/** Records that nothing was started because the trigger's previous run is open. */
const holdBack = (firings: Firings, row: FiringRow): Promise<Fired | undefined> =>
  skipped(firings, row, "overlap", "the trigger's previous run has not ended");

async function skipped(
  { database }: Firings,
  row: FiringRow,
  policy: "overlap" | "filter",
  message: string,
): Promise<Fired | undefined> {
  const firing = await insertFiring(database, {
    ...row,
    once: onceOf(row),
    outcome: "skipped",
    run_id: null,
    policy,
    message,
    skipped: 1,
  });
  return firing && { firing };
}

/** Records why the start was refused. */
async function refuse({ database }: Firings, row: FiringRow, refusal: Refusal): Promise<Fired | undefined> {
  const { code, message, details } = refusal;
  const firing = await insertFiring(database, {
    ...row,
    once: onceOf(row),
    outcome: "refused",
    run_id: null,
    code,
    message,
    fields: details.fields?.length ? JSON.stringify(details.fields.slice(0, LIMITS.firingFields)) : null,
  });
  return firing && { firing, refusal };
}

/** Records why the firing was refused without a try. Throws UNAVAILABLE. */
export async function refuseFiring(
  firings: Firings,
  trigger: Trigger,
  occasion: Occasion,
  refusal: Refusal,
): Promise<void> {
  checkTakes("runs", firings.runs);
  const fired = await refuse(firings, rowOf(firings, trigger, occasion), refusal);
  if (fired) tellFiring(firings, fired.firing);
}

/** Records a call that was rejected before its body was accepted; the body is not kept. */
export const refuseCall = (firings: Firings, trigger: Trigger, refusal: Refusal): Promise<void> =>
  refuseFiring(firings, trigger, { dueAt: null, payload: undefined }, refusal);

/** The output of what a firing started, once that has ended; undefined while it has not. */
export async function outputOf({ runs }: Firings, run: Run): Promise<JsonText | null | undefined> {
  if (!isFinal(run.status)) return undefined;
  const { id, organizationId, output } = run;
  if (output === null || output instanceof JsonText) return output;
  return (await readPayloads(runs, organizationId, [{ of: "run", id, column: "output" }]))[0] ?? null;
}
