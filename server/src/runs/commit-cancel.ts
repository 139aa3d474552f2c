import { commitEnd, type EndedRun } from "../execution/journal/commit-end.ts";
import { conflict } from "../lib/errors.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import { countEndedRun } from "./handle/run-figures.ts";
import { tellApproval, tellChanged, type Runs } from "./handle/runs.ts";

/**
 * Cancels a run at once, in whichever process it is advanced, and aborts what is in flight here. `changed` is false if it was already
 * cancelled. Throws NOT_FOUND; CONFLICT if it completed or failed.
 */
export async function commitCancel(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<EndedRun> {
  const { database, clock, executions } = runs;
  const by = { database, clock, parts: executions.parts };
  const end = await commitEnd(by, { organizationId, id }, { status: "cancelled", error: null });
  const { status } = end.run;
  if (!end.changed && status !== "cancelled") throw conflict("wrong_state", `the run is already ${status}`);
  if (end.changed) tellEnd(runs, end);
  return end;
}

/** After a commit that ended a run without its journal: counts it, and tells everybody concerned except its relatives. */
export function tellEnd(runs: Runs, { run, withdrawn }: EndedRun): void {
  const { id, organizationId } = run;
  countEndedRun(runs.figures, run);
  runs.engine.interrupt(id);
  tellChanged(runs, organizationId, id);
  runs.notices.send({ kind: "cancelled", organizationId, id });
  for (const approvalId of withdrawn) tellApproval(runs, organizationId, approvalId);
}
