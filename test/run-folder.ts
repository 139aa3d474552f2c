/**
 * One folder for what several files of a run share (a server or a PostgreSQL for each of vitest's workers), made and removed by
 * vitest's own process. What is shared ends with the worker that started it; the folder goes once all of it has ended.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Its PostgreSQL has to write down what it holds. */
const END_TIMEOUT_MS = 60_000;

/** Global set-up of the projects whose files share something. */
export default function setup(): (() => Promise<void>) | undefined {
  if (process.env["TEST_RUN_FOLDER"] !== undefined) return undefined;
  const folder = makeEnterable(path.join(os.tmpdir(), "autograph-tests-"));
  process.env["TEST_RUN_FOLDER"] = folder;
  return () => removeWhenEnded(folder);
}

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
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
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
