import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { randomFrom } from "../../../../../test/faults/random.ts";
import { scaled } from "../../../../../test/scale.ts";
import { instantsBetween, nextInstant } from "./instants.ts";
import { readSchedule, type Schedule } from "./schedule.ts";
import { ianaNames, ianaNamesMeantBy } from "../../../lib/iana-zones.ts";
import { platformZone, type Zone, zoneNamed, zoneProblem } from "../../../lib/zone.ts";
import { leastMs } from "../../../lib/processor-time.testsuite.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const fixture = (name: string): string[] =>
  readFileSync(new URL(`../../../../../test/fixtures/cron/${name}`, import.meta.url), "utf8")
    .split("\n")
    .slice(1, -1);

function schedule(text: string): Schedule {
  const read = readSchedule(text);
  if ("problem" in read) throw new Error(`${text}: ${read.problem}`);
  return read;
}

function zone(name: string): Zone {
  const found = zoneNamed(name);
  if (!found) throw new Error(`no zone ${name}`);
  return found;
}

const utc = (text: string): number => Date.parse(text);

/** The first instants after another, those that a gap moved with a `>` before them. */
function instants(text: string, zoneName: string, after: string, count: number): string[] {
  const found: string[] = [];
  let at = utc(after);
  while (found.length < count) {
    const next = nextInstant(schedule(text), zone(zoneName), at);
    if (!next) break;
    found.push(`${next.isShifted ? ">" : ""}${new Date(next.at).toISOString().replace(":00.000Z", "Z")}`);
    at = next.at;
  }
  return found;
}

test("comes when the tests of other programs say, where they follow our rule", () => {
  const rows = fixture("next.tsv").map((row) => row.split("\t") as [string, string, string, string, string]);
  expect(rows).toHaveLength(380);
  const wrong = rows.filter(([text, zoneName, from, inclusive, expected]) => {
    const read = readSchedule(text);
    if ("problem" in read) return expected !== "-" || !read.problem.includes("never comes");
    const next = nextInstant(read, zone(zoneName), utc(from) - (inclusive === "inclusive" ? 1 : 0));
    return next === undefined || next.at !== utc(expected);
  });
  expect(wrong).toEqual([]);
});

test("refuses what is wrong and what only other programs understand", () => {
  const expressions = fixture("refused.txt");
  expect(expressions).toHaveLength(410);
  expect(expressions.filter((text) => !("problem" in readSchedule(text)))).toEqual([]);
});

test.each([
  ["", "five fields", "this one has 0"],
  ["0 8 * *", "five fields", "this one has 4"],
  ["0 0 8 * * *", "five fields", "this one has 6"],
  ["60 8 * * *", "the minute field cannot be", "0 to 59"],
  ["0 24 * * *", "the hour field cannot be", "0 to 23"],
  ["0 8 0 * *", "the day of month field cannot be", "1 to 31"],
  ["0 8 * 13 *", "the month field cannot be", "JAN to DEC"],
  ["0 8 * * 8", "the day of week field cannot be", "SUN to SAT"],
  ["0 8 * * MON-SUNDAY", "the day of week field cannot be", "MON-SUNDAY"],
  ["*/60 * * * *", "the minute field cannot be", "steps"],
  ["10-5 * * * *", "the minute field cannot be", "ranges"],
  ["0 0 31 2 *", "never comes", "none of its months has such a day"],
  ["0 0 31 4,6,9,11 *", "never comes", "none of its months has such a day"],
])("says what is wrong with %j", (text, part, other) => {
  const read = readSchedule(text);
  const problem = "problem" in read ? read.problem : "nothing";
  expect(problem).toContain(part);
  expect(problem).toContain(other);
});

test("says what is wrong with a schedule of any size in less than a screen", () => {
  for (const text of [
    "x".repeat(100_000),
    "* ".repeat(50_000),
    `${"9".repeat(300)} * * * *`,
    `${"1,".repeat(240)}1 * * *`,
  ]) {
    const read = readSchedule(text);
    expect("problem" in read ? read.problem.length : Infinity).toBeLessThan(250);
  }
});

