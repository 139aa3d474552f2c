/** One look after the other: no wake is lost, whenever it comes, and a loop that is late is started over. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../log/log.ts";
import { LoopWatch } from "./loop-watch.ts";
import { Loop, type Round } from "./loop.ts";

const EVERY_MS = 5_000;
const LATE_MS = LIMITS.loopLateSeconds * 1_000;

type Look = (round: Round) => Promise<number | void>;

/** A loop whose looks are noted, and what it logs. */
function world(look: Look = async () => {}, clock = testClock()) {
  const startedAt = clock.now();
  const looks: number[] = [];
  const said: [fields: object, message: string][] = [];
  const say = (fields: object, message: string): unknown => said.push([fields, message]);
  const log = { info: say, warn: say, error: say } as unknown as Log;
  const loop = new Loop({
    name: "usage",
    clock,
    log,
    everyMs: EVERY_MS,
    retryMs: 1_000,
    look: (round) => {
      looks.push(clock.now() - startedAt);
      return look(round);
    },
    failed: "it failed",
  });
  const watch = new LoopWatch({ clock, log });
  watch.add(loop);
  /** In parts, as the watchdog beats; looks come to their end between them. */
  const pass = async (ms: number, part = 1_000): Promise<void> => {
    for (let left = ms; left > 0; left -= part) {
      clock.pass(Math.min(part, left));
      await turn();
      await turn();
      watch.look();
    }
  };
  const start = async (): Promise<void> => {
    loop.start();
    await turn();
  };
  return { clock, looks, said, loop, start, watch, pass };
}
const messagesOf = (said: [object, string][]): string[] => said.map(([, message]) => message);

test("it looks at the start, at the time its look returns, when woken, and periodically in any case", async () => {
  let next: number | undefined;
  const { clock, looks, loop, start, pass } = world(async () => next);
  await start();
  await pass(4_999, 4_999);
  expect(looks).toEqual([0]);
  next = clock.now() + 300;
  await pass(1);
  next = undefined;
  await pass(1_000, 100);
  expect(looks).toEqual([0, 5_000, 5_299]);
  loop.wake(clock.now() + 200);
  loop.wake(clock.now() + 100);
  loop.wake(clock.now() + 300);
  await pass(EVERY_MS, 50);
  expect(looks).toEqual([0, 5_000, 5_299, 6_100]);
  await pass(100, 50);
  expect(looks.slice(4)).toEqual([11_100]);
  await loop[Symbol.asyncDispose]();
  loop.wake();
  await pass(60_000);
  expect(looks).toHaveLength(5);
});

test("waking it during a look causes one more, however often and at whatever time", async () => {
  for (const wakes of [[0], [20, 0], [0, 20], [20, 20, 55], [55]]) {
    let answer = (): void => {};
    const { clock, looks, loop, pass } = world(() => new Promise((resolve) => (answer = () => resolve())));
    loop.start();
    for (const at of wakes) {
      loop.wake(clock.now() + at);
      await pass(5, 5);
    }
    await pass(30, 5);
    answer();
    await pass(40, 5);
    expect(looks, String(wakes)).toHaveLength(2);
    answer();
  }
});

test("one look at a time", async () => {
  let [underWay, most] = [0, 0];
  const { loop, pass, clock } = world(async () => {
    most = Math.max(most, ++underWay);
    await turn();
    underWay--;
    return clock.now();
  });
  loop.start();
  for (let count = 0; count < 50; count++) {
    loop.wake();
    await pass(1);
  }
  expect(most).toBe(1);
  await loop[Symbol.asyncDispose]();
});

test("a failed look is logged and repeated", async () => {
  const { looks, said, loop, start, pass } = world(async () => {
    throw new Error("no connection");
  });
  await start();
  await pass(2_000);
  expect(looks).toEqual([0, 1_000, 2_000]);
  expect(said[0]).toEqual([{ reason: "no connection" }, "it failed"]);
  await loop[Symbol.asyncDispose]();
});

test("closing it waits for the look under way, which learns of it", async () => {
  const ended = Promise.withResolvers<void>();
  let goesOn = true;
  const { loop } = world(async (round) => {
    await ended.promise;
    goesOn = round.goesOn();
  });
  loop.start();
  let isClosed = false;
  const closing = loop[Symbol.asyncDispose]().then(() => (isClosed = true));
  await turn();
  expect(isClosed).toBe(false);
  ended.resolve();
  await closing;
  expect(goesOn).toBe(false);
});

test("a clock that is set back an hour, asleep or in a look, holds up neither a sleep nor the next one", async () => {
  let now = Date.UTC(2026, 10, 21, 12);
  const armed = new Set<{ at: number; fire: () => void }>();
  const clock: TestClock = {
    now: () => now,
    at: (at, fire) => {
      const timer = { at, fire };
      armed.add(timer);
      return { [Symbol.dispose]: () => void armed.delete(timer) };
    },
    pass: (ms) => {
      now += ms;
      for (const timer of armed) if (timer.at <= now && armed.delete(timer)) timer.fire();
    },
  };
  /** As with the real clock, what is armed comes after the time that was left. */
  const setBack = (): void => {
    now -= 3_600_000;
    for (const timer of armed) timer.at -= 3_600_000;
  };
  let answer = (_next: number): void => {};
  const { looks, loop, pass } = world(() => new Promise((resolve) => (answer = resolve)), clock);
  loop.start();
  answer(now + 2_000);
  await turn();
  setBack();
  await pass(2_000);
  expect(looks).toHaveLength(2);
  // A look that began before speaks of the former time.
  const next = now + 2_000;
  setBack();
  answer(next);
  await turn();
  await pass(EVERY_MS);
  expect(looks).toHaveLength(3);
});

