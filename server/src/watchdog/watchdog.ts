/**
 * Ends a stalled process. A separate thread checks each second that this one's counter has moved; after ten looks at the
 * same number it logs what runs here and ends the process with exit code 70 (watchdog-worker.ts). Anyone who started the
 * process starts it again; nothing committed is lost, and the run that stood still is blamed.
 */
import { createHash } from "node:crypto";
import { url as inspectorUrl } from "node:inspector";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { shortened } from "../lib/errors.ts";
import type { InstanceId } from "../lib/ids.ts";
import type { Log } from "../lib/log/log.ts";
import { running } from "../lib/running.ts";
import type { Connection } from "../storage/database.ts";
import { BEAT, DEBUGGED, LOOK_EVERY_MS, WHAT_RUNS, type Watched, type WhatRuns } from "./watched.ts";

type WatchdogOptions = {
  log: Log;
  connection: Connection;
  instanceId: InstanceId;
  /** The runs being advanced. */
  runs: () => Iterable<string>;
  standstillSeconds: number;
  /** Called every second, to drive what must not stop unseen: the thread ends a process in which these calls stop. */
  beat: () => void;
};

const RUNS_NAMED = 20;
const FIRST_NAME = /^\s*(?:query|mutation|subscription)\s+(\w+)/;
/** Measured: 7 MB. */
const THREAD = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

export function startWatchdog(options: WatchdogOptions): AsyncDisposable {
  const { log, connection, instanceId, runs, standstillSeconds, beat } = options;
  const beats = new Int32Array(new SharedArrayBuffer(8));
  const timer = setInterval(() => {
    beat();
    Atomics.add(beats, BEAT, 1);
    Atomics.store(beats, DEBUGGED, inspectorUrl() === undefined ? 0 : 1);
  }, LOOK_EVERY_MS).unref();
  const global = globalThis as Record<symbol, unknown>;
  global[Symbol.for(WHAT_RUNS)] = () => JSON.stringify(whatRuns(runs));
  const isTerminal = process.stderr.isTTY ?? false;
  const workerData: Watched = { beats, connection, instanceId, standstillSeconds, isTerminal };
  const file = new URL(`./watchdog-worker${extname(import.meta.filename)}`, import.meta.url);
  const worker = new Worker(file, { name: "watchdog", workerData, resourceLimits: THREAD, execArgv: [] });
  worker.unref();
  worker.on("error", (err) => log.error({ err }, "the watchdog ended: a process that stands still is not noticed"));
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      delete global[Symbol.for(WHAT_RUNS)];
      await worker.terminate();
    },
  };
}

/** A query's hash instead of its text, which may contain the caller's private values. */
function whatRuns(runs: () => Iterable<string>): WhatRuns {
  const { requestId, query = "", operationName, runId } = running.getStore() ?? {};
  const operation = operationName ?? FIRST_NAME.exec(query)?.[1];
  return {
    ...(requestId !== undefined && { requestId }),
    ...(operation !== undefined && { operation: shortened(operation) }),
    ...(query !== "" && { query: createHash("sha256").update(query).digest("hex").slice(0, 16) }),
    ...(runId !== undefined && { runId }),
    runs: Array.from(runs()).slice(0, RUNS_NAMED),
  };
}
