import { parseOptions } from "@node-rs/argon2";
import { expect, test } from "vitest";
import { createPasswords, createSlots } from "./passwords.ts";

test("argon2id, 19 MiB, two passes, one lane, a salt of its own", async () => {
  const passwords = createPasswords();
  const [one, two] = await Promise.all([passwords.hash("correct horse"), passwords.hash("correct horse")]);
  expect(one).not.toBe(two);
  expect(one).toMatch(/^\$argon2id\$/);
  expect(parseOptions(one)).toMatchObject({ memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 });
});

test("only the password itself, in either Unicode form, fits", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("caf\u00e9 au lait");
  const stored = async (): Promise<string> => hash;
  expect(await passwords.verify(stored, "cafe\u0301 au lait")).toBe(true);
  expect(await passwords.verify(stored, "caf\u00e9 au laiT")).toBe(false);
  expect(await passwords.verify(stored, "")).toBe(false);
  expect(await passwords.verify(async () => undefined, "caf\u00e9 au lait")).toBe(false);
});

test("an unknown user costs the same work as a wrong password", async () => {
  const passwords = createPasswords();
  const stored = await passwords.hash("correct horse");
  const times = { wrong: [] as number[], unknown: [] as number[] };
  for (let round = 0; round < 9; round++) {
    for (const [name, hash] of [
      ["wrong", stored],
      ["unknown", undefined],
    ] as const) {
      const start = performance.now();
      await passwords.verify(async () => hash, "battery staple");
      times[name].push(performance.now() - start);
    }
  }
  const median = (of: number[]): number => of.toSorted((a, b) => a - b)[4]!;
  expect(median(times.unknown)).toBeGreaterThan(median(times.wrong) * 0.5);
  expect(median(times.unknown)).toBeLessThan(median(times.wrong) * 2);
});

test("two at a time, in order, and a refusal beyond those that may wait", async () => {
  const slots = createSlots(2, 3);
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const work = (number: number): Promise<number> =>
    slots(async () => {
      started.push(number);
      await new Promise<void>((resolve) => ends.push(resolve));
      return number;
    });
  const all = [1, 2, 3, 4, 5].map(work);
  await expect(work(6)).rejects.toMatchObject({ code: "RATE_LIMITED", details: { retryAfter: 1 } });
  expect(started).toEqual([1, 2]);
  for (let index = 0; index < 5; index++) {
    ends[index]!();
    await all[index];
    await Promise.resolve();
  }
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4, 5]);
  expect(started).toEqual([1, 2, 3, 4, 5]);
});

test("a failed work frees its slot", async () => {
  const slots = createSlots(1, 0);
  await expect(slots(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(await slots(async () => "next")).toBe("next");
});
