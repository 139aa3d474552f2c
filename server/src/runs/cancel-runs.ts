import { Refusal } from "../lib/errors.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { cancelRun } from "./cancel-run.ts";
import { listRuns } from "./list-runs.ts";
import type { Run, RunFilter } from "./run.ts";
import type { Runs } from "./runs.ts";
import { isFinal, RUN_STATUSES } from "./states.ts";

const OPEN = RUN_STATUSES.filter((status) => !isFinal(status));
/** Transactions at the same time: as many as leave a connection for others. */
const AT_ONCE = 3;

/**
 * Cancels every open run that fits the filter at the time of the call, newest first, and answers how many. One that ends
 * meanwhile is left as it ended.
 */
export async function cancelRuns(runs: Runs, organizationId: OrganizationId, filter: RunFilter): Promise<number> {
  const status = OPEN.filter((one) => filter.status?.includes(one) ?? true);
  let cancelled = 0;
  let after: string | undefined;
  for (;;) {
    const page = { first: LIMITS.pageSize, ...(after === undefined ? {} : { after }) };
    const { items, hasNextPage } = await listRuns(runs, organizationId, { ...filter, status }, page);
    cancelled += await cancelAll(runs, items);
    if (!hasNextPage) return cancelled;
    after = items.at(-1)!.id;
  }
}

async function cancelAll(runs: Runs, items: Run[]): Promise<number> {
  let cancelled = 0;
  const queue = items.values();
  const line = async (): Promise<void> => {
    for (const run of queue) {
      try {
        await cancelRun(runs, run.organizationId, run.id);
        cancelled++;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  return cancelled;
}
