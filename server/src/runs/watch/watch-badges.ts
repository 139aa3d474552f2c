/** `badgesChanged`: the numbers of open runs and of approvals to decide, whenever they change. */
import type { Caller } from "../../auth/caller.ts";
import { every, until } from "../../lib/clock.ts";
import type { ProjectId } from "../../lib/ids.ts";
import { Wakeup, stream } from "../../realtime/stream.ts";
import type { Badges } from "../handle/badge-counts.ts";
import type { Runs } from "../handle/runs.ts";
import { readDecider } from "../read/who-decides.ts";

const UPDATE_MS = 250;
/** Notices from another process may be lost. */
const LOOK_MS = 10_000;

/** The present ones, then whenever they differ from the last. */
export function watchBadges(
  runs: Runs,
  within: Caller,
  projectId: ProjectId | undefined,
  signal: AbortSignal,
): AsyncIterableIterator<Badges> {
  const { organizationId } = within;
  const wakeup = new Wakeup();
  const sources = new DisposableStack();
  sources.use(
    runs.changes.subscribe(organizationId, ({ head }) => {
      const changed = head?.deref()?.projectId;
      if (projectId === undefined || changed === undefined || changed === projectId) wakeup.notify();
    }),
  );
  sources.use(runs.approvals.subscribe(organizationId, () => wakeup.notify()));
  sources.use(runs.notices.onMissed(() => wakeup.notify()));
  sources.use(
    every(runs.clock, LOOK_MS, () => {
      wakeup.notify();
    }),
  );
  wakeup.notify();
  return stream(signal, sources, async function* (ended) {
    let last: Badges | undefined;
    while (await wakeup.wait(ended)) {
      const now = await runs.badgeCounts.add({
        within,
        projectId,
        decider: await readDecider(runs.database, within),
      });
      if (now.openRuns !== last?.openRuns || now.openApprovals !== last.openApprovals) yield (last = now);
      await until(runs.clock, runs.clock.now() + UPDATE_MS, ended).catch(() => {});
    }
  });
}
