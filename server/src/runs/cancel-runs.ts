import { record } from "../audit/record.ts";
import { whoOf, type Acting } from "../auth/caller.ts";
import { badInput, notFound, Refusal } from "../lib/errors.ts";
import type { RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Within } from "../lib/reach.ts";
import { cancelIfOpen } from "./cancel-run.ts";
import { listRuns } from "./read/list-runs.ts";
import type { RunFilter } from "../execution/run/run.ts";
import { knownRuns } from "./read/read.ts";
import type { Runs } from "./handle/runs.ts";
import { isFinal, RUN_STATUSES } from "../execution/run/states.ts";

const OPEN = RUN_STATUSES.filter((status) => !isFinal(status));
/** This many transactions at a time leave a connection for others. */
const AT_ONCE = 3;

/** One of them is given. */
export type CancelTarget = { filter?: RunFilter; runIds?: readonly RunId[]; all?: boolean };

/**
 * Cancels the open runs among those named at the time of the call, and returns how many. A run that ends meanwhile stays as
 * it ended. Throws NOT_FOUND, and then none is cancelled; BAD_USER_INPUT for what names no runs: every run has to be asked for.
 */
export async function cancelRuns(runs: Runs, caller: Acting, target: CancelTarget): Promise<number> {
  const { filter, runIds, all } = target;
  if (runIds) return cancelNamed(runs, caller, runIds);
  if (filter) {
    if (Object.keys(filter).length === 0)
      throw namesNone("filter", "must have a field that is not null; `all: true` selects every run");
    await recordOrder(runs, caller, { filter: Object.keys(filter) });
    return cancelListed(runs, caller, filter);
  }
  if (all !== true) throw namesNone("all", "must be true");
  await recordOrder(runs, caller, { all });
  return cancelListed(runs, caller, {});
}

/** Before the first one is cancelled, as each is a transaction of its own: what was done has an event, whenever the process ends. */
const recordOrder = (
  runs: Runs,
  caller: Acting,
  named: { filter?: string[]; runs?: number; all?: true },
): Promise<void> =>
  record(runs.database.query, whoOf(caller), runs.clock.now(), { action: "runs_cancelled", detail: named });

function namesNone(member: keyof CancelTarget, message: string): Refusal {
  const path = `input.runs.${member}`;
  return badInput("invalid_input", `${path} ${message}`, [{ path, code: "invalid", message }]);
}

async function cancelNamed(runs: Runs, caller: Acting, runIds: readonly RunId[]): Promise<number> {
  const known = await knownRuns(runs, caller, runIds);
  if (!runIds.every((id) => known.has(id))) throw notFound("Run");
  await recordOrder(runs, caller, { runs: runIds.length });
  return cancelAll(runs, caller, runIds);
}

/** Newest first. */
async function cancelListed(runs: Runs, within: Within, filter: RunFilter): Promise<number> {
  const status = OPEN.filter((one) => filter.status?.includes(one) ?? true);
  let cancelled = 0;
  let after: string | undefined;
  for (;;) {
    const page = { first: LIMITS.pageSize, ...(after === undefined ? {} : { after }) };
    const { items, hasNextPage } = await listRuns(runs, within, { ...filter, status }, page);
    cancelled += await cancelAll(
      runs,
      within,
      items.map(({ id }) => id),
    );
    if (!hasNextPage) return cancelled;
    after = items.at(-1)!.id;
  }
}

/** Cancels those that the caller reaches. Leaves those that have ended as they are. */
async function cancelAll(runs: Runs, within: Within, ids: readonly RunId[]): Promise<number> {
  let cancelled = 0;
  const queue = ids.values();
  const line = async (): Promise<void> => {
    for (const id of queue) {
      try {
        if ((await cancelIfOpen(runs, within.organizationId, id)).changed) cancelled++;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
  return cancelled;
}
