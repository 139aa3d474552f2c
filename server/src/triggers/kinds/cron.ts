/** A schedule. */
import { createHash } from "node:crypto";
import { isDateTime } from "../../lib/calendar.ts";
import { enumerate } from "../../definition/text/problem.ts";
import { conflict, type Refusal } from "../../lib/errors.ts";
import { isObject, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { platformZone, type Zone, zoneNamed, zoneProblem } from "../../lib/zone.ts";
import { instantsBetween, nextInstant } from "./cron/instants.ts";
import { dueNow, MISSED, type Missed } from "./cron/missed.ts";
import { checkRelativeDates, resolveRelativeDates } from "./cron/relative-dates.ts";
import { readSchedule, type Schedule } from "./cron/schedule.ts";
import { OVERLAP_KEY, settleOverlap } from "./contract/overlap.ts";
import type { TriggerKind } from "./contract/trigger-kind.ts";

const MINUTE_MS = 60_000;
const CATCH_UP_MINUTES = 60;

export const cron: TriggerKind = {
  description: "A schedule in a time zone.",
  keys: {
    schedule: {
      api: "String",
      isRequired: true,
      description: "Five fields: minute, hour, day of month, month, day of week. `cronPreview` shows when it is due.",
    },
    timezone: { api: "String", isRequired: true, description: "An IANA time zone, such as `Europe/Berlin`." },
    input: {
      api: "JSON",
      description:
        "The run's input, an object. Words such as `@today` and `@last-week.start` become dates, counted from the day on which the trigger is due.",
    },
  },
  policies: {
    overlap: OVERLAP_KEY,
    missed: {
      api: "MissedInstants",
      description: "What happens to instants at which no server was running. Default: `latest`.",
    },
    catchUpMinutes: {
      api: "Int",
      description: `How many minutes late the latest missed instant may still fire under \`latest\`: 0 to ${LIMITS.catchUpMinutes}. Default: ${CATCH_UP_MINUTES}.`,
    },
    jitterSeconds: {
      api: "Int",
      description: `Delays each firing by a fixed amount, up to this many seconds, so that not all triggers fire on the hour: 0 to ${LIMITS.jitterSeconds}. Default: 0.`,
    },
    startsAt: { api: "DateTime", description: "The trigger is not due before this time." },
    endsAt: { api: "DateTime", description: "The trigger is not due after this time." },
  },
  hasUrl: false,
  dropsUnknown: false,
  overlap: "skip",
  deliveryHours: LIMITS.idempotencyHours,
  configure({ schedule, timezone, input = {} }, problems) {
    const read = readSchedule(String(schedule));
    if ("problem" in read) problems.add("schedule", "invalid", `is refused: ${read.problem}`);
    if (!zoneNamed(String(timezone))) problems.add("timezone", "invalid", zoneProblem(String(timezone)));
    if (!isObject(input)) problems.add("input", "wrong_type", "must be an object");
    else checkRelativeDates(input, "input", ({ path, code, message }) => problems.add(path, code, message));
    return { schedule: schedule!, timezone: timezone!, input };
  },
  settle(policy, problems) {
    const { missed, catchUpMinutes, jitterSeconds, startsAt, endsAt } = policy;
    const overlap = settleOverlap(policy, problems);
    if (missed !== undefined && !MISSED.includes(missed as Missed))
      problems.add("missed", "not_a_choice", `must be ${enumerate(MISSED, "or")}`);
    const within = (key: string, value: unknown, most: number): void => {
      if (value !== undefined && !(Number(value) >= 0 && Number(value) <= most))
        problems.add(key, "out_of_range", `must be between 0 and ${most}`);
    };
    within("catchUpMinutes", catchUpMinutes, LIMITS.catchUpMinutes);
    within("jitterSeconds", jitterSeconds, LIMITS.jitterSeconds);
    for (const [key, value] of Object.entries({ startsAt, endsAt }))
      if (value !== undefined && !isDateTime(String(value)))
        problems.add(key, "invalid", "must be an RFC 3339 time with a zone, like 2026-11-21T08:30:00Z");
    if (startsAt !== undefined && endsAt !== undefined && Date.parse(String(startsAt)) > Date.parse(String(endsAt)))
      problems.add("endsAt", "out_of_range", "must not be before startsAt");
    const given = { ...overlap, missed, catchUpMinutes, jitterSeconds, startsAt, endsAt };
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as JsonObject;
  },
  show: ({ schedule, timezone, input }) => ({ schedule: schedule!, timezone: timezone!, input: input! }),
  inputOf({ timezone, input }, payload, at) {
    const given = payload ?? (input as JsonObject);
    return resolveRelativeDates(given, at + zoneOf(timezone).offsetAt(at));
  },
  schedule: {
    next({ id, configuration, policy }, after) {
      const { schedule, zone } = read(configuration);
      const from = policy["startsAt"] === undefined ? after : Math.max(after, timeOf(policy["startsAt"]) - 1);
      const instant = nextInstant(schedule, zone, from);
      if (!instant || instant.at > endOf(policy)) return null;
      return { at: instant.at, wakesAt: instant.at + jitterOf(id, policy) };
    },
    dueNow({ id, configuration, policy }, due, now) {
      const { schedule, zone } = read(configuration);
      const missed = (policy["missed"] ?? "latest") as Missed;
      const catchUpMs = Number(policy["catchUpMinutes"] ?? CATCH_UP_MINUTES) * MINUTE_MS;
      return dueNow(schedule, zone, { missed, catchUpMs, end: endOf(policy) }, due, now - jitterOf(id, policy));
    },
    timing: ({ configuration: { schedule, timezone }, policy: { overlap: _overlap, ...times } }) => [
      schedule,
      timezone,
      times,
    ],
    count({ configuration, policy }, due, until) {
      const { schedule, zone } = read(configuration);
      return instantsBetween(schedule, zone, due, Math.min(until, endOf(policy))).count + 1;
    },
  },
};

/** Both were checked when they were set; a newer Node may know a zone by another name alone. Throws CONFLICT. */
function read({ schedule, timezone }: JsonObject): { schedule: Schedule; zone: Zone } {
  const found = readSchedule(String(schedule));
  if ("problem" in found) throw unknown(`the schedule is no longer valid: ${found.problem}`);
  return { schedule: found, zone: zoneOf(timezone) };
}

function zoneOf(timezone: unknown): Zone {
  const zone = platformZone(String(timezone));
  if (!zone) throw unknown(`its timezone ${zoneProblem(String(timezone))}`);
  return zone;
}

const unknown = (problem: string): Refusal =>
  conflict("wrong_state", `${problem}; the trigger will not fire until it is changed`);

const timeOf = (time: unknown): number => Date.parse(String(time));

const endOf = ({ endsAt }: JsonObject): number => (endsAt === undefined ? Infinity : timeOf(endsAt));

/** How much later the trigger fires than it is due, in ms: always the same, and spread evenly over all triggers. */
function jitterOf(id: string, { jitterSeconds }: JsonObject): number {
  if (jitterSeconds === undefined) return 0;
  const share = createHash("sha256").update(id).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(share * Number(jitterSeconds) * 1_000);
}
