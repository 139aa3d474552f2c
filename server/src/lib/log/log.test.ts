import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { Clock } from "../clock.ts";
import { LIMITS } from "../limits.ts";
import { leastMs } from "../processor-time.testsuite.ts";
import { createLog, redact } from "./log.ts";

const NOON = Date.UTC(2026, 10, 22, 12, 0, 1, 250);

class Out extends EventEmitter {
  lines: string[] = [];
  isTTY = false;
  writableLength = 0;
  write(line: string): boolean {
    this.lines.push(line);
    return true;
  }
}

type TestClock = Clock & { move(ms: number): void };
function testClock(): TestClock {
  let now = NOON;
  const armed = new Set<{ at: number; fire: () => void }>();
  return {
    now: () => now,
    at: (at, fire) => {
      const entry = { at, fire };
      armed.add(entry);
      return { [Symbol.dispose]: () => void armed.delete(entry) };
    },
    move: (ms) => {
      now += ms;
      for (const entry of armed) if (entry.at <= now && armed.delete(entry)) entry.fire();
    },
  };
}

function open(level = "info", isTTY = false) {
  const out = new Out();
  out.isTTY = isTTY;
  const clock = testClock();
  const log = createLog(level, { out: out as unknown as NodeJS.WriteStream, clock });
  const said = () => out.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { out, clock, log, said };
}

const KEY = `ag_live_${"aB3-_".repeat(8)}`;
const JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ1c2VyXzEifQ.c2lnbmF0dXJl-_";
const REFRESH = "rt_abcdefghij0123456789.-_";

test.each([
  ["an API key", `key ${KEY} end`, "key [redacted] end"],
  ["a Bearer header", "Bearer  a.b~c+d/e-f== end", "[redacted] end"],
  ["an access token", `token ${JWT} end`, "token [redacted] end"],
  ["an access token within a word", `x-${JWT} end`, "[redacted] end"],
  ["a refresh token", `token ${REFRESH} end`, "token [redacted] end"],
  ["a refresh token of 20 characters", `rt_${"a".repeat(20)}`, "[redacted]"],
  ["a webhook's path", "POST /webhook/agent-1/s3-cr_t?a=1", "POST /webhook/agent-1/[redacted]?a=1"],
  ["several", `${KEY} ${JWT} ${KEY}`, "[redacted] [redacted] [redacted]"],
  ["nothing else", "rt_short Bearer: eyJ.a ag_live webhook/a/b", "rt_short Bearer: eyJ.a ag_live webhook/a/b"],
])("%s is cut by its shape", (_, text, expected) => {
  expect(redact(text)).toBe(expected);
});

const MIB = 1024 * 1024;
test.each([
  "eyJ",
  "eyJa.",
  "eyJ-.eyJ-",
  "rt_",
  "rt_aaaaaaaaaaaaaaaaaaa ",
  "Bearer ",
  `Bearer${" ".repeat(100_000)}`,
  "Bearer\n\n\n",
  "ag_live_",
  "/webhook/",
  "/webhook/a-",
  "a/",
  "a",
  "/",
])("a mebibyte of %j takes less than 100 ms of the processor", (piece) => {
  const half = piece.repeat(MIB / 2 / piece.length);
  for (const hostile of [half + half, `${half}.${half}`, `/webhook/${half}/${half}`])
    expect(leastMs(100, () => redact(hostile))).toBeLessThan(100);
});

test("shapes are cut wherever they stand in a line", () => {
  const { log, out } = open();
  log.error({ err: new Error(`with ${KEY}`), deep: { list: [`Bearer ${JWT}`] } }, `about ${REFRESH}`);
  expect(out.lines).toHaveLength(1);
  expect(out.lines[0]).toContain("about [redacted]");
  expect(out.lines[0]).toContain("with [redacted]");
  expect(out.lines[0]).toContain('"list":["[redacted]"]');
  for (const secret of [KEY, JWT, REFRESH]) expect(out.lines[0]).not.toContain(secret);
});

test.each(["password", "accessToken", "refreshToken", "secret", "authorization", "token", "apiKey", "cookie"])(
  "a field named %s is cut, at the top and one below",
  (name) => {
    const { log, said } = open();
    log.info({ [name]: "hunter2", input: { [name]: "hunter2", other: "kept" } }, "text");
    expect(said()).toMatchObject([{ [name]: "[redacted]", input: { [name]: "[redacted]", other: "kept" } }]);
  },
);

test("ids are written as the API shows them", () => {
  const { log, said } = open();
  const id = "01a208e1-3ae3-71b7-9486-be999cac7148";
  log.warn({ run: id, runs: [id, "x"], session: id, organizationId: id, requestId: id, user: undefined }, "one");
  const shown = "01m84e2eq3e6vs91nyk6earwa8";
  expect(said()).toEqual([
    {
      level: 40,
      time: expect.any(Number),
      run: `run_${shown}`,
      runs: [`run_${shown}`, "x"],
      session: `session_${shown}`,
      organizationId: `org_${shown}`,
      requestId: id,
      msg: "one",
    },
  ]);
});

