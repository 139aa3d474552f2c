import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { withLock } from "./lock.js";

const folder = mkdtempSync(join(tmpdir(), "autograph-lock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `count` holders at once on one file and answers how many worked at the same time at most. */
async function most(count: number, file: string): Promise<number> {
  let now = 0;
  let highest = 0;
  const work = async (): Promise<void> => {
    highest = Math.max(highest, ++now);
    await sleep(5);
    now--;
  };
  await Promise.all(Array.from({ length: count }, () => withLock(work, file)));
  return highest;
}

test("one works at a time, and nothing is left behind", async () => {
  expect(await most(5, join(folder, "a"))).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

async function deadPid(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "0"]);
  await once(child, "exit");
  return child.pid!;
}

test("the lock of a dead process is taken, by one only", async () => {
  const file = join(folder, "b");
  writeFileSync(file, `token ${await deadPid()}`);
  expect(await most(5, file)).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});

test("the lock is held while a child of its dead holder lives", async () => {
  const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 30_000)"]);
  const file = join(folder, "c");
  writeFileSync(file, `token ${await deadPid()} ${child.pid}`);
  let worked = false;
  const waiting = withLock(() => Promise.resolve((worked = true)), file);
  await sleep(400);
  expect(worked).toBe(false);
  child.kill("SIGKILL");
  await waiting;
  expect(worked).toBe(true);
});

test("the lock is given back when the work fails", async () => {
  const file = join(folder, "d");
  await expect(withLock(() => Promise.reject(new Error("no")), file)).rejects.toThrow("no");
  expect(existsSync(file)).toBe(false);
});
