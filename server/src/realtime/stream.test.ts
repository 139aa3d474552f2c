import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { Hub } from "./hub.ts";
import { Wakeup, stream } from "./stream.ts";

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

describe("a stream", () => {
  const open = (outer = new AbortController().signal) => {
    const disposed = vi.fn<() => void>();
    const wakeup = new Wakeup();
    const values = stream(outer, { [Symbol.dispose]: disposed }, async function* (signal) {
      for (let count = 1; await wakeup.wait(signal); count++) yield count;
    });
    return { wakeup, values, disposed };
  };

  test("gives what the generator yields, and leaves its source at the end", async () => {
    const disposed = vi.fn<() => void>();
    const values = stream(new AbortController().signal, { [Symbol.dispose]: disposed }, async function* () {
      yield* [1, 2];
    });
    expect(await Array.fromAsync(values)).toEqual([1, 2]);
    expect(disposed).toHaveBeenCalledTimes(1);
  });

  test("ends when its reader leaves: before the first value, between two, and while one is awaited", async () => {
    const before = open();
    await before.values.return!();
    expect(before.disposed).toHaveBeenCalledTimes(1);

    const between = open();
    between.wakeup.notify();
    expect(await between.values.next()).toEqual({ done: false, value: 1 });
    await between.values.return!();
    expect(between.disposed).toHaveBeenCalledTimes(1);

    const during = open();
    const next = during.values.next();
    await during.values.return!();
    expect(await next).toMatchObject({ done: true });
    expect(during.disposed).toHaveBeenCalledTimes(1);
  });

  test("ends when the outer signal aborts, and leaves nothing on it", async () => {
    const outer = new AbortController();
    const { values, disposed } = open(outer.signal);
    const next = values.next();
    expect(listenersOf(outer.signal)).toBe(1);
    outer.abort();
    expect(await next).toMatchObject({ done: true });
    expect(disposed).toHaveBeenCalledTimes(1);
    const left = open(new AbortController().signal);
    await left.values.return!();
    const aborted = open(AbortSignal.abort());
    expect(aborted.disposed).toHaveBeenCalledTimes(1);
    expect(await aborted.values.next()).toMatchObject({ done: true });
  });

  test("a thousand values leave no listener behind", async () => {
    const outer = new AbortController();
    const { wakeup, values } = open(outer.signal);
    let inner: AbortSignal | undefined;
    const counted = stream(outer.signal, { [Symbol.dispose]: () => {} }, async function* (signal) {
      inner = signal;
      while (await wakeup.wait(signal)) yield 1;
    });
    for (let count = 0; count < 1_000; count++) {
      const next = counted.next();
      // The value is awaited before it comes.
      await Promise.resolve();
      wakeup.notify();
      await next;
    }
    expect(listenersOf(inner!)).toBe(2);
    expect(listenersOf(outer.signal)).toBe(2);
    await counted.return!();
    await values.return!();
    expect(listenersOf(outer.signal)).toBe(0);
  });
});

test("any number of notices since the last wait end the next one", async () => {
  const wakeup = new Wakeup();
  const { signal } = new AbortController();
  wakeup.notify();
  wakeup.notify();
  expect(await wakeup.wait(signal)).toBe(true);
  let passed = false;
  const second = wakeup.wait(signal).then((notified) => (passed = notified));
  await new Promise(setImmediate);
  expect(passed).toBe(false);
  wakeup.notify();
  expect(await second).toBe(true);
});

test("a hub tells those who listen, until they leave, and forgets topics without listeners", () => {
  const hub = new Hub<number>();
  const heard: string[] = [];
  const one = hub.subscribe("a", (value) => heard.push(`one ${value}`));
  const two = hub.subscribe("a", (value) => heard.push(`two ${value}`));
  hub.publish("a", 1);
  hub.publish("b", 2);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  hub.publish("a", 3);
  expect(heard).toEqual(["one 1", "two 1", "two 3"]);
  expect([...hub.topics()]).toEqual(["a"]);
  two[Symbol.dispose]();
  expect([...hub.topics()]).toEqual([]);
});
