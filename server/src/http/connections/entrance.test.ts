import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { Entrance } from "./entrance.ts";

/** Each that begins takes so many ms, one that is refused none; time passes in no other way. */
function steered({ backlog = {} }: { backlog?: Record<string, { waiting: number; ms: number }> } = {}) {
  let now = 0;
  const entrance = new Entrance({
    now: () => now,
    backlog: {
      isContended: () => Object.keys(backlog).length > 0,
      of: (line) => backlog[line] ?? { waiting: 0, ms: 0 },
    },
  });
  const counts: Record<string, { begun: number; refused: number; longestMs: number }> = {};
  const send = (group: string, ms: number, isStranger = false): void => {
    const count = (counts[group] ??= { begun: 0, refused: 0, longestMs: 0 });
    const since = now;
    entrance.enter({
      line: () => ({ name: group, isStranger }),
      mayBeUrgent: () => false,
      go: (tooMuchOf) => {
        const isRefused = tooMuchOf !== undefined;
        count[isRefused ? "refused" : "begun"]++;
        if (isRefused) return;
        count.longestMs = Math.max(count.longestMs, now - since);
        now += ms;
      },
    });
  };
  /** Sends what comes in each of so many ms, as far as time gets there. */
  const run = async (ms: number, comes: (at: number) => void): Promise<void> => {
    let at = now;
    for (const end = now + ms; at < end;) {
      for (; at <= now && at < end; at++) comes(at);
      const before = now;
      await immediately();
      if (now === before) now++;
    }
    while (entrance.waiting > 0) await immediately();
  };
  return { entrance, counts, send, run, pass: (ms: number) => void (now += ms) };
}

test("three times as many as can be answered: a third is begun, in time, the others are refused, and no time is lost", async () => {
  const { counts, send, run, entrance } = steered();
  await run(20_000, () => {
    for (let count = 0; count < 3; count++) send("a", 1);
  });
  const { begun, refused, longestMs } = counts["a"]!;
  expect(begun).toBeGreaterThan(19_000);
  expect(begun + refused).toBe(60_000);
  // Until it is noticed that they are too many, a second of work has come.
  expect(longestMs).toBeLessThan(1_000);
  expect([entrance.begun, entrance.refused, entrance.waiting]).toEqual([begun, refused, 0]);
});

test("after the first second those that are begun waited hardly longer than they may", async () => {
  const steer = steered();
  const flood = (): void => {
    for (let count = 0; count < 3; count++) steer.send("a", 1);
  };
  await steer.run(2_000, flood);
  steer.counts["a"]!.longestMs = 0;
  // Without a pause: what waits now is refused or begun first.
  await steer.run(5_000, flood);
  expect(steer.counts["a"]!.longestMs).toBeLessThan(500);
  expect(steer.counts["a"]!.begun).toBeGreaterThan(6_500);
});

test("who sends most is refused; a neighbour that sends one at a time, and one that sends less than its share, are not", async () => {
  const { counts, send, run } = steered();
  await run(10_000, (at) => {
    for (let count = 0; count < 3; count++) send("flood", 1);
    if (at % 100 === 0) send("neighbour", 1);
    if (at % 10 === 0) for (let count = 0; count < 3; count++) send("modest", 1);
  });
  expect(counts["flood"]!.refused).toBeGreaterThan(15_000);
  expect(counts["neighbour"]).toMatchObject({ begun: 100, refused: 0 });
  expect(counts["neighbour"]!.longestMs).toBeLessThan(50);
  expect(counts["modest"]).toMatchObject({ begun: 3_000, refused: 0 });
});

test("a line of a few is not refused, however slow it is; of many that are as slow some are", async () => {
  const slow = async (clients: number): Promise<number> => {
    const { entrance, pass } = steered();
    let refused = 0;
    const client = (): void =>
      entrance.enter({
        line: () => ({ name: "a", isStranger: false }),
        mayBeUrgent: () => false,
        go: (tooMuchOf) => {
          if (tooMuchOf) refused++;
          else pass(20);
          setImmediate(client);
        },
      });
    for (let count = 0; count < clients; count++) client();
    for (let round = 0; round < 2_000; round++) await immediately();
    return refused;
  };
  expect(await slow(LIMITS.requestsWaiting)).toBe(0);
  expect(await slow(2 * LIMITS.requestsWaiting)).toBeGreaterThan(0);
});

