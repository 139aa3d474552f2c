/**
 * What subscribers see. The subscription begins before the first read, so nothing falls between; nothing is shown before
 * its commit; a reader that is slow gets the newest state, never an older one after a newer.
 */
import { until } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { Door, stream } from "../realtime/stream.ts";
import { runOf, type Change } from "./loaded-run.ts";
import { listStepsAfter, readRun } from "./read.ts";
import { stepFromWrite } from "./read-rows.ts";
import type { Run, Step } from "./run.ts";
import type { Notice, Runs } from "./runs.ts";
import { isFinal } from "./states.ts";

/** One subscriber gets at most one update of a run in this time. */
const UPDATE_MS = 50;

/** The present state first, then the newest at most every 50 ms; ends after the final state. Throws NOT_FOUND. */
export async function watchRun(
  runs: Runs,
  organizationId: OrganizationId,
  runId: RunId,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<Run>> {
  const door = new Door();
  let newest: Notice | undefined;
  const subscription = runs.hub.subscribe(runId, (notice) => {
    newest = notice;
    door.knock();
  });
  const first = await readOr(runs, organizationId, runId, subscription);
  return stream(signal, subscription, async function* (ended) {
    let shown = first;
    yield shown;
    while (!isFinal(shown.status) && (await door.pass(ended))) {
      const run =
        newest === undefined || newest === "changed" ? await readRun(runs, organizationId, runId) : runOf(newest.head);
      if (!run || run.revision <= shown.revision) continue;
      shown = run;
      yield shown;
      if (!isFinal(shown.status)) await pause(runs, ended);
    }
  });
}

/** What changed after a revision: each entity in its present state, in the order of their revisions. */
export type RunEvent = { revision: number; run?: Run; step?: Step };

/** More commits than this behind, a reader is served from the database again. */
const MOST_KEPT = 100;
/** So many steps are read at once: a run has 10,000 of them, and 64 MB. */
const MOST_READ = 1_000;

export async function watchRunEvents(
  runs: Runs,
  organizationId: OrganizationId,
  runId: RunId,
  after: number,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<RunEvent>> {
  const door = new Door();
  let kept: Change[] = [];
  let reads = true;
  const subscription = runs.hub.subscribe(runId, (notice) => {
    if (notice === "changed" || kept.length === MOST_KEPT) {
      reads = true;
      kept = [];
    } else if (!reads) kept.push(notice);
    door.knock();
  });
  await readOr(runs, organizationId, runId, subscription);
  door.knock();
  return stream(signal, subscription, async function* (ended) {
    let shown = after;
    while (await door.pass(ended)) {
      const changes = kept;
      const wasRead = reads;
      kept = [];
      reads = false;
      const isRead = wasRead || !isWhole(changes, shown);
      const events = isRead ? await readEvents(runs, organizationId, runId, shown) : changes.values().flatMap(eventsOf);
      let count = 0;
      for (const event of events) {
        count++;
        if (event.revision <= shown) continue;
        const turn = runs.turns.next(organizationId);
        if (turn) await turn;
        shown = event.revision;
        yield event;
        if (event.run && isFinal(event.run.status)) return;
      }
      if (isRead && count >= MOST_READ) {
        // There is more, and what came meanwhile is among it.
        reads = true;
        kept = [];
        door.knock();
      }
      // Resumed at or behind the final revision: nothing more will come.
      if (wasRead && count === 0 && isFinal((await readRun(runs, organizationId, runId))?.status ?? "failed")) return;
    }
  });
}

async function readOr(
  runs: Runs,
  organizationId: OrganizationId,
  runId: RunId,
  subscription: Disposable,
): Promise<Run> {
  try {
    const run = await readRun(runs, organizationId, runId);
    if (!run) throw notFound("Run");
    return run;
  } catch (error) {
    subscription[Symbol.dispose]();
    throw error;
  }
}

/**
 * At most `MOST_READ` steps, in the order of their revisions, and the run behind the last of them. It is read before its
 * steps: every step up to the run's revision is then among them.
 */
async function readEvents(
  runs: Runs,
  organizationId: OrganizationId,
  runId: RunId,
  after: number,
): Promise<RunEvent[]> {
  const run = await readRun(runs, organizationId, runId);
  if (!run) return [];
  const steps = await listStepsAfter(runs, run, after, MOST_READ);
  const events: RunEvent[] = steps.map((step) => ({ revision: step.revision, step }));
  if (run.revision > after && steps.length < MOST_READ) events.push({ revision: run.revision, run });
  return events.toSorted((a, b) => a.revision - b.revision);
}

/** Revisions have no gaps: the notice of a commit is missing when its answer was lost. */
function isWhole(changes: readonly Change[], shown: number): boolean {
  let next = shown + 1;
  for (const { head, steps } of changes) {
    for (const { revision } of [...steps, head]) if (revision > next++) return false;
  }
  return true;
}

/** One after the other: a commit may have 10,000 steps, whose payloads are texts still. */
function* eventsOf({ head, steps }: Change): Generator<RunEvent> {
  for (const step of steps) yield { revision: step.revision, step: stepFromWrite(step) };
  yield { revision: head.revision, run: runOf(head) };
}

async function pause(runs: Runs, signal: AbortSignal): Promise<void> {
  await until(runs.clock, runs.clock.now() + UPDATE_MS, signal).catch(() => {});
}
