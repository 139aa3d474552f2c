import { LRUCache } from "lru-cache";
import { ianaNames, ianaNamesMeantBy } from "./iana-zones.ts";

/**
 * A time zone of the IANA database, as the differences between its local time and UTC. Local times are written as
 * milliseconds since 1970-01-01T00:00 on the zone's own clocks.
 */
export type Zone = {
  /** As the caller wrote it. */
  name: string;
  /** Local time minus UTC at this instant, in milliseconds. Before standard time it has seconds. */
  offsetAt(instant: number): number;
};

/** A stretch of time with one offset: from `start` (inclusive) to `end` (exclusive), in UTC milliseconds. */
export type Stretch = { start: number; end: number; offset: number };

const HOUR = 3_600_000;
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;
/** Region and city, `UTC`, `EST5EDT`: what Intl also takes, `+01:00`, is an offset and no zone. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
const NAME_SHOWN = 64;
/** A formatter takes some 20 kB and a tenth of a millisecond to make. */
const zones = new LRUCache<string, Zone>({ max: 600 });

/** The zone that the IANA database has under that name, in any case; undefined if there is none. */
export const zoneNamed = (name: string): Zone | undefined =>
  name.length <= NAME_SHOWN && ianaNames().has(name.toLowerCase()) ? platformZone(name) : undefined;

/**
 * The same, and also ICU's own names, which earlier versions accepted (BST as Bangladesh): a trigger that has one keeps its clocks until somebody
 * chooses another zone.
 */
export function platformZone(name: string): Zone | undefined {
  if (!NAME.test(name)) return undefined;
  const known = zones.get(name);
  if (known) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset", year: "numeric" });
  } catch {
    return undefined;
  }
  const zone = { name, offsetAt: (instant: number) => readOffset(format.format(instant)) };
  zones.set(name, zone);
  return zone;
}

/** Why there is no such zone, as a sentence without its subject, with the names that may be meant. */
export function zoneProblem(name: string): string {
  const isLong = name.length > NAME_SHOWN;
  const meant = isLong || name === "" ? [] : ianaNamesMeantBy(name);
  const wanted =
    meant.length === 0
      ? "it takes an IANA name, such as Europe/Berlin or UTC"
      : `it takes an IANA name, and ${meant.length === 1 ? "this may mean" : "this may mean any of"} ${meant.join(", ")}`;
  return `is no time zone: ${JSON.stringify(isLong ? `${name.slice(0, NAME_SHOWN - 1)}…` : name)}; ${wanted}`;
}

/** `1811, GMT-04:56:02` as milliseconds. */
function readOffset(text: string): number {
  const [, sign, hours, minutes, seconds] = OFFSET.exec(text) ?? [];
  if (!sign) return 0;
  const size = Number(hours) * HOUR + Number(minutes) * 60_000 + Number(seconds ?? 0) * 1_000;
  return sign === "-" ? -size : size;
}

/** Between two looks at the offset. No zone has changed its clocks twice in so short a time. */
const LOOK_EVERY = 12 * HOUR;

/** The stretches between two instants, cut off at both. */
export function stretches(zone: Zone, from: number, to: number): Stretch[] {
  const found: Stretch[] = [{ start: from, end: to, offset: zone.offsetAt(from) }];
  let last = found[0] as Stretch;
  for (let at = from; at < to;) {
    const next = Math.min(at + LOOK_EVERY, to);
    const offset = zone.offsetAt(next);
    if (offset !== last.offset) {
      const change = changeBetween(zone, at, next, offset);
      last.end = change;
      last = { start: change, end: to, offset };
      found.push(last);
    }
    at = next;
  }
  return found.filter(({ start, end }) => start < end);
}

/** The first instant after `before` with the offset that holds at `after`. */
function changeBetween(zone: Zone, before: number, after: number, offset: number): number {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offsetAt(middle) === offset) high = middle;
    else low = middle;
  }
  return high;
}