test("a line is JSON with its level, time and text, and no more than it was given", () => {
  const { log, said } = open("debug");
  log.debug("one");
  log.info({ a: 1 }, "two");
  log.child({ run: "r" }).warn("three");
  log.error({ err: new TypeError("bad") }, "four");
  expect(said()).toEqual([
    { level: 20, time: expect.any(Number), msg: "one" },
    { level: 30, time: expect.any(Number), a: 1, msg: "two" },
    { level: 40, time: expect.any(Number), run: "r", msg: "three" },
    {
      level: 50,
      time: expect.any(Number),
      err: { type: "TypeError", message: "bad", stack: expect.stringContaining("TypeError: bad\n") },
      msg: "four",
    },
  ]);
});

test("lines below the level are not written", () => {
  const { log, said } = open("warn");
  log.info("no");
  log.warn("yes");
  expect(said().map(({ msg }) => msg)).toEqual(["yes"]);
});

test("a terminal gets lines for people", () => {
  const { log, out } = open("debug", true);
  log.debug({ text: "a b", list: [1], none: null }, "one");
  log.info("two");
  log.warn({ key: KEY }, "three");
  log.error("four");
  const TIME = String.raw`\d\d:\d\d:\d\d\.\d{3}`;
  expect(out.lines.map((line) => line.replace(new RegExp(`^${TIME}`), "TIME"))).toEqual([
    "TIME debug one text=a b list=[1] none=null\n",
    "TIME info  two\n",
    "TIME warn  three key=[redacted]\n",
    "TIME error four\n",
  ]);
  const wrote = new Date(`${new Date().toISOString().slice(0, 11)}${out.lines[0]!.slice(0, 12)}Z`);
  // Midnight may have passed since.
  const apartMs = Math.abs(Date.now() - wrote.getTime());
  expect(Math.min(apartMs, Math.abs(86_400_000 - apartMs))).toBeLessThan(60_000);
});

const ALIKE = LIMITS.logLinesAlike;

test("a line that repeats is counted: the first few, then the last one of each minute with the number", () => {
  const { log, said, clock } = open();
  for (let index = 0; index < 1_000; index++) log.warn({ index }, "again");
  log.warn({ index: 0 }, "another");
  expect(said().map(({ msg, index }) => `${String(msg)} ${String(index)}`)).toEqual([
    ...Array.from({ length: ALIKE }, (_, index) => `again ${index}`),
    "another 0",
  ]);
  clock.move(59_999);
  expect(said()).toHaveLength(ALIKE + 1);
  clock.move(1);
  expect(said().slice(ALIKE + 1)).toMatchObject([{ level: 40, msg: "again", index: 999, repeated: 1_000 - ALIKE }]);
  for (let index = 0; index < 5; index++) log.warn({ index }, "again");
  expect(said()).toHaveLength(ALIKE + 2);
  clock.move(60_000);
  expect(said().at(-1)).toMatchObject({ msg: "again", index: 4, repeated: 5 });
  // After a quiet minute it counts as new.
  clock.move(60_000);
  log.warn({ index: 7 }, "again");
  expect(said().at(-1)).toMatchObject({ msg: "again", index: 7 });
  expect(said().at(-1)).not.toHaveProperty("repeated");
});

test("the same text at another level, and debug, are not the same line", () => {
  const { log, said } = open("debug");
  for (let count = 0; count < 50; count++) {
    log.debug("text");
    log.info("text");
    log.error(new Error("text"));
  }
  const levels = said().map(({ level }) => level);
  expect([20, 30, 50].map((level) => levels.filter((one) => one === level).length)).toEqual([50, ALIKE, ALIKE]);
});

test("at the end the counts are written", () => {
  const { log, said } = open();
  for (let count = 0; count < ALIKE + 3; count++) log.info("text");
  for (let count = 0; count < ALIKE + 2; count++) log.error(new Error("broken"));
  log[Symbol.dispose]();
  expect(said().slice(2 * ALIKE)).toMatchObject([
    { msg: "text", repeated: 3 },
    { msg: "broken", repeated: 2, err: { message: "broken" } },
  ]);
  log[Symbol.dispose]();
  expect(said()).toHaveLength(2 * ALIKE + 2);
});

test("only some of very many texts are remembered, and a forgotten text's count is written", () => {
  const { log, said } = open();
  for (let count = 0; count < ALIKE + 4; count++) log.info("first");
  for (let index = 0; index < LIMITS.logTextsCounted; index++) log.info(`text ${index}`);
  expect(said().findLast(({ msg }) => msg === "first")).toMatchObject({ repeated: 4 });
  log.info("first");
  expect(said().at(-1)).not.toHaveProperty("repeated");
});

test("a reader that stands still costs a bounded number of bytes, and hears how many lines it missed", () => {
  const { log, out, said } = open();
  log.info("one");
  out.writableLength = LIMITS.logBytesUnread + 1;
  log.info("two");
  log.info("three");
  expect(said()).toHaveLength(1);
  out.writableLength = LIMITS.logBytesUnread;
  log.info("four");
  expect(said().slice(1)).toMatchObject([
    { level: 40, lines: 2, msg: "lines of the log were dropped because nobody read them" },
    { msg: "four" },
  ]);
});

test("an output that can't be evaluated is left out", () => {
  const { log, out, said } = open();
  expect(() => out.emit("error", new Error("ENOSPC"))).not.toThrow();
  log.info("on");
  expect(said()).toHaveLength(1);
});
