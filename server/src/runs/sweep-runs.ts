import { Loop, type Round } from "../lib/loops/loop.ts";
import { unparkAll } from "./unpark-runs.ts";
import { mendFamilies } from "./families.ts";
import type { Runs } from "./handle/runs.ts";

const SWEEP_MS = 5_000;
/** Another process that cancelled a run may have died before it reached the children, and nobody tells this one. */
const MEND_MS = 60_000;
/** A run's end is committed up to this long after its timestamp, which may come from another process. */
const SLACK_MS = 60_000;

/**
 * Besides the engine's own sweep: unparks queued runs of limited agents and, at the beginning of a term, after an error and
 * once a minute, does what was left undone between a run's end and its relatives.
 */
export function sweepRuns(runs: Runs): Loop {
  let last = 0;
  const mend = async (round: Round): Promise<void> => {
    const now = runs.clock.now();
    if (runs.mended && Math.abs(now - last) < MEND_MS) return;
    runs.mended = true;
    await mendFamilies(runs, new Date(Math.min(await mendedAt(runs), now) - SLACK_MS), () => round.goesOn());
    if (!round.goesOn()) return;
    await runs.database.query(
      "insert into mended (at) values ($1) on conflict (singleton) do update set at = excluded.at",
      [new Date(now)],
    );
    last = now;
  };
  const sweep = async (round: Round): Promise<void> => {
    if (!runs.engine.executing) {
      runs.mended = false;
      return;
    }
    try {
      await mend(round);
      await unparkAll(runs, () => round.goesOn());
    } catch (error) {
      runs.mended = false;
      throw error;
    }
  };
  return new Loop({
    clock: runs.clock,
    log: runs.log,
    name: "queued-runs",
    everyMs: SWEEP_MS,
    look: sweep,
    failed: "looking after queued runs and families failed; trying again",
  }).start();
}

/** Up to when every end was reported, ms: by any process, however often they have crashed since. */
async function mendedAt({ database }: Runs): Promise<number> {
  const [row] = await database.query("select at from mended");
  return (row?.["at"] as Date | undefined)?.getTime() ?? 0;
}
