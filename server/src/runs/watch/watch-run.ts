/**
 * A run for its subscribers. The subscription begins before the first read, so nothing is missed; nothing is shown before its
 * commit; a slow reader gets the newest state, never an older one after a newer.
 */
import { until } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import type { RunId } from "../../lib/ids.ts";
import type { Within } from "../../lib/reach.ts";
import { Wakeup, stream } from "../../realtime/stream.ts";
import { runOf, type Head } from "../../execution/journal/loaded-run.ts";
import { readRun } from "../read/read.ts";
import type { Run } from "../../execution/run/run.ts";
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

/** Throws NOT_FOUND; the subscription then ends. */
export async function readOr(runs: Runs, within: Within, runId: RunId, subscription: Disposable): Promise<Run> {
  try {
    const run = await readRun(runs, within, runId);
    if (!run) throw notFound("Run");
    return run;
  } catch (error) {
    subscription[Symbol.dispose]();
    throw error;
  }
}

async function pause(runs: Runs, signal: AbortSignal): Promise<void> {
  await until(runs.clock, runs.clock.now() + UPDATE_MS, signal).catch(() => {});
}
