import { every } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { admitAll } from "./admit-runs.ts";
import { mendFamilies } from "./families.ts";
import type { Runs } from "./runs.ts";

const SWEEP_MS = 5_000;
/** Another process that cancelled a run may have died before it came to the children: nobody tells this one. */
const MEND_MS = 60_000;

/**
 * Beside the engine's own sweep: queued runs of limited agents, and, at the beginning of a term, after an error and once a
 * minute, what was left undone between a run's end and its relatives.
 */
export function sweepRuns(runs: Runs): AsyncDisposable {
  let last: { mendedAt: number; termSince: number } | undefined;
  const mend = async (): Promise<void> => {
    const now = runs.clock.now();
    const termSince = await lastHeartbeatBefore(runs);
    const isNew = termSince !== last?.termSince;
    if (runs.mended && last && !isNew && Math.abs(now - last.mendedAt) < MEND_MS) return;
    const from = last && !isNew ? last.mendedAt : termSince;
    runs.mended = true;
    await mendFamilies(runs, new Date(Math.min(from, now) - MEND_MS));
    last = { mendedAt: now, termSince };
  };
  const sweep = async (): Promise<void> => {
    if (!runs.engine.executing) {
      runs.mended = false;
      return;
    }
    try {
      await mend();
      await admitAll(runs);
    } catch (error) {
      runs.mended = false;
      runs.log.warn({ reason: messageOf(error) }, "looking after queued runs and families failed; trying again");
    }
  };
  let underWay = sweep();
  const timer = every(runs.clock, SWEEP_MS, () => (underWay = underWay.then(sweep)));
  return {
    async [Symbol.asyncDispose]() {
      timer[Symbol.dispose]();
      await underWay;
    },
  };
}

/** When the executor before this term gave its last sign of life, ms: what ended before was told. */
async function lastHeartbeatBefore({ database, instanceId }: Runs): Promise<number> {
  const [row] = await database.query("select predecessor_heartbeat_at as at from executor where instance_id = $1", [
    instanceId,
  ]);
  return (row?.["at"] as Date | null | undefined)?.getTime() ?? 0;
}