test("a wake that its timer missed is noticed after 30 s, logged and made up for", async () => {
  const clock = testClock();
  let loses = false;
  const losing: TestClock = {
    ...clock,
    at: (at, fire) => (loses ? { [Symbol.dispose]: () => {} } : clock.at(at, fire)),
  };
  const { looks, said, loop, start, watch, pass } = world(undefined, losing);
  loses = true;
  await start();
  await pass(EVERY_MS + LATE_MS - 1_000);
  expect(looks).toEqual([0]);
  expect(watch.late()).toEqual([]);
  expect(watch.lateSeconds()).toEqual({ usage: LIMITS.loopLateSeconds - 1 });
  loses = false;
  clock.pass(1_000);
  expect(watch.late()).toEqual(["usage"]);
  expect(said).toEqual([
    [
      {
        loop: "usage",
        lateSeconds: 30,
        isLooking: false,
        cameRoundAt: new Date(Date.UTC(2026, 10, 21, 12)),
        mustComeBy: new Date(Date.UTC(2026, 10, 21, 12, 0, 5)),
      },
      "the loop usage is late: it is started over",
    ],
  ]);
  await turn();
  await pass(EVERY_MS);
  expect(looks).toEqual([0, 35_000, 40_000]);
  expect(watch.late()).toEqual([]);
  expect(watch.lateSeconds()).toEqual({ usage: 0 });
  expect(messagesOf(said).at(-1)).toBe("the loop usage goes on again");
  await loop[Symbol.asyncDispose]();
});

test("a hanging look is replaced after 30 s, then 60, and stays late until one succeeds; the old ones change nothing", async () => {
  const answers: ((goesOn: boolean) => void)[] = [];
  const rounds: Round[] = [];
  const { clock, looks, said, loop, watch, pass } = world((round) => {
    rounds.push(round);
    return new Promise((resolve) => answers.push(() => resolve(clock.now())));
  });
  loop.start();
  await pass(29_000);
  expect(looks).toEqual([0]);
  expect(watch.late()).toEqual([]);
  await pass(119_000);
  expect(looks).toEqual([0, 30_000, 60_000, 120_000]);
  expect(watch.late()).toEqual(["usage"]);
  expect(watch.lateSeconds()).toEqual({ usage: 148 });
  expect(said).toHaveLength(3);
  expect(rounds.map(({ signal }) => signal.aborted)).toEqual([true, true, true, false]);
  // The late looks' times to look again do not count.
  for (const answer of answers.slice(0, 3)) answer(true);
  await pass(1_000);
  expect(looks).toHaveLength(4);
  expect(watch.late()).toEqual(["usage"]);
  expect(rounds.map((round) => round.goesOn())).toEqual([false, false, false, true]);
  answers[3]!(true);
  await pass(1_000);
  expect(watch.late()).toEqual([]);
  expect(looks).toHaveLength(5);
  for (const answer of answers) answer(true);
  await loop[Symbol.asyncDispose]();
});

test("a look without an answer is late after 30 s, though the clock was set back an hour meanwhile", async () => {
  const { looks, loop, watch, clock, pass } = world(() => new Promise(() => {}));
  loop.start();
  clock.pass(-3_600_000);
  watch.look();
  await pass(29_000);
  expect(watch.late()).toEqual([]);
  await pass(1_000);
  expect(watch.late()).toEqual(["usage"]);
  expect(looks).toHaveLength(2);
});

test("a long look is not late as long as it says that it goes on", async () => {
  const work = { goes: true };
  const { clock, looks, said, loop, watch, pass } = world(async (round) => {
    while (work.goes && round.goesOn())
      await new Promise<void>((resolve) => void clock.at(clock.now() + 20_000, resolve));
  });
  loop.start();
  await pass(600_000);
  expect(looks).toEqual([0]);
  expect(said).toEqual([]);
  expect(watch.late()).toEqual([]);
  work.goes = false;
  await pass(20_000);
  await loop[Symbol.asyncDispose]();
});

test("a clock that is set forward, or a process that was stopped, makes no loop late", async () => {
  const { clock, loop, start, watch, said } = world();
  await start();
  // The watch comes first, before any loop had its turn.
  const armed: (() => void)[] = [];
  const hourly = new Loop({
    name: "partitions",
    clock: { now: clock.now, at: (_, fire) => (armed.push(fire), { [Symbol.dispose]: () => {} }) },
    log: { warn: () => {} } as unknown as Log,
    everyMs: 3_600_000,
    look: async () => {},
    failed: "",
  }).start();
  await turn();
  watch.add(hourly);
  clock.pass(7_200_000);
  watch.look();
  clock.pass(1_000);
  watch.look();
  expect(watch.late()).toEqual([]);
  // Its timer of 10 s, which no jump of the clock delays.
  armed.at(-1)!();
  armed.at(-1)!();
  await turn();
  watch.look();
  expect(watch.lateSeconds()).toMatchObject({ partitions: 0 });
  expect(said).toEqual([]);
  await loop[Symbol.asyncDispose]();
});

test.each([
  ["sleeps", async () => {}],
  ["looks", () => new Promise<void>(() => {})],
] satisfies [string, Look][])("a loop that is closed while it %s is not late", async (_, look) => {
  const { loop, start, pass, watch } = world(look);
  await start();
  void loop[Symbol.asyncDispose]();
  await pass(120_000);
  expect(watch.late()).toEqual([]);
});
