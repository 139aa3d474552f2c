/** When cron schedules come, over the wire and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, cliJson } from "./command-line.ts";
import { startTestServer, type Data, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { stretchMs } from "./raw.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const PREVIEW = `query ($schedule: String!, $timezone: String!, $from: DateTime, $count: Int) {
  cronPreview(schedule: $schedule, timezone: $timezone, from: $from, count: $count) { at localTime isShifted }
}`;
const ask = (schedule: string, timezone: string, more: { from?: string; count?: number } = {}) =>
  server.graphql(PREVIEW, { schedule, timezone, count: 5, ...more });
const preview = async (schedule: string, timezone: string, from: string, count: number): Promise<Data[]> => {
  const { data, errors } = await ask(schedule, timezone, { from, count });
  expect(errors).toBeUndefined();
  return data.cronPreview;
};

describe("cronPreview", () => {
  test("says when, by the zone's clocks, and what a clock change moved", async () => {
    expect(await preview("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3)).toEqual([
      { at: "2026-03-28T01:30:00.000Z", localTime: "2026-03-28T02:30:00+01:00", isShifted: false },
      { at: "2026-03-29T01:00:00.000Z", localTime: "2026-03-29T03:00:00+02:00", isShifted: true },
      { at: "2026-03-30T00:30:00.000Z", localTime: "2026-03-30T02:30:00+02:00", isShifted: false },
    ]);
    expect(await preview("0 8 * * MON-FRI", "america/new_york", "2026-11-20T13:00:00Z", 1)).toEqual([
      { at: "2026-11-23T13:00:00.000Z", localTime: "2026-11-23T08:00:00-05:00", isShifted: false },
    ]);
  });

  test("is strictly after `from`, which is now when it is left out, and five by default", async () => {
    expect(await preview("0 8 * * *", "UTC", "2026-11-20T08:00:00Z", 1)).toMatchObject([
      { at: "2026-11-21T08:00:00.000Z" },
    ]);
    expect(await preview("0 8 * * *", "UTC", "2026-11-20T07:59:59.999Z", 1)).toMatchObject([
      { at: "2026-11-20T08:00:00.000Z" },
    ]);
    await server.clock.set(Date.UTC(2031, 4, 6, 10, 30));
    const { cronPreview } = await server.data(`{ cronPreview(schedule: "0 * * * *", timezone: "UTC") { at } }`);
    expect(cronPreview).toEqual([11, 12, 13, 14, 15].map((hour) => ({ at: `2031-05-06T${hour}:00:00.000Z` })));
  });

  test("ends with the year 9999, and knows times before there were zones", async () => {
    expect(await preview("0 0 1 1 *", "UTC", "9998-06-01T00:00:00Z", 5)).toHaveLength(1);
    expect(await preview("59 23 31 12 *", "Pacific/Honolulu", "9999-06-01T00:00:00Z", 5)).toEqual([]);
    expect(await preview("0 8 * * *", "Europe/Berlin", "1850-01-01T00:00:00Z", 1)).toEqual([
      { at: "1850-01-01T07:06:32.000Z", localTime: "1850-01-01T08:00:00+00:53", isShifted: false },
    ]);
  });

  test("names every field that is wrong", async () => {
    const { errors } = await ask("0 25 * * *", "Europe/Atlantis");
    expect(errors?.[0]).toMatchObject({
      extensions: { code: "BAD_USER_INPUT", reason: "invalid_input" },
    });
    expect(errors?.[0]?.extensions.fields).toEqual([
      { path: "schedule", code: "invalid", message: expect.stringContaining('the hour field cannot be "25"') },
      { path: "timezone", code: "invalid", message: expect.stringContaining('is no time zone: "Europe/Atlantis"') },
    ]);
  });

  test("takes the zones and links of the IANA database and nothing else, and says what may be meant", async () => {
    for (const zone of ["Europe/Kyiv", "Europe/Kiev", "UTC", "Etc/GMT+5", "EST", "CET", "europe/berlin"])
      expect((await ask("0 8 * * *", zone)).errors, zone).toBeUndefined();
    for (const [zone, meant] of [
      ["BST", "Europe/London, Asia/Dhaka, Pacific/Bougainville"],
      ["IST", "Asia/Kolkata, Asia/Jerusalem, Europe/Dublin"],
      ["AST", "America/Halifax"],
      ["SST", "Pacific/Pago_Pago"],
    ] as const)
      expect((await ask("0 8 * * *", zone)).errors?.[0]?.extensions.fields, zone).toEqual([
        { path: "timezone", code: "invalid", message: expect.stringContaining(meant) },
      ]);
  });

  test.each([
    ["a schedule that never comes", "0 0 31 2 *", "UTC"],
    ["seconds", "0 0 8 * * *", "UTC"],
    ["a name for a schedule", "@daily", "UTC"],
    ["nothing", "", ""],
    ["20,000 characters", "1,".repeat(10_000), "UTC"],
    ["a long zone", "0 8 * * *", "Z".repeat(50_000)],
    ["line breaks and NUL", "0 8 * * *\n\0", "UTC\0"],
    ["an offset", "0 8 * * *", "+02:00"],
    ["names of prototypes", "__proto__ constructor * * *", "__proto__"],
  ])("refuses %s in a sentence", async (_, schedule, timezone) => {
    const { errors } = await ask(schedule, timezone);
    expect(errors?.[0]?.extensions).toMatchObject({ code: "BAD_USER_INPUT", reason: "invalid_input" });
    expect(errors?.[0]?.message.length).toBeLessThan(600);
  });

  test("answers 1 to 100 instants", async () => {
    expect(await preview("* * * * *", "UTC", "2026-01-01T00:00:00Z", 100)).toHaveLength(100);
    expect(await preview("* * * * *", "UTC", "2026-01-01T00:00:00Z", 1)).toHaveLength(1);
    for (const count of [0, -1, 101, 1_000]) {
      const { errors } = await ask("* * * * *", "UTC", { count });
      expect(errors?.[0]?.extensions.fields).toEqual([
        { path: "count", code: "out_of_range", message: "must be between 1 and 100" },
      ]);
    }
  });
});

test("many schedules that come once in decades leave the main thread to others in between", async () => {
  const asked = Array.from(
    { length: 30 },
    (_, number) => `a${number}: cronPreview(schedule: "0 0 29 2 */6", timezone: "UTC", count: 100) { at }`,
  );
  const longestMs = await stretchMs(server, async () => {
    const { a29 } = await server.data(`{ ${asked.join("\n")} }`);
    expect(a29).toHaveLength(100);
  });
  expect(longestMs).toBeLessThan(MAIN_THREAD_MS);
});