test("takes an expression of at most 500 characters", () => {
  const minutes = `${"1,".repeat(245)}1`;
  expect("problem" in readSchedule(`${minutes} 1 * * *`.padEnd(500))).toBe(false);
  expect(readSchedule(`${minutes} 1 * * *`.padEnd(501))).toEqual({ problem: "a schedule has at most 500 characters" });
});

test("knows zones by their names alone, in any case", () => {
  expect(zoneNamed("europe/berlin")?.offsetAt(0)).toBe(HOUR);
  for (const name of ["UTC", "Etc/GMT+5", "EST5EDT", "America/Argentina/Buenos_Aires"])
    expect(zoneNamed(name)).toBeDefined();
  for (const name of [
    "",
    "Berlin",
    "Europe/Berlin ",
    "+01:00",
    "GMT+1",
    "Mars/Olympus",
    "../etc",
    "x".repeat(9_999),
    "Europe/\0",
  ])
    expect(zoneNamed(name)).toBeUndefined();
});

test("knows every name of the database, whether or not the platform uses it itself", () => {
  const names = [...ianaNames().values()];
  expect(names.length).toBeGreaterThanOrEqual(597);
  expect(names.filter((name) => !zoneNamed(name))).toEqual([]);
  for (const name of ["Europe/Kyiv", "Europe/Kiev", "Etc/GMT+5", "EST", "MST", "HST", "CET", "EST5EDT", "PRC", "utc"])
    expect(zoneNamed(name), name).toBeDefined();
});

test.each([
  ["BST", "this may mean any of Europe/London, Asia/Dhaka, Pacific/Bougainville"],
  ["bst", "Europe/London"],
  ["AST", "America/Halifax"],
  ["SST", "Pacific/Pago_Pago"],
  ["IST", "Asia/Kolkata, Asia/Jerusalem, Europe/Dublin"],
  ["CST", "America/Chicago, Asia/Shanghai"],
  ["SystemV/EST5", "such as Europe/Berlin"],
  ["berlin", "this may mean Europe/Berlin"],
  ["New York", "this may mean America/New_York"],
  ["UTC+5", "this may mean Etc/GMT-5"],
  ["-03:00", "this may mean Etc/GMT+3"],
  ["UTC+19", "such as Europe/Berlin"],
  ["Mars/Olympus", "such as Europe/Berlin"],
  ["posixrules", "such as Europe/Berlin"],
  ["Factory", "such as Europe/Berlin"],
])("refuses %s and says what may be meant", (name, said) => {
  expect(zoneNamed(name)).toBeUndefined();
  expect(zoneProblem(name)).toContain(said);
});

test("every suggestion for an abbreviation is a zone", () => {
  const abbreviations = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].flatMap((a) =>
    [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].flatMap((b) => [`${a}${b}T`, `${a}${b}ST`, `${a}${b}DT`]),
  );
  // All that the platform alone knows are explained.
  const foreign = abbreviations.filter((name) => platformZone(name) && !zoneNamed(name));
  expect(foreign.length).toBeGreaterThan(20);
  for (const name of foreign) expect(ianaNamesMeantBy(name), name).not.toEqual([]);
  for (const name of abbreviations)
    for (const meant of ianaNamesMeantBy(name)) expect(ianaNames().get(meant.toLowerCase()), name).toBe(meant);
});

test("has offsets with seconds, from before standard time", () => {
  expect(zone("America/New_York").offsetAt(utc("1850-01-01T00:00:00Z"))).toBe(-(4 * HOUR + 56 * MINUTE + 2_000));
  expect(instants("0 8 * * *", "America/New_York", "1850-01-01T00:00:00Z", 1)).toEqual(["1850-01-01T12:56:02.000Z"]);
});

