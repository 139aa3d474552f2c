import { expect, test } from "vitest";
import { dueNow, type Missed } from "./missed.ts";
import { readSchedule, type Schedule } from "./schedule.ts";
import { type Zone, zoneNamed } from "../../../lib/zone.ts";
import { leastMs } from "../../../lib/processor-time.testsuite.ts";

const HOUR_MS = 3_600_000;
const utc = zoneNamed("UTC") as Zone;
const schedule = (text: string): Schedule => readSchedule(text) as Schedule;
const at = (text: string): number => Date.parse(`2026-11-${text}Z`);

function due(text: string, missed: Missed, since: string, now: string, catchUpMs = HOUR_MS): object {
  const { skipped, fire } = dueNow(schedule(text), utc, { missed, catchUpMs }, at(since), at(now));
  const show = (ms: number): string => new Date(ms).toISOString().slice(8, 16);
  return {
    ...(skipped && { skipped: `${skipped.count} from ${show(skipped.from)} to ${show(skipped.to)}` }),
    ...(fire !== undefined && { fire: show(fire) }),
  };
}

test.each<[string, Missed, string, string, object]>([
  ["in time", "latest", "23T08:00", "23T08:00:00.004", { fire: "23T08:00" }],
  ["in time", "none", "23T08:00", "23T08:00:00.004", { fire: "23T08:00" }],
  ["in time", "all", "23T08:00", "23T08:00:00.004", { fire: "23T08:00" }],
  ["half an hour late", "latest", "23T08:00", "23T08:30", { fire: "23T08:00" }],
  ["half an hour late", "none", "23T08:00", "23T08:30", { skipped: "1 from 23T08:00 to 23T08:00" }],
  ["an hour late", "latest", "23T08:00", "23T09:00:00", { skipped: "1 from 23T08:00 to 23T08:00", fire: "23T09:00" }],
  ["three hours late", "latest", "23T08:00", "23T11:10", { skipped: "3 from 23T08:00 to 23T10:00", fire: "23T11:00" }],
  ["three hours late", "all", "23T08:00", "23T11:10", { fire: "23T08:00" }],
  ["three hours late", "none", "23T08:00", "23T11:10", { skipped: "4 from 23T08:00 to 23T11:00" }],
  ["as late as `none` takes", "none", "23T08:00", "23T08:01", { fire: "23T08:00" }],
  ["later than `none` takes", "none", "23T08:00", "23T08:01:00.001", { skipped: "1 from 23T08:00 to 23T08:00" }],
])("every hour, %s, %s: since %s at %s", (_, missed, since, now, expected) => {
  expect(due("0 * * * *", missed, since, now)).toEqual(expected);
});

test("the latest within its hour, and no later", () => {
  expect(due("0 8 * * *", "latest", "23T08:00", "23T09:00")).toEqual({ fire: "23T08:00" });
  expect(due("0 8 * * *", "latest", "23T08:00", "23T09:00:00.001")).toEqual({ skipped: "1 from 23T08:00 to 23T08:00" });
  expect(due("0 8 * * *", "latest", "23T08:00", "23T10:00", 2 * HOUR_MS)).toEqual({ fire: "23T08:00" });
  expect(due("0 8 * * *", "latest", "23T08:00", "23T08:01", 0)).toEqual({ fire: "23T08:00" });
});

test("only the last thousand", () => {
  const asked = (since: string, now: string): object => due("* * * * *", "all", since, now);
  expect(asked("22T08:00", "23T00:39:59")).toEqual({ fire: "22T08:00" });
  expect(asked("22T08:00", "23T00:40:00")).toEqual({ skipped: "1 from 22T08:00 to 22T08:00", fire: "22T08:01" });
  expect(asked("02T00:00", "23T00:00:10")).toEqual({
    skipped: `${21 * 1_440 + 1 - 1_000} from 02T00:00 to 22T07:20`,
    fire: "22T07:21",
  });
});

test("ten years of minutes cost less than a tenth of a second each time", () => {
  const now = at("23T08:00");
  const ask = (): void => {
    for (const missed of ["latest", "all", "none"] as const)
      dueNow(schedule("* * * * *"), utc, { missed, catchUpMs: HOUR_MS }, now - 3_653 * 24 * HOUR_MS, now);
  };
  expect(leastMs(2_000, ask)).toBeLessThan(2_000);
});
