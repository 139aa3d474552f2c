import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Row } from "./database.ts";
import { createProbe } from "./probe.ts";

const LATER_MS = 200;

test("a thousand probes are one statement, and what it says is old after 0.2 s", async () => {
  const asked: PromiseWithResolvers<Row[]>[] = [];
  const query = (): Promise<Row[]> => {
    const one = Promise.withResolvers<Row[]>();
    asked.push(one);
    return one.promise;
  };
  const probe = createProbe({ query });
  for (const isThere of [true, false, true]) {
    const answers = Promise.all(Array.from({ length: 1_000 }, probe));
    expect(asked).toHaveLength(1);
    if (isThere) asked[0]!.resolve([]);
    else asked[0]!.reject(new Error("gone"));
    expect(new Set(await answers)).toEqual(new Set([isThere]));
    expect(await probe()).toBe(isThere);
    expect(asked).toHaveLength(1);
    asked.pop();
    await sleep(LATER_MS);
  }
});

test("a database that does not answer within a second is not there, and is asked again", async () => {
  let asked = 0;
  const probe = createProbe({ query: () => (asked++, new Promise(() => {})) });
  expect(await probe()).toBe(false);
  await sleep(LATER_MS);
  expect(asked).toBe(1);
  void probe();
  expect(asked).toBe(2);
});
