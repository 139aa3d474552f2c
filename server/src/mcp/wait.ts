/** Waits for a run on behalf of a client that may want to hear of its progress. */
import type { Run } from "../execution/run/run.ts";
import { until } from "../lib/clock.ts";
import { Ending } from "../lib/ending.ts";
import { LIMITS } from "../lib/limits.ts";
import { isFinal } from "../execution/run/states.ts";
import { untilSettled } from "../runs/watch/wait-for-run.ts";
import { watchRun, watchRunEvents } from "../runs/watch/watch-run.ts";
import type { Call, Mcp } from "./call.ts";

/** Returns when the run has ended or pauses, or after this long. Throws what ends the call. */
export async function waitForRun({ runs }: Mcp, call: Call, run: Run, seconds: number): Promise<Run> {
  if (isFinal(run.status) || seconds === 0) return run;
  using _place = call.beginWait();
  using settled = untilSettled(runs, run, seconds, call.ending);
  using _told = tellProgress({ runs }, call, run);
  const now = await settled.result();
  call.ending.throwIfOver();
  return now.run;
}

/**
 * Returns when a run whose questions are all decided goes on: the process that has it in memory writes so a moment later. Or after 30 s. Throws
 * what ends the call.
 */
export async function untilResumed({ runs }: Mcp, call: Call, run: Run): Promise<Run> {
  const { caller, ending } = call;
  using _place = call.beginWait();
  const over = new Ending();
  const end = (): void => over.end();
  ending.onEnd(end);
  until(runs.clock, runs.clock.now() + LIMITS.waitSeconds * 1_000, over.signal).then(end, () => {});
  let last = run;
  for await (const now of await watchRun(runs, caller, run.id, over.signal)) {
    last = now;
    if (now.status !== "paused") break;
  }
  end();
  ending.throwIfOver();
  return last;
}

/** Until it is disposed. */
function tellProgress({ runs }: Pick<Mcp, "runs">, { caller, ending, tellProgress }: Call, run: Run): Disposable {
  const over = new Ending();
  const end = (): void => over.end();
  if (tellProgress) {
    ending.onEnd(end);
    const tell = async (): Promise<void> => {
      let [percent, message]: [number, string | undefined] = [0, undefined];
      for await (const { run: now, step } of await watchRunEvents(runs, caller, run.id, 0, over.signal)) {
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
