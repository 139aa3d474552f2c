import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log/log.ts";
import { makeRoomToStart, watchSpace, type Space } from "./space.ts";

const KIB = 1024;
const LIMITS_HERE = {
  lowBytes: 1_000 * KIB,
  criticalBytes: 300 * KIB,
  ballastBytes: 200 * KIB,
  everyMs: 1_000,
  ballastAfterMs: 2_000,
};

let folder: string;
let free: number;
let said: string[];
let space: Space;
let now: number;
let due: { at: number; fire: () => void }[];

const clock: Clock = {
  now: () => now,
  at(at, fire) {
    const timer = { at, fire };
    due.push(timer);
    return { [Symbol.dispose]: () => void (due = due.filter((other) => other !== timer)) };
  },
};
const say = (_: unknown, message?: string): number => said.push(message ?? "");
const log = { debug: say, info: say, warn: say, error: say, child: () => log } as unknown as Log;

const start = async (): Promise<Space> =>
  watchSpace({ folder, clock, log, ...LIMITS_HERE, readFreeBytes: async () => free });
const ballast = (): number => fs.statSync(path.join(folder, "ballast"), { throwIfNoEntry: false })?.size ?? 0;

/** Makes one more look, a second later, and waits for its end. */
async function look(): Promise<void> {
  now += 1_000;
  const [timer] = due.splice(0, 1);
  timer!.fire();
  while (due.length === 0) await sleep(1);
}

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-space-"));
  [free, said, now, due] = [10_000 * KIB, [], 0, []];
});
afterEach(async () => {
  await space[Symbol.asyncDispose]();
  fs.rmSync(folder, { recursive: true });
});

test("with space, a ballast is laid down once the start is over", async () => {
  space = await start();
  expect(space.hasSpace()).toBe(true);
  await look();
  expect(ballast()).toBe(0);
  await look();
  expect(ballast()).toBe(LIMITS_HERE.ballastBytes);
  expect(said).toEqual([]);
});

test("a start on a nearly full disk knows it at once", async () => {
  free = 900 * KIB;
  space = await start();
  expect(space.hasSpace()).toBe(false);
});

test("low: refused and said once; the ballast is held until the disk is as good as full; then back", async () => {
  space = await start();
  await look();
  await look();
  free = 999 * KIB;
  await look();
  await look();
  expect(space.hasSpace()).toBe(false);
  expect(said).toEqual(["the disk is nearly full: new runs are refused until there is space"]);
  expect(ballast()).toBe(LIMITS_HERE.ballastBytes);

  free = 299 * KIB;
  await look();
  expect(ballast()).toBe(0);
  expect(space.hasSpace()).toBe(false);

  // Not before a quarter more than at the refusal, plus the ballast's size.
  free = 1_449 * KIB;
  await look();
  expect(space.hasSpace()).toBe(false);
  free = 1_450 * KIB;
  await look();
  expect(space.hasSpace()).toBe(true);
  expect(ballast()).toBe(LIMITS_HERE.ballastBytes);
});

test("no ballast where it would itself make space low", async () => {
  free = 1_449 * KIB;
  space = await start();
  for (let second = 0; second < 5; second++) await look();
  expect(space.hasSpace()).toBe(true);
  expect(ballast()).toBe(0);
});

test("an unreadable disk is no reason to refuse, and is said", async () => {
  space = await watchSpace({ folder, clock, log, readFreeBytes: () => Promise.reject(new Error("gone")) });
  expect(space.hasSpace()).toBe(true);
  expect(said).toEqual(["free space of the data folder is not known"]);
});

test("a start on a full disk gives the ballast up for PostgreSQL", async () => {
  space = await start();
  await look();
  await look();
  await makeRoomToStart(folder, { ...LIMITS_HERE, readFreeBytes: async () => 400 * KIB });
  expect(ballast()).toBe(LIMITS_HERE.ballastBytes);
  await makeRoomToStart(folder, { ...LIMITS_HERE, readFreeBytes: async () => 10 * KIB });
  expect(ballast()).toBe(0);
});
