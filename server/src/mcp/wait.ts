/** Waits for a run on behalf of a client that may want to hear of its progress. */
import type { Run } from "../execution/run/run.ts";
import { until } from "../lib/clock.ts";
import { Ending } from "../lib/ending.ts";
import { isFinal } from "../execution/run/states.ts";
import { untilSettled } from "../runs/watch/wait-for-run.ts";
import { watchRunEvents } from "../runs/watch/watch-run-events.ts";
import { watchRun } from "../runs/watch/watch-run.ts";
import type { Call, Mcp } from "./call.ts";

/** When a wait of so many seconds is over. */
export const waitEnd = ({ runs }: Pick<Mcp, "runs">, seconds: number): number => runs.clock.now() + seconds * 1_000;

/** Returns when the run has ended or pauses, or at this time. Throws what ends the call, which has a place among those that wait. */
export async function waitForRun({ runs }: Mcp, call: Call, run: Run, end: number): Promise<Run> {
  const seconds = (end - runs.clock.now()) / 1_000;
  if (isFinal(run.status) || seconds <= 0) return run;
  using settled = untilSettled(runs, run, seconds, call.ending);
  using _told = tellProgress({ runs }, call, run);
  const now = await settled.run();
  call.ending.throwIfOver();
  return now;
}

/**
 * Returns when a run whose questions are all decided goes on: the process that has it in memory writes so a moment later. Or at this time. Throws
 * what ends the call.
 */
export async function untilResumed({ runs }: Mcp, call: Call, run: Run, end: number): Promise<Run> {
  const { caller, ending } = call;
  const over = new Ending();
  const stop = (): void => over.end();
  ending.onEnd(stop);
  using _stopping = runs.waits.add(stop);
  using _over = { [Symbol.dispose]: stop };
  until(runs.clock, end, over.signal).then(stop, () => {});
  let last = run;
  for await (const now of await watchRun(runs, caller, run.id, over.signal)) {
    last = now;
    if (now.status !== "paused") break;
  }
  ending.throwIfOver();
  return last;
}

/** Until it is disposed. */
function tellProgress({ runs }: Pick<Mcp, "runs">, { caller, ending, tellProgress }: Call, run: Run): Disposable {
  const over = new Ending();
  const end = (): void => over.end();
  if (tellProgress) {
    ending.onEnd(end);
    const changes = { runId: run.id, after: run.revision, withTexts: false };
    const tell = async (): Promise<void> => {
      let [percent, message]: [number, string | undefined] = [0, undefined];
      for await (const { run: now, step } of await watchRunEvents(runs, caller, changes, over.signal)) {
        if (over.isOver) return;
        if (step) message = `${step.name}: ${step.status}`;
        if (!now || now.progress <= percent) continue;
        percent = now.progress;
        tellProgress(percent, message);
      }
    };
    // It adds to an answer that comes without it.
    tell().catch(() => {});
  }
  return { [Symbol.dispose]: end };
}
