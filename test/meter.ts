/** What a process spends and holds, read from within it (test/server.ts): the product has no such door. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export type Figures = {
  /** Processor time of the main thread, since its start. */
  cpuMs: number;
  /** The most of it between two turns of the event loop, since the last reading. */
  longestMs: number;
  /** The longest that the event loop stood still by the clock, since the last reading: other processes count too. */
  stallMs: number;
  /** The heap, and what it holds outside of it. */
  heapBytes: number;
  rssBytes: number;
};

export type Meter = {
  read(): Figures;
  /** The same after everything that nobody holds is gone. */
  readCollected(): Figures;
  /** What a fixed piece of work costs now: on a busy machine processor time, too, is longer. */
  referenceMs(): number;
};

/** A timer can be called once in each turn of the loop; what it finds more than this apart is one stretch. */
const TICK_MS = 1;

const REFERENCE = Array.from({ length: 2_000 }, (_, n) => ({ id: n, name: `name ${n}`, list: [n, `${n}`] }));
const REFERENCE_TIMES = 2;

function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Costs about 2 % of a processor from now on. */
export function startMeter(): Meter {
  let cpu = cpuNow();
  let at = performance.now();
  let longestMs = 0;
  let stallMs = 0;
  const tick = (): void => {
    const [cpuThen, then] = [cpu, at];
    cpu = cpuNow();
    at = performance.now();
    longestMs = Math.max(longestMs, cpu - cpuThen);
    stallMs = Math.max(stallMs, at - then);
  };
  setInterval(tick, TICK_MS).unref();
  const read = (): Figures => {
    tick();
    const { heapUsed, external, rss } = process.memoryUsage();
    const figures = { cpuMs: cpu, longestMs, stallMs, heapBytes: heapUsed + external, rssBytes: rss };
    longestMs = stallMs = 0;
    return figures;
  };
  return {
    read,
    referenceMs: () => {
      const since = cpuNow();
      for (let time = 0; time < REFERENCE_TIMES; time++) JSON.parse(JSON.stringify(REFERENCE));
      return cpuNow() - since;
    },
    readCollected: () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      collect();
      tick();
      longestMs = stallMs = 0;
      return read();
    },
  };
}
