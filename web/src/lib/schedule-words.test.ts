import { expect, test } from "vitest";
import { scheduleWords, zoneWord } from "./schedule-words.ts";

test.each([
  ["0 8 * * 1-5", "Weekdays 08:00"],
  ["30 17 * * mon-fri", "Weekdays 17:30"],
  ["0 8 * * 1", "Mon 08:00"],
  ["0 8 * * 1,3", "Mon, Wed 08:00"],
  ["0 9 * * 7,SAT", "Weekends 09:00"],
  ["0 8 * * *", "Daily 08:00"],
  ["5 0 1 * *", "Monthly on 1, 00:05"],
  ["* * * * *", "Every minute"],
  ["*/15 * * * *", "Every 15 min"],
  ["5 * * * *", "Hourly at :05"],
  ["0 8 1 * 1", undefined],
  ["0 8 * 1 *", undefined],
  ["0 8 * * 1#2", undefined],
  ["0 8,12 * * *", undefined],
  ["1-5 * * * *", undefined],
])("%s is %s", (schedule, words) => {
  expect(scheduleWords(schedule)).toBe(words);
});

test("a zone is named where it is not the reader's", () => {
  expect(zoneWord("America/New_York", "Europe/Berlin")).toBe("New York");
  expect(zoneWord("Europe/Berlin", "Europe/Berlin")).toBeUndefined();
});
