/** PostgreSQL's main process: what `postmaster.pid` says about it, whether it lives, how to stop it. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The lines of `postmaster.pid` (PostgreSQL's src/include/utils/pidfile.h). */
export type PidFile = { pid: number; port: number; socketFolder: string; status: string };

const FAST_SHUTDOWN_MS = 20_000;
const POLL_MS = 5;

export const pidFilePath = (cluster: string): string => path.join(cluster, "postmaster.pid");

export function readPidFile(cluster: string): PidFile | undefined {
  let text: string;
  try {
    text = fs.readFileSync(pidFilePath(cluster), "utf8");
  } catch {
    return undefined;
  }
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), socketFolder: lines[4] ?? "", status: (lines[7] ?? "").trim() };
}

/** True for any process with this number, even a dead one that is not reaped. */
export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** False for a zombie too: where process 1 does not reap, a dead PostgreSQL keeps its pid. */
export function isAlive(pid: number): boolean {
  if (!isTaken(pid)) return false;
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2)[0]!);
  } catch {
    return process.platform !== "linux";
  }
}

/**
 * True if this pid is a PostgreSQL of this folder, not another process that got its number. Its working directory is the
 * folder, but in a container even root may not see another user's; everybody can see its arguments.
 */
export function isPostmasterOf(pid: number, cluster: string): boolean {
  return isAlive(pid) && (commandLine(pid).includes(`-D ${cluster} `) || worksIn(pid, cluster));
}

function worksIn(pid: number, folder: string): boolean {
  try {
    const [there, here] = [fs.statSync(`/proc/${pid}/cwd`), fs.statSync(folder)];
    return there.ino === here.ino && there.dev === here.dev;
  } catch {
    return false;
  }
}

/** The arguments, each followed by a space. */
function commandLine(pid: number): string {
  try {
    if (process.platform === "linux") return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return `${execFileSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], { encoding: "utf8" }).trim()} `;
  } catch {
    return "";
  }
}

/**
 * Fast shutdown: ends sessions, writes everything. After `fastMs` an immediate one, from which the next start recovers, and at once
 * with 0.
 */
export async function stopPostmaster(pid: number, fastMs = FAST_SHUTDOWN_MS): Promise<void> {
  if (fastMs > 0) signal(pid, "SIGINT");
  for (let waitedMs = 0; isAlive(pid); waitedMs += POLL_MS) {
    if (waitedMs === fastMs) signal(pid, "SIGQUIT");
    await sleep(POLL_MS);
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
