import type { Run } from "../../execution/run/run.ts";
import type { RunId } from "../../lib/ids.ts";
import { readRun } from "../../runs/read/read.ts";
import { callerOf, type Context } from "./context.ts";

/** A run that another object names. Null if its month was dropped, if starting it failed, or if the caller does not reach it. */
export async function findRelative(context: Context, id: RunId): Promise<Run | null> {
  return (await readRun(context.runs, callerOf(context), id)) ?? null;
}
