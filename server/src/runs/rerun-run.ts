import type { Caller } from "../auth/caller.ts";
import { notFound } from "../lib/errors.ts";
import type { RunId } from "../lib/ids.ts";
import { readWholeRun } from "./read/read.ts";
import type { Run } from "../execution/run/run.ts";
import type { Runs } from "./handle/runs.ts";
import { startRun } from "./start-run.ts";

type RerunRequest = { runId: RunId; idempotencyKey?: string | undefined };

/** Starts a new run with the same input on the agent's published version. Throws NOT_FOUND and what a start throws. */
export async function rerunRun(runs: Runs, caller: Caller, request: RerunRequest): Promise<Run> {
  const { runId, ...key } = request;
  const before = await readWholeRun(runs, caller, runId);
  if (!before) throw notFound("Run");
  const { agentId, input } = before.run;
  const { run } = await startRun(runs, caller, { agentId, input, ...key, body: ["rerunRun", runId] });
  return run;
}
