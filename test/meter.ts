/** The processor time and memory of a process, read from within it (test/server.ts): the product has no such door. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { slownessInTurns, threadMs, watchThread } from "../server/src/lib/processor-time.testsuite.ts";

export type Figures = {
  /** Processor time of the main thread since the last reading. */
  spentMs: number;
  /** The most of it between two turns of the event loop; over `MAIN_THREAD_MS` what it were on the machine for which that holds. */
  longestMs: number;
  /** The heap, and what it holds outside of it. */
  heapBytes: number;
  rssBytes: number;
};

export type Meter = {
  read(): Promise<Figures>;
  /** The same after everything that nobody holds is gone. */
  readCollected(): Promise<Figures>;
  /** How many times slower the main thread is now than where the bounds were set. */
  slowness(): Promise<number>;
};

/** How long a request, or a stretch of what it sets going, may hold the main thread: beyond it another organization would notice. */
export const MAIN_THREAD_MS = 100;

/** Costs about 2 % of a processor from now on. */
export function startMeter(): Meter {
  const watch = watchThread();
  let since = threadMs();
  const restart = (): void => {
    watch.readMs();
    since = threadMs();
  };
  const read = async (): Promise<Figures> => {
    const { heapUsed, external, rss } = process.memoryUsage();
    const spentMs = threadMs() - since;
    const heldMs = watch.readMs();
    const longestMs = heldMs < MAIN_THREAD_MS ? heldMs : heldMs / (await slownessInTurns());
    restart();
    return { spentMs, longestMs, heapBytes: heapUsed + external, rssBytes: rss };
  };
  return {
    read,
    slowness: async () => {
      const times = await slownessInTurns();
      // Its own work is none of the server's.
      restart();
      return times;
    },
    readCollected: () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      collect();
      restart();
      return read();
    },
  };
}
