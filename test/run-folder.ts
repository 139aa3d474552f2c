/**
 * One folder for what a run of the tests writes, made and removed by vitest's own process. Several files share something in it (a server or
 * a PostgreSQL for each of vitest's workers), which ends with the worker that started it; the folder goes once all of it has ended.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import type { Socket } from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Its PostgreSQL has to write down what it holds. */
const END_TIMEOUT_MS = 60_000;

/** Global set-up of the projects whose files share something. */
export default function setup(): (() => Promise<void>) | undefined {
  if (process.env["TEST_RUN_FOLDER"] !== undefined) return undefined;
  const folder = canUseMemory() ? folderInMemory() : makeEnterable(path.join(os.tmpdir(), NAME));
  process.env["TEST_RUN_FOLDER"] = folder;
  return () => removeWhenEnded(folder);
}

const NAME = "autograph-tests-";
/**
 * Linux keeps files there in memory: a server's data folder is copied in a fraction of the processor time that a disk's file system
 * takes, and no commit waits for a disk.
 */
const IN_MEMORY = "/dev/shm";
/** A run of all tests holds at most a quarter of it. */
const PLENTY_BYTES = 8 * 2 ** 30;

function canUseMemory(): boolean {
  if (process.env["TMPDIR"] !== undefined || !fs.existsSync(IN_MEMORY)) return false;
  const { bavail, bsize } = fs.statfsSync(IN_MEMORY);
  return Math.min(bavail * bsize, process.availableMemory()) >= PLENTY_BYTES && mayHoldPrograms(IN_MEMORY);
}

/** PostgreSQL's are copied beside its data where its user can't reach them. */
function mayHoldPrograms(folder: string): boolean {
  const mounts = fs.readFileSync("/proc/mounts", "utf8").split("\n");
  const options = mounts.map((line) => line.split(" ")).findLast(([, where]) => where === folder)?.[3];
  return options?.split(",").includes("noexec") === false;
}

/** It is also the `TMPDIR` of the tests, so that nothing of one that was killed stays in memory. */
function folderInMemory(): string {
  const folder = fs.mkdtempSync(path.join(IN_MEMORY, NAME));
  // As any folder for temporary files: PostgreSQL's user makes some in it, too.
  fs.chmodSync(folder, 0o1777);
  process.env["TMPDIR"] = folder;
  removeAfterKill(folder);
  return folder;
}

/** However this process ends, and once the servers had time to notice. */
function removeAfterKill(folder: string): void {
  const whenGone = 'read -r nothing; [ -e "$1" ] || exit; sleep 30; rm -rf "$1"';
  const child = spawn("sh", ["-c", whenGone, "sh", folder], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  (child.stdin as Socket).unref();
}

const REMOVED = { recursive: true, force: true, maxRetries: 5, retryDelay: 100 };

/** A folder in it that PostgreSQL's user can enter. */
export const sharedFolder = (): string => {
  const folder = process.env["TEST_RUN_FOLDER"];
  if (folder === undefined) throw new Error("no run folder: the project lacks the global set-up test/run-folder.ts");
  return makeEnterable(path.join(folder, "shared-"));
};

/** Said of each process that is shared: the folder stays until it has ended. */
export const sharedProcess = (folder: string, pid: number): void =>
  fs.writeFileSync(path.join(path.dirname(folder), `${pid}.pid`), "");

export function makeEnterable(prefix: string): string {
  const folder = fs.mkdtempSync(prefix);
  fs.chmodSync(folder, 0o711);
  return folder;
}

async function removeWhenEnded(folder: string): Promise<void> {
  const pids = fs.readdirSync(folder).flatMap((name) => (name.endsWith(".pid") ? [Number.parseInt(name, 10)] : []));
  const end = Date.now() + END_TIMEOUT_MS;
  while (pids.some(isRunning) && Date.now() < end) await sleep(20);
  const left = pids.filter(isRunning);
  for (const pid of left) process.kill(pid, "SIGKILL");
  fs.rmSync(folder, REMOVED);
  if (left.length > 0) throw new Error(`the shared processes ${left.join(", ")} did not end with their workers`);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
