/** The messages between the watchdog's two threads. */
import type { InstanceId } from "../lib/ids.ts";
import type { Connection } from "../storage/database.ts";

/** The input of the thread. */
export type Watched = {
  beats: Int32Array;
  connection: Connection;
  instanceId: InstanceId;
  standstillSeconds: number;
  isTerminal: boolean;
};

/** The facts that the thread gets from a stalled main thread through the inspector. */
export type WhatRuns = {
  requestId?: string;
  operation?: string;
  query?: string;
  runId?: string;
  runs: string[];
};

/** The two numbers of `beats`: how many turns the main thread made, and whether a person stopped it with a debugger. */
export const BEAT = 0;
export const DEBUGGED = 1;
export const LOOK_EVERY_MS = 1_000;
export const WHAT_RUNS = "autograph.whatRuns";
