import type { OrganizationId, RunId } from "../lib/ids.ts";
import { commitCancel } from "./commit-cancel.ts";
import { afterEnd } from "./families.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";

/** Commits `cancelled` at once, then its children's. Idempotent. Throws NOT_FOUND; CONFLICT when it completed or failed. */
export async function cancelRun(runs: Runs, organizationId: OrganizationId, id: RunId): Promise<Run> {
  const { run, changed } = await commitCancel(runs, organizationId, id);
  if (changed) await afterEnd(runs, run);
  return run;
}
