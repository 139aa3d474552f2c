/** Instants at which no process was there to fire. */
import { LIMITS } from "../../../lib/limits.ts";
import type { DueNow } from "../contract/trigger-kind.ts";
import { instantsBetween, nextInstant } from "./instants.ts";
import type { Schedule } from "./schedule.ts";
import type { Zone } from "../../../lib/zone.ts";

/** `latest`: the last one, if it is not older than `catchUpMs`; `all`: each of them; `none`: nothing that is late. */
export const MISSED = ["latest", "all", "none"] as const;
export type Missed = (typeof MISSED)[number];

/** Decides at `now` about a trigger that has been due since `due` and comes for the last time by `end`, all ms since 1970. */
export function dueNow(
  schedule: Schedule,
  zone: Zone,
  { missed, catchUpMs, end = Infinity }: { missed: Missed; catchUpMs: number; end?: number },
  due: number,
  now: number,
): DueNow {
  const until = Math.min(now, end);
  const after = instantsBetween(schedule, zone, due, until);
  const latest = after.latest ?? due;
  const count = after.count + 1;
  if (missed === "all") {
    if (count <= LIMITS.missedInstants) return { skipped: undefined, fire: due };
    const fire = lastOf(schedule, zone, due, until, LIMITS.missedInstants);
    const dropped = instantsBetween(schedule, zone, due - 1, fire - 1);
    return { skipped: { from: due, to: dropped.latest ?? due, count: dropped.count || 1 }, fire };
  }
  const late = now - latest;
  const fires = late <= Math.max(missed === "latest" ? catchUpMs : 0, LIMITS.punctualSeconds * 1_000);
  if (!fires) return { skipped: { from: due, to: latest, count }, fire: undefined };
  if (count === 1) return { skipped: undefined, fire: due };
  const before = instantsBetween(schedule, zone, due, latest - 1).latest ?? due;
  return { skipped: { from: due, to: before, count: count - 1 }, fire: latest };
}

/** The first of the last `most` instants up to `until`, of which there are more since `due`. */
function lastOf(schedule: Schedule, zone: Zone, due: number, until: number, most: number): number {
  let [tooMany, enough] = [due - 1, until];
  while (enough - tooMany > 1) {
    const middle = Math.floor((tooMany + enough) / 2);
    if (instantsBetween(schedule, zone, middle, until).count > most) tooMany = middle;
    else enough = middle;
  }
  return nextInstant(schedule, zone, enough)?.at ?? until;
}
