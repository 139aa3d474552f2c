/** Starts PostgreSQL on a cluster, or adopts one that a killed process left running. */
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { OperatorError } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import type { Binaries } from "./binaries.ts";
import type { DataFolder } from "./data-folder.ts";
import { MEMORY_ENVIRONMENT, postgresArguments } from "./postgres-settings.ts";
import { isPostmasterOf, isTaken, pidFilePath, readPidFile, stopPostmaster } from "./postmaster.ts";
import { hasSocket, makeSocketFolder, removeSocketFolder, renewSocketFolder } from "./socket-folder.ts";

type Postmaster = { pid: number; socketFolder: string };

const POLL_MS = 2;
const SLOW_START_MS = 5_000;
/** The backends of a PostgreSQL that was killed end within moments, but until then no other may start. */
const ORPHANS_TIMEOUT_MS = 15_000;
const ORPHANS_POLL_MS = 50;
const LOG_BYTES = 10 * 1024 * 1024;

/** Call under the instance lock. `socketFolder` is the one to reuse if PostgreSQL died while we served. */
export async function startPostgres(
  data: DataFolder,
  binaries: Binaries,
  log: Log,
  socketFolder?: string,
): Promise<Postmaster> {
  const running = await runningPostmaster(data, binaries, socketFolder);
  if (running) {
    log.info({ pid: running.pid }, "adopted the running PostgreSQL");
    return running;
  }
  const folder = socketFolder ?? makeSocketFolder(data.user, data.folder);
  for (let waitedMs = 0; ; waitedMs += ORPHANS_POLL_MS) {
    renewSocketFolder(folder, data.user);
    const started = await launch(data, binaries, folder, log);
    if (typeof started !== "string") return started;
    if (!started.includes("pre-existing shared memory block") || waitedMs > ORPHANS_TIMEOUT_MS) {
      if (!socketFolder) removeSocketFolder(folder, data.user);
      throw new OperatorError(sentenceFor(data, started));
    }
    await sleep(ORPHANS_POLL_MS);
  }
}

/** The ready PostgreSQL of this cluster, or undefined; first ends one that is stopping or has other settings. */
async function runningPostmaster(
  data: DataFolder,
  binaries: Binaries,
  socketFolder?: string,
): Promise<Postmaster | undefined> {
  for (;;) {
    const found = readPidFile(data.cluster);
    if (!found) return undefined;
    if (!isPostmasterOf(found.pid, data.cluster)) {
      // PostgreSQL clears a dead one's file, but mistakes any process with its number (even a zombie) for a PostgreSQL.
      if (isTaken(found.pid)) fs.rmSync(pidFilePath(data.cluster), { force: true });
      if (found.socketFolder !== socketFolder) removeSocketFolder(found.socketFolder, data.user);
      return undefined;
    }
    if (found.status !== "ready") await sleep(POLL_MS);
    else if (isSetUpAlike(data, binaries, found.socketFolder)) return found;
    else await stopPostmaster(found.pid);
  }
}

/** Compares with `postmaster.opts`, where PostgreSQL keeps its command line: it differs after an upgrade of the program. */
function isSetUpAlike(data: DataFolder, binaries: Binaries, socketFolder: string): boolean {
  const wanted = [binaries.postgres, ...postgresArguments(data, socketFolder).map((value) => `"${value}"`)].join(" ");
  return (
    fs.readFileSync(path.join(data.cluster, "postmaster.opts"), "utf8").trim() === wanted && hasSocket(socketFolder)
  );
}

/** Spawned detached, so that neither a terminal signal nor our own end reaches it. Returns why it did not start, if so. */
async function launch(
  data: DataFolder,
  binaries: Binaries,
  socketFolder: string,
  log: Log,
): Promise<Postmaster | string> {
  const output = openLog(data);
  const from = fs.fstatSync(output).size;
  const child = spawn(binaries.postgres, postgresArguments(data, socketFolder), {
    cwd: data.cluster,
    detached: true,
    stdio: ["ignore", output, output],
    env: { LC_ALL: "C", TZ: "UTC", ...MEMORY_ENVIRONMENT },
    ...(data.user && { uid: data.user.uid, gid: data.user.gid }),
  });
  fs.closeSync(output);
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(`it ended with ${code ?? signal}`));
  });
  child.unref();
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const reason = await Promise.race([ended, sleep(POLL_MS)]);
    if (reason !== undefined) return lastWords(data, from) ?? reason;
    const found = readPidFile(data.cluster);
    if (found && found.pid === child.pid && found.status === "ready") return found;
    if (waitedMs === SLOW_START_MS)
      log.info("PostgreSQL is still starting: after an unclean stop it first reads its log");
  }
}

const logPath = (data: DataFolder): string => path.join(data.folder, "postgres.log");

function openLog(data: DataFolder): number {
  const size = fs.statSync(logPath(data), { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES) fs.renameSync(logPath(data), `${logPath(data)}.1`);
  return fs.openSync(logPath(data), "a", 0o600);
}

/** Why PostgreSQL did not start, in its own words: the first FATAL or PANIC line of this start, else the last line. */
function lastWords(data: DataFolder, from: number): string | undefined {
  const text = fs.readFileSync(logPath(data)).subarray(from).toString("utf8").trim();
  return /(?:FATAL|PANIC):\s+(.*)/.exec(text)?.[1] ?? (text.split("\n").at(-1) || undefined);
}

function sentenceFor(data: DataFolder, failure: string): string {
  const more = `(more in ${logPath(data)})`;
  if (failure.includes("No space left on device"))
    return `PostgreSQL can't start: no space is left for ${data.folder} ${more}`;
  if (/checkpoint record|checksum|control file|could not open|could not read|invalid|corrupt/i.test(failure)) {
    return `The data in ${data.cluster} is damaged (${failure}): restore a backup, or move the folder away to start over ${more}`;
  }
  return `PostgreSQL can't start: ${failure} ${more}`;
}