test("thousands of strangers with an address each wait for each other, and an organization for all of them as for one", async () => {
  const { counts, send, run } = steered();
  let sent = 0;
  await run(5_000, (at) => {
    for (let count = 0; count < 3; count++) send(`address ${sent++ % 2_000}`, 1, true);
    if (at % 10 === 0) for (let count = 0; count < 3; count++) send("caller", 1);
  });
  expect(counts["caller"]).toMatchObject({ begun: 1_500, refused: 0 });
  expect(counts["caller"]!.longestMs).toBeLessThan(50);
});

test("among strangers addresses take turns", async () => {
  const { counts, send, run } = steered();
  await run(5_000, (at) => {
    for (let count = 0; count < 3; count++) send("flood", 1, true);
    if (at % 100 === 0) send("other", 1, true);
  });
  expect(counts["flood"]!.refused).toBeGreaterThan(5_000);
  expect(counts["other"]).toMatchObject({ begun: 50, refused: 0 });
  expect(counts["other"]!.longestMs).toBeLessThan(50);
});

test("a burst is begun, however large", async () => {
  const { counts, send, run } = steered();
  await run(1, () => {
    for (let count = 0; count < 450; count++) send("a", 1);
  });
  expect(counts["a"]).toMatchObject({ begun: 450, refused: 0 });
});

test("a loop that turns slowly refuses nobody that comes alone, and still begins what it can of the others", async () => {
  const steer = steered();
  const slowly = async (rounds: number, comes: () => void): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      comes();
      steer.pass(LIMITS.waitToBeginMs * 2);
      await immediately();
    }
  };
  await slowly(10, () => steer.send("alone", 0));
  expect(steer.counts["alone"]).toMatchObject({ begun: 10, refused: 0 });
  // Six begin in a round of 5 ms; the others are too late in the next, and take nothing of it.
  await slowly(100, () => {
    for (let count = 0; count < 50; count++) steer.send("many", 1);
  });
  const { begun, refused } = steer.counts["many"]!;
  expect(refused).toBeGreaterThan(3_000);
  expect(begun).toBeGreaterThan(400);
});

test("a backlog of its own at the database refuses an organization before it begins, and nobody else", async () => {
  const backlog = { many: { waiting: LIMITS.requestsWaiting, ms: LIMITS.waitToBeginMs + 1 } };
  const { counts, send, run } = steered({ backlog });
  await run(1_000, (at) => {
    if (at % 10 === 0) for (const group of ["many", "other"]) send(group, 0.1);
  });
  expect(counts["other"]).toMatchObject({ begun: 100, refused: 0 });
  // The first half second may be a burst.
  expect(counts["many"]!.begun).toBeGreaterThan(45);
  expect(counts["many"]!.refused).toBeGreaterThan(45);
  const { begun } = counts["many"]!;
  backlog.many.waiting = 10;
  await run(10, () => send("many", 0.1));
  expect(counts["many"]!.begun).toBe(begun + 10);
});

test("while there is time it is begun at once, and nobody is asked for its line", () => {
  const { entrance } = steered();
  let isBegun = false;
  const never = (): never => {
    throw new Error("asked");
  };
  entrance.enter({ line: never, mayBeUrgent: never, go: (tooMuchOf) => void (isBegun = !tooMuchOf) });
  expect(isBegun).toBe(true);
  expect(entrance.begun).toBe(1);
});

/** A line of 2,000 that has been too slow for long; each that begins takes a millisecond. */
async function overloaded() {
  const steer = steered();
  await steer.run(2_000, () => {
    for (let count = 0; count < 3; count++) steer.send("a", 1);
  });
  for (let count = 0; count < 2_000; count++) steer.send("a", 1);
  while (steer.entrance.waiting > 1_000) await immediately();
  return steer;
}

test("what comes to a line that is too slow is refused as it comes, 200 in one turn of the event loop", async () => {
  const { entrance } = await overloaded();
  const { waiting, refused } = entrance;
  for (let count = 0; count < 1_000; count++)
    entrance.enter({ line: () => ({ name: "a", isStranger: false }), mayBeUrgent: () => false, go: () => {} });
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect([entrance.waiting - waiting, entrance.refused - refused]).toEqual([800, 200]);
});

test("what might be urgent waits for its turn in such a line, and begins then, if it is", async () => {
  const { entrance } = await overloaded();
  const { waiting } = entrance;
  let begun = 0;
  for (let count = 0; count < 1_000; count++)
    entrance.enter({
      line: () => ({ name: "a", isStranger: false }),
      mayBeUrgent: () => true,
      go: () => void begun++,
    });
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect([entrance.waiting - waiting, begun]).toEqual([1_000, 0]);
  while (entrance.waiting > 0) await immediately();
  expect(begun).toBe(1_000);
});