describe("autograph cron next", () => {
  const BERLIN = ["--timezone", "Europe/Berlin", "--from", "2026-03-27T12:00:00Z"];

  test("prints the next times, without a server", async () => {
    const { code, stdout, stderr } = await cli(["cron", "next", "30 2 * * *", ...BERLIN, "--count", "2"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").map((text) => text.trimEnd())).toEqual([
      "local time                 UTC                       clock change",
      "2026-03-28T02:30:00+01:00  2026-03-28T01:30:00.000Z",
      "2026-03-29T03:00:00+02:00  2026-03-29T01:00:00.000Z  moved",
      "",
    ]);
  });

  test("prints JSON", async () => {
    const found = await cliJson<Data[]>(["cron", "next", "0 8 * * 1-5", ...BERLIN, "--count", "1"]);
    expect(found).toEqual([
      { at: "2026-03-30T06:00:00.000Z", localTime: "2026-03-30T08:00:00+02:00", isShifted: false },
    ]);
  });

  test.each([
    [["0 8 * *"], "a schedule has five fields"],
    [["0 8 * * *", "--timezone", "Berlin"], 'is no time zone: "Berlin"'],
    [["0 8 * * *", "--count", "101"], "--count must be a whole number from 1 to 100"],
    [["0 8 * * *", "--from", "tomorrow"], "--from must be a time with a zone"],
  ])("refuses %j in a line", async (args, part) => {
    const { code, stdout, stderr } = await cli(["cron", "next", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(part);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});
