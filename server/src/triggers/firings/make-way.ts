/** The steps that a firing tries when its trigger's slot is taken or its row locked: a table by overlap policy. */
import { setTimeout as sleep } from "node:timers/promises";
import { isFinal } from "../../execution/run/states.ts";
import { Refusal } from "../../lib/errors.ts";
import { allOf } from "../../lib/reach.ts";
import { cancelIfOpen } from "../../runs/cancel-run.ts";
import { readRun } from "../../runs/read/read.ts";
import { overlapOf } from "../kinds/contract/overlap.ts";
import type { Overlap } from "../kinds/contract/trigger-kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { forgetLastRun, readLastRun } from "../store/trigger-store.ts";
import type { Trigger } from "../store/trigger.ts";
import type { Firings } from "./firings.ts";

/** `taken`: a run of the trigger is open. `locked`: somebody changes the trigger, so nobody can know. */
export type HeldBy = "taken" | "locked";

/** The steps that a firing has taken so far. */
export type Tries = { rooms: number; isEnqueued: boolean; waitedMs: number };
export const noTries = (): Tries => ({ rooms: 0, isEnqueued: false, waitedMs: 0 });

type Step = "makeRoom" | "enqueue" | "wait" | "waitAndMakeRoom";

/** Tried in this order until one works. After the last, the firing is skipped. */
const STEPS: Record<HeldBy, Record<Overlap, readonly Step[]>> = {
  taken: {
    skip: ["makeRoom"],
    allow: ["makeRoom"],
    queue: ["makeRoom", "enqueue"],
    // One of many that cancel each other has the slot at a time.
    cancelPrevious: ["makeRoom", "waitAndMakeRoom"],
  },
  // A run that waits in the queue needs no slot.
  locked: { skip: ["wait"], allow: ["wait"], queue: ["enqueue"], cancelPrevious: ["wait"] },
};

/** How often a firing makes room and tries again, before it waits, is enqueued or is skipped. */
const MAX_ROOMS = 2;

/**
 * How long a firing tries again while its trigger's row is locked. Most locks last milliseconds, so it looks soon, and then each time
 * after as long as it has waited. In real time, as the lock is, and without holding a connection.
 */
const LOCKED_MS = 10_000;
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 250;

type Way = (firings: Firings, trigger: Trigger, tries: Tries) => Promise<boolean>;

const WAYS: Record<Step, Way> = {
  makeRoom: async (firings, trigger, tries) => {
    if (tries.isEnqueued || tries.rooms === MAX_ROOMS || !(await makeRoom(firings, trigger))) return false;
    tries.rooms++;
    return true;
  },
  enqueue: async (_firings, _trigger, tries) => {
    if (tries.isEnqueued) return false;
    tries.isEnqueued = true;
    return true;
  },
  wait: async (_firings, _trigger, tries) => {
    if (tries.waitedMs >= LOCKED_MS) throw beingChanged();
    const ms = Math.min(Math.max(FIRST_LOOK_MS, tries.waitedMs), LAST_LOOK_MS);
    await sleep(ms);
    tries.waitedMs += ms;
    return true;
  },
  waitAndMakeRoom: async (firings, trigger, tries) => {
    await WAYS.wait(firings, trigger, tries);
    await makeRoom(firings, trigger);
    return true;
  },
};

/** Whether the firing may try again. Throws UNAVAILABLE when it has waited for 10 s. */
export async function makeWay(firings: Firings, trigger: Trigger, heldBy: HeldBy, tries: Tries): Promise<boolean> {
  for (const step of STEPS[heldBy][overlapIn(trigger)]) if (await WAYS[step](firings, trigger, tries)) return true;
  return false;
}

export const overlapIn = ({ type, policy }: Trigger): Overlap => overlapOf(policy, kindOf(type).overlap);

export const beingChanged = (): Refusal =>
  new Refusal("UNAVAILABLE", "the trigger is being changed: fire it again in a moment", { retryAfter: 1 });

/** Whether the slot is free: the trigger's last run has ended, or is cancelled now if the policy says so. */
async function makeRoom({ database, runs }: Firings, trigger: Trigger): Promise<boolean> {
  const { organizationId } = trigger;
  const overlap = overlapIn(trigger);
  if (overlap === "allow") return true;
  const id = await readLastRun(database, trigger);
  const run = id && (await readRun(runs, allOf(organizationId), id));
  if (id && !run) await forgetLastRun(database, trigger, id);
  if (!run || isFinal(run.status)) return true;
  if (overlap !== "cancelPrevious") return false;
  try {
    await cancelIfOpen(runs, organizationId, run.id);
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof Refusal)) throw error;
  }
  return true;
}
