/** `firingsChanged`: what triggers do, as it happens. */
import type { TriggerId } from "../../lib/ids.ts";
import type { Within } from "../../lib/reach.ts";
import { fits, type ChangeFilter } from "../../runs/watch/watch-changes.ts";
import { readFiring } from "../store/list-firings.ts";
import type { Firing } from "../store/trigger.ts";
import type { Firings } from "./firings.ts";
import { watchFeed } from "../../realtime/watch-feed.ts";

/** After its commit: watchers are told, here and in other processes. */
export function tellFiring({ changes, notices }: Pick<Firings, "changes" | "notices">, firing: Firing): void {
  const { id, organizationId } = firing;
  if (changes.hasListeners(organizationId)) changes.publish(organizationId, { id, firing: new WeakRef(firing) });
  notices.send({ kind: "firing", organizationId, id });
}

/** Undefined fields match everything. */
export type FiringFilter = ChangeFilter & { triggerId?: TriggerId };

export const watchFirings = (
  firings: Firings,
  within: Within,
  filter: FiringFilter,
  signal: AbortSignal,
): AsyncIterableIterator<Firing> => {
  const isWanted = (firing: Firing | undefined): boolean =>
    fits(firing, filter, within) && (!firing || (filter.triggerId ?? firing.triggerId) === firing.triggerId);
  return watchFeed(firings.runs.watching, firings.feed, within.organizationId, signal, {
    fits: ({ firing }) => isWanted(firing?.deref()),
    show: async ({ id, firing: ref }) => {
      const firing = ref?.deref() ?? (await readFiring(firings, within, id));
      return firing && isWanted(firing) ? firing : undefined;
    },
  });
};
