import type { Timed } from "../contract/trigger-kind.ts";
import { badInput, type FieldProblem } from "../../../lib/errors.ts";
import { LIMITS } from "../../../lib/limits.ts";
import type { Steps } from "../../../fairness/slices.ts";
import { nextInstant } from "./instants.ts";
import { readSchedule, type Schedule } from "./schedule.ts";
import { platformZone, type Zone, zoneNamed, zoneProblem } from "../../../lib/zone.ts";

/** When a schedule comes: `localTime` is the same on the zone's clocks, with their offset; `isShifted` where a clock change moved it. */
export type CronInstant = { at: Date; localTime: string; isShifted: boolean };

/** Finds a zone that is given now, or one that a trigger has. */
type ZoneOf = typeof zoneNamed;

/** Refuses a wrong schedule and a zone that does not exist, both at once. */
function readCron(schedule: string, timezone: string, zoneOf: ZoneOf): { schedule: Schedule; zone: Zone } {
  const read = readSchedule(schedule);
  const zone = zoneOf(timezone);
  if (!("problem" in read) && zone) return { schedule: read, zone };
  const problems: FieldProblem[] = [];
  if ("problem" in read) problems.push({ path: "schedule", code: "invalid", message: read.problem });
  if (!zone) {
    problems.push({ path: "timezone", code: "invalid", message: `timezone ${zoneProblem(timezone)}` });
  }
  throw badInput("invalid_input", problems.map(({ message }) => message).join("; "), problems);
}

type Asked = {
  schedule: string;
  timezone: string;
  from: Date;
  /** None after it. */
  to?: Date | undefined;
  count: number;
};

/**
 * The next times that a schedule comes, strictly after `from`; fewer where the year 9999 ends. A step looks for one, which takes up to
 * some milliseconds where decades have none.
 */
export const previewingCron = (asked: Asked): Steps<CronInstant[]> => previewing(asked, zoneNamed);

function* previewing(asked: Asked, zoneOf: ZoneOf): Steps<CronInstant[]> {
  const { count, to } = asked;
  if (count < 1 || count > LIMITS.cronPreviewInstants) {
    const message = `must be between 1 and ${LIMITS.cronPreviewInstants}`;
    throw badInput("invalid_input", `count ${message}`, [{ path: "count", code: "out_of_range", message }]);
  }
  const { schedule, zone } = readCron(asked.schedule, asked.timezone, zoneOf);
  const instants: CronInstant[] = [];
  let after = asked.from.getTime();
  while (instants.length < count) {
    const next = nextInstant(schedule, zone, after);
    if (!next || (to && next.at > to.getTime())) break;
    const { at, isShifted } = next;
    instants.push({ at: new Date(at), localTime: localTime(zone, at), isShifted });
    after = at;
    yield;
  }
  return instants;
}

/** The next times of a trigger's schedule between its policy's `startsAt` and `endsAt`, whether or not it is paused; none of another type. */
export function* previewingTrigger({ configuration, policy }: Timed, now: number, count: number): Steps<CronInstant[]> {
  const { schedule, timezone } = configuration;
  const { startsAt, endsAt } = policy;
  if (schedule === undefined) return [];
  const asked: Asked = {
    schedule: String(schedule),
    timezone: String(timezone),
    // A schedule that begins at a time may be due at it.
    from: new Date(startsAt === undefined ? now : Math.max(now, Date.parse(String(startsAt)) - 1)),
    to: endsAt === undefined ? undefined : new Date(String(endsAt)),
    count,
  };
  return yield* previewing(asked, platformZone);
}

/** `2026-03-29T03:00:00+02:00`; before standard time the offset is cut to minutes, as RFC 3339 has no seconds in it. */
function localTime(zone: Zone, at: number): string {
  const offset = zone.offsetAt(at);
  const minutes = Math.floor(Math.abs(offset) / 60_000);
  const two = (number: number): string => String(number).padStart(2, "0");
  const sign = offset < 0 ? "-" : "+";
  const clock = new Date(at + offset).toISOString().slice(0, -".000Z".length);
  return `${clock}${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
