/**
 * A run for its subscribers. The subscription begins before the first read, so nothing is missed; nothing is shown before its
 * commit; a slow reader gets the newest state, never an older one after a newer.
 */
import { until } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import type { RunId } from "../../lib/ids.ts";
import type { Within } from "../../lib/reach.ts";
import { Wakeup, stream } from "../../realtime/stream.ts";
import { runOf, type Change, type Head } from "../../execution/journal/loaded-run.ts";
import { listStepsAfter, readRun } from "../read/read.ts";
import { stepFromWrite } from "../../execution/journal/read-rows.ts";
import type { Run, Step } from "../../execution/run/run.ts";
import type { Runs } from "../handle/runs.ts";
import { isFinal } from "../../execution/run/states.ts";

/** A subscriber gets at most one update of a run in this time. */
const UPDATE_MS = 50;

/** The current state first, then the newest at most every 50 ms; ends after the final state. Throws NOT_FOUND. */
export async function watchRun(
  runs: Runs,
  within: Within,
  runId: RunId,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<Run>> {
  const wakeup = new Wakeup();
  // A slow reader holds no payload: what has left memory meanwhile is read again.
  let newest: WeakRef<Head> | undefined;
  const subscription = runs.hub.subscribe(runId, (notice) => {
    newest = notice === "changed" ? undefined : new WeakRef(notice.head);
    wakeup.notify();
  });
  const first = await readOr(runs, within, runId, subscription);
  return stream(signal, subscription, async function* (ended) {
    let revision = -1;
    for (let run: Run | undefined = first; ; run = await next()) {
      if (run && run.revision > revision) {
        revision = run.revision;
        const isLast = isFinal(run.status);
        const turn = runs.executions.rounds.next(within.organizationId);
        if (turn) await turn;
        yield run;
        if (isLast) return;
        if (revision > first.revision) await pause(runs, ended);
      }
      run = undefined;
      if (!(await wakeup.wait(ended))) return;
    }
  });

  async function next(): Promise<Run | undefined> {
    const head = newest?.deref();
    return head ? runOf(head) : readRun(runs, within, runId);
  }
}

/** The changes after a revision: each entity in its current state, in order of revision. */
export type RunEvent = { revision: number; run?: Run; step?: Step };

/** A reader this many commits, or characters of commits, behind is served from the database again. */
const MAX_KEPT = 100;
const MAX_KEPT_CHARACTERS = 256 * 1024;
/** Steps read at once: a run has up to 10,000 of them, and 64 MB. */
const MAX_READ = 1_000;

/** A commit without the run's own payloads, which a slow reader does not hold. */
type Kept = { revision: number; head: WeakRef<Head>; steps: Change["steps"] };

export async function watchRunEvents(
  runs: Runs,
  within: Within,
  runId: RunId,
  after: number,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<RunEvent>> {
  const wakeup = new Wakeup();
  let kept: Kept[] = [];
  let characters = 0;
  let reads = true;
  const readAgain = (): void => {
    reads = true;
    kept = [];
    wakeup.notify();
  };
  const subscription = runs.hub.subscribe(runId, (notice) => {
    if (notice === "changed") return readAgain();
    if (!reads) {
      const { head, steps } = notice;
      kept.push({ revision: head.revision, head: new WeakRef(head), steps });
      characters += charactersOf(steps);
      if (kept.length > MAX_KEPT || characters > MAX_KEPT_CHARACTERS) return readAgain();
    }
    wakeup.notify();
  });
  await readOr(runs, within, runId, subscription);
  wakeup.notify();
  return stream(signal, subscription, async function* (ended) {
    let shown = after;
    while (await wakeup.wait(ended)) {
      const changes = kept;
      const wasRead = reads;
      kept = [];
      characters = 0;
      reads = false;
      const read = wasRead || !isWhole(changes, shown) ? await readEvents(runs, within, runId, shown) : undefined;
      const events = read ? read.events : changes.values().flatMap(eventsOf);
      let count = 0;
      for (const event of events) {
        count++;
        if (!event) {
          readAgain();
          break;
        }
        if (event.revision <= shown) continue;
        const turn = runs.executions.rounds.next(within.organizationId);
        if (turn) await turn;
        shown = event.revision;
        yield event;
        if (event.run && isFinal(event.run.status)) return;
      }
      // There is more, including what came meanwhile.
      if (read && count >= MAX_READ) readAgain();
      // Resumed at or behind the final revision: nothing more will come.
      if (read?.isOver && count === 0) return;
    }
  });
}

async function readOr(runs: Runs, within: Within, runId: RunId, subscription: Disposable): Promise<Run> {
  try {
    const run = await readRun(runs, within, runId);
    if (!run) throw notFound("Run");
    return run;
  } catch (error) {
    subscription[Symbol.dispose]();
    throw error;
  }
}

/**
 * At most `MAX_READ` steps in order of revision, and the run after the last of them. Reads the run before its steps, so
 * that they include every step up to the run's revision. `isOver`: it had ended then, so that these are the last.
 */
async function readEvents(
  runs: Runs,
  within: Within,
  runId: RunId,
  after: number,
): Promise<{ events: RunEvent[]; isOver: boolean }> {
  const run = await readRun(runs, within, runId);
  if (!run) return { events: [], isOver: true };
  const steps = await listStepsAfter(runs, run, after, MAX_READ);
  const events: RunEvent[] = steps.map((step) => ({ revision: step.revision, step }));
  if (run.revision > after && steps.length < MAX_READ) events.push({ revision: run.revision, run });
  return { events: events.toSorted((a, b) => a.revision - b.revision), isOver: isFinal(run.status) };
}

/** Revisions have no gaps: a commit whose answer was lost sends no notice. */
export function isWhole(changes: readonly Pick<Kept, "revision" | "steps">[], shown: number): boolean {
  let next = shown + 1;
  for (const { revision: last, steps } of changes) {
    for (const { revision } of [...steps, { revision: last }]) {
      if (revision > next) return false;
      next = Math.max(next, revision + 1);
    }
  }
  return true;
}

/** One after the other: a commit may have 10,000 steps. Undefined: left memory while the reader was slow. */
function* eventsOf({ revision, head: ref, steps }: Kept): Generator<RunEvent | undefined> {
  for (const step of steps) yield { revision: step.revision, step: stepFromWrite(step) };
  const head = ref.deref();
  yield head && { revision, run: runOf(head) };
}

const charactersOf = (steps: Change["steps"]): number =>
  steps.reduce(
    (sum, { input, output, state }) => sum + (input?.length ?? 0) + (output?.length ?? 0) + (state?.length ?? 0),
    0,
  );

async function pause(runs: Runs, signal: AbortSignal): Promise<void> {
  await until(runs.clock, runs.clock.now() + UPDATE_MS, signal).catch(() => {});
}
