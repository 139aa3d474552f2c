import { notFound } from "../lib/errors.ts";
import type { OrganizationId, RunId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import { commitCancel } from "./commit-cancel.ts";
import { afterEnd } from "./families.ts";
import type { Run } from "../execution/run/run.ts";
import { readRun } from "./read/read.ts";
import type { Runs } from "./handle/runs.ts";

/** Commits `cancelled` at once, then cancels the children. Idempotent. Throws NOT_FOUND; CONFLICT on another end. */
export async function cancelRun(runs: Runs, within: Within, id: RunId): Promise<Run> {
  if (within.reach && !(await readRun(runs, within, id))) throw notFound("Run");
  return (await cancelIfOpen(runs, within.organizationId, id)).run;
}

/** The same for a caller who reaches the run; `changed` is false if the run was cancelled before. */
export async function cancelIfOpen(
  runs: Runs,
  organizationId: OrganizationId,
  id: RunId,
): Promise<{ run: Run; changed: boolean }> {
  const { run, changed } = await commitCancel(runs, organizationId, id);
  if (changed) await afterEnd(runs, run);
  return { run, changed };
}