test.each([
  [
    "a time in a gap comes at its end",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    [">2026-03-29T01:00Z", "2026-03-30T00:30Z"],
  ],
  [
    "three times in a gap come once",
    "0,20,40 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    [">2026-03-29T01:00Z", "2026-03-30T00:00Z"],
  ],
  [
    "a time at the end of a gap is not moved",
    "30 2,3 * * *",
    "Europe/Berlin",
    "2026-03-29T00:00Z",
    [">2026-03-29T01:00Z", "2026-03-29T01:30Z"],
  ],
  [
    "a time in an overlap comes at its first occurrence",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00Z",
    ["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
  ],
  [
    "every half hour comes in both passes",
    "*/30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T12:00Z",
    ["2026-10-25T00:00Z", "2026-10-25T00:30Z", "2026-10-25T01:00Z", "2026-10-25T01:30Z"],
  ],
  [
    "every half hour of a gap comes once at its end",
    "*/30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    [">2026-03-29T01:00Z", "2026-03-30T00:00Z"],
  ],
  [
    "every hour is not moved where its next is the gap's end",
    "0 * * * *",
    "Europe/Berlin",
    "2026-03-29T00:30Z",
    ["2026-03-29T01:00Z", "2026-03-29T02:00Z"],
  ],
  [
    "a day that was skipped comes at its end",
    "0 8 * * *",
    "Pacific/Apia",
    "2011-12-29T20:00Z",
    [">2011-12-30T10:00Z", "2011-12-30T18:00Z"],
  ],
  [
    "midnight that was skipped",
    "0 0 * * *",
    "America/Sao_Paulo",
    "2018-11-03T12:00Z",
    [">2018-11-04T03:00Z", "2018-11-05T02:00Z"],
  ],
  [
    "midnight that came twice",
    "0 0 * * *",
    "America/Havana",
    "2026-10-31T12:00Z",
    ["2026-11-01T04:00Z", "2026-11-02T05:00Z"],
  ],
  [
    "times of yesterday that came again today",
    "45 23 * * *",
    "America/Sao_Paulo",
    "2018-02-17T12:00Z",
    ["2018-02-18T01:45Z", "2018-02-19T02:45Z"],
  ],
  [
    "times of yesterday that came again after midnight",
    "*/15 23 6 * *",
    "America/St_Johns",
    "2010-11-07T02:30:30Z",
    ["2010-11-07T02:45Z", "2010-11-07T03:00Z", "2010-11-07T03:15Z", "2010-12-07T02:30Z"],
  ],
  [
    "either day",
    "0 0 13 * 5",
    "UTC",
    "2026-02-01T00:00Z",
    [
      "2026-02-06T00:00Z",
      "2026-02-13T00:00Z",
      "2026-02-20T00:00Z",
      "2026-02-27T00:00Z",
      "2026-03-06T00:00Z",
      "2026-03-13T00:00Z",
    ],
  ],
  [
    "both days where one begins with *",
    "0 0 */13 * 5",
    "UTC",
    "2026-01-01T00:00Z",
    ["2026-02-27T00:00Z", "2026-03-27T00:00Z", "2026-05-01T00:00Z"],
  ],
  ["29 February over 2100", "0 0 29 2 *", "UTC", "2096-03-01T00:00Z", ["2104-02-29T00:00Z"]],
  ["29 February on a Sunday over 2100", "0 0 29 2 */7", "UTC", "2088-03-01T00:00Z", ["2128-02-29T00:00Z"]],
  [
    "nothing after the year 9999",
    "59 23 31 12 *",
    "UTC",
    "9998-01-01T00:00Z",
    ["9998-12-31T23:59Z", "9999-12-31T23:59Z"],
  ],
])("%s", (_, text, zoneName, after, expected) => {
  expect(instants(text, zoneName, after, expected.length + (after.startsWith("9998") ? 1 : 0))).toEqual(expected);
});

test("counts bytes, and returns the last of them", () => {
  const berlin = zone("Europe/Berlin");
  const between = (text: string, after: string, until: string): { count: number; latest: string | undefined } => {
    const { count, latest } = instantsBetween(schedule(text), berlin, utc(after), utc(until));
    return { count, latest: latest === undefined ? undefined : new Date(latest).toISOString() };
  };
  expect(between("* * * * *", "2025-01-01T00:00Z", "2026-01-01T00:00Z")).toEqual({
    count: 365 * 1_440,
    latest: "2026-01-01T00:00:00.000Z",
  });
  expect(between("30 2 * * *", "2026-03-28T01:30Z", "2026-03-29T01:00Z")).toEqual({
    count: 1,
    latest: "2026-03-29T01:00:00.000Z",
  });
  expect(between("30 2 * * *", "2026-03-29T01:00Z", "2026-03-30T00:29Z")).toEqual({ count: 0, latest: undefined });
  expect(between("0 0 29 2 *", "2000-02-29T00:00Z", "2020-12-31T00:00Z").count).toBe(5);
});

type Drawn = { text: string; matches(local: number): boolean; isTimeOfDay: boolean };

/** Draws a schedule as text and, apart from it, as what its fields hold. */
function draw(random: () => number): Drawn {
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const field = (first: number, last: number, stars: number): { text: string; holds: Set<number> } => {
    const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    if (random() < stars) {
      const step = random() < 0.5 ? 1 : 1 + upTo(Math.min(29, last - 1));
      return { text: step === 1 ? "*" : `*/${step}`, holds: new Set(all.filter((_, index) => index % step === 0)) };
    }
    const holds = new Set<number>();
    const parts = Array.from({ length: 1 + upTo(2) }, () => {
      const from = first + upTo(last - first);
      if (random() < 0.6) {
        holds.add(from);
        return String(from).padStart(1 + upTo(1), "0");
      }
      const to = from + upTo(last - from);
      const step = random() < 0.5 ? 1 : 1 + upTo(Math.min(9, last - 1));
      for (let value = from; value <= to; value += step) holds.add(value);
      return `${from}-${to}${step === 1 ? "" : `/${step}`}`;
    });
    return { text: parts.join(","), holds };
  };
  const [minute, hour, day, month, weekday] = [
    field(0, 59, 0.3),
    field(0, 23, 0.5),
    field(1, 31, 0.7),
    field(1, 12, 0.9),
    field(0, 7, 0.7),
  ] as const;
  const either = !day.text.startsWith("*") && !weekday.text.startsWith("*");
  return {
    text: [minute, hour, day, month, weekday].map(({ text }) => text).join(" "),
    isTimeOfDay: !/[*/-]/.test(minute.text + hour.text),
    matches: (local) => {
      const at = new Date(local);
      const byDate = day.holds.has(at.getUTCDate());
      const byWeekday = weekday.holds.has(at.getUTCDay()) || (at.getUTCDay() === 0 && weekday.holds.has(7));
      return (
        minute.holds.has(at.getUTCMinutes()) &&
        hour.holds.has(at.getUTCHours()) &&
        month.holds.has(at.getUTCMonth() + 1) &&
        (either ? byDate || byWeekday : byDate && byWeekday)
      );
    },
  };
}

/** The zone's clocks at each minute, read another way than the product reads them. */
function walk(zoneName: string, from: number, times: number, step = MINUTE): { at: number; local: number }[] {
  const clocks = new Intl.DateTimeFormat("sv-SE", { timeZone: zoneName, dateStyle: "short", timeStyle: "medium" });
  return Array.from({ length: times }, (_, index) => {
    const at = from + index * step;
    return { at, local: Date.parse(`${clocks.format(at).replace(" ", "T")}Z`) };
  });
}

/** The rule by its words, a minute at a time. */
function expected({ matches, isTimeOfDay }: Drawn, clocks: { at: number; local: number }[]): string[] {
  const found: string[] = [];
  let furthest = -Infinity;
  for (const { at, local } of clocks) {
    const isAgain = local <= furthest;
    let swallowed = false;
    if (furthest !== -Infinity) {
      for (let missed = furthest + MINUTE; missed < local; missed += MINUTE) swallowed ||= matches(missed);
    }
    if (matches(local)) {
      if (!(isTimeOfDay && isAgain)) found.push(new Date(at).toISOString());
    } else if (swallowed) found.push(`>${new Date(at).toISOString()}`);
    furthest = Math.max(furthest, local);
  }
  return found;
}

/** How many instants of one schedule are compared one by one. */
const ENOUGH = 150;
/** How many schedules are drawn for each change of clocks. */
const ROUNDS = scaled({ whole: 110, part: 25 });

const CLOCK_CHANGES = [
  ["America/New_York", 2026],
  ["Europe/Berlin", 2031],
  ["Australia/Lord_Howe", 2017],
  ["America/Sao_Paulo", 2018],
  ["America/Havana", 2026],
  ["America/St_Johns", 2010],
  ["Africa/Cairo", 2025],
  ["Asia/Beirut", 2024],
  ["Africa/Casablanca", 2029],
  ["Pacific/Apia", 2011],
  ["Pacific/Kwajalein", 1993],
  ["Antarctica/Troll", 2026],
  ["Asia/Pyongyang", 2018],
  ["America/Caracas", 2007],
  ["Asia/Kathmandu", 1986],
  ["Pacific/Chatham", 2030],
] as const;

/** The days of a year on which the offset is another at the end than at the start; without any, a day of the year. */
function changes(zoneName: string, year: number): number[] {
  const offsets = walk(zoneName, Date.UTC(year, 0, 1), 366, DAY).map(({ at, local }) => ({ at, offset: local - at }));
  const found = offsets.flatMap(({ at, offset }, index) =>
    offset === (offsets[index + 1]?.offset ?? offset) ? [] : [at],
  );
  return found.length > 0 ? found : [Date.UTC(year, 5, 15)];
}

test.each(CLOCK_CHANGES)("follows the rule by its words, minute by minute, in %s in %i", (zoneName, year) => {
  const random = randomFrom(year * 31 + zoneName.length).next;
  const here = zone(zoneName);
  for (const change of changes(zoneName, year).slice(0, 2)) {
    const [from, minutes] = [change - DAY, 2.5 * 1_440];
    const clocks = walk(zoneName, from, minutes);
    const until = from + (minutes - 1) * MINUTE;
    for (let round = 0; round < ROUNDS; round++) {
      const drawn = draw(random);
      const read = readSchedule(drawn.text);
      if ("problem" in read) {
        expect(read.problem).toContain("never comes");
        continue;
      }
      // The walk knows what came before; the product may start anywhere.
      const start = from + Math.floor((0.6 + 0.3 * random()) * DAY);
      const wanted = expected(drawn, clocks).filter((text) => utc(text.replace(">", "")) > start);
      const found: string[] = [];
      for (let at = start; found.length < ENOUGH;) {
        const next = nextInstant(read, here, at);
        if (!next || next.at > until) break;
        found.push(`${next.isShifted ? ">" : ""}${new Date(next.at).toISOString()}`);
        at = next.at;
      }
      expect(found, drawn.text).toEqual(wanted.slice(0, ENOUGH));
      const [some, more] = [start + random() * DAY, start + (1 + 0.5 * random()) * DAY].map(Math.floor) as [
        number,
        number,
      ];
      const between = wanted.map((text) => utc(text.replace(">", ""))).filter((at) => at > some && at <= more);
      expect(instantsBetween(read, here, some, more), drawn.text).toEqual({
        count: between.length,
        latest: between.at(-1),
      });
    }
  }
});

/** Whether `act` costs the main thread less than `most` ms, as one of many. */
function isBelow(most: number, times: number, act: () => unknown): boolean {
  const all = (): void => {
    for (let time = 0; time < times; time++) act();
  };
  return leastMs(most * times, all) < most * times;
}

test("costs little, whatever is asked", () => {
  const here = zone("America/New_York");
  const now = utc("2026-06-01T00:00Z");
  const rare = schedule("0 0 29 2 */7");
  const dense = schedule("* * * * *");
  const daily = schedule("30 8 * * 1-5");
  // Ten times what they take alone: 0.02, 2, 0.02, 20 and 0.3 ms.
  expect(isBelow(0.5, 200, () => nextInstant(daily, here, now))).toBe(true);
  expect(isBelow(30, 3, () => nextInstant(rare, here, utc("2088-03-01T00:00Z")))).toBe(true);
  expect(isBelow(0.5, 200, () => nextInstant(dense, here, now))).toBe(true);
  expect(isBelow(250, 1, () => instantsBetween(dense, here, now - 3_653 * DAY, now))).toBe(true);
  expect(isBelow(3, 50, () => readSchedule("0,1,2,3-59/7 */2 1-31/2,5 JAN-DEC SUN-SAT"))).toBe(true);
});
