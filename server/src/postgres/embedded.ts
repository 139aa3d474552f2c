/**
 * The private PostgreSQL of one data folder: started or adopted, watched while we serve, stopped with us. If the process
 * is killed, PostgreSQL keeps running and the next start adopts it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../lib/errors.ts";
import type { LastActs } from "../lib/last-acts.ts";
import type { Log } from "../lib/log/log.ts";
import { prepareBinaries } from "./binaries.ts";
import { prepareCluster } from "./cluster.ts";
import { prepareDataFolder, type DataFolder } from "./data-folder.ts";
import { lockInstance } from "./instance-lock.ts";
import { isAlive, isPostmasterOf, readPidFile, stopPostmaster } from "./postmaster.ts";
import { hasSocket, removeSocketFolder } from "./socket-folder.ts";
import { makeRoomToStart, type SpaceOptions } from "./space.ts";
import { startPostgres } from "./start-postgres.ts";

export type EmbeddedPostgres = {
  connection: ReturnType<typeof socketConnection>;
  /** The folder in use: not the requested one if root can't use that. */
  dataFolder: string;
  pid(): number;
} & AsyncDisposable;

type EmbeddedOptions = {
  dataFolder: string;
  /** Told to anyone who starts a second server on this folder. */
  url: string;
  /** For the commands beside the server, if it is not `url`. */
  localUrl?: string;
  log: Log;
  space?: Partial<SpaceOptions>;
  /** Where root's data goes if PostgreSQL's user can't enter the data folder. */
  rootFolders?: string;
  /** Told how to stop it when the process ends in another way than by disposing of it. */
  lastActs?: LastActs | undefined;
  /** Aborts when the process is told to stop before it has begun. */
  stopped?: AbortSignal | undefined;
  /** Names of users that PostgreSQL may run as when we are root. */
  systemUsers?: string[];
};

/** How long a PostgreSQL that was begun may take to write its file, looked for each 5 ms. */
const FILE_MS = 250;
const POLL_MS = 5;
/** How long PostgreSQL may take to end when the process cannot close in order. */
const LAST_FAST_MS = 3_000;
const WATCH_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export const socketConnection = (socketFolder: string, password: string) => ({
  host: socketFolder,
  port: 5432,
  user: "autograph",
  password,
  database: "postgres",
});

/** Throws OperatorError with one helpful line; `already running at URL (pid)` if the folder is being served. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const data = prepareDataFolder(options.dataFolder, options.rootFolders, options.systemUsers);
  if (data.notice) options.log.warn(data.notice);
  await makeRoomToStart(data.folder, options.space);
  const lock = await lockInstance(data.folder, {
    url: options.url,
    ...(options.localUrl !== undefined && { localUrl: options.localUrl }),
  });
  const stopping = new AbortController();
  const lastAct = options.lastActs?.add((isUrgent) => {
    stopping.abort();
    return stopAtOnce(data, isUrgent);
  });
  try {
    const binaries = prepareBinaries(data.folder, data.user);
    const password = await prepareCluster(data, { binaries, ...options });
    stopping.signal.throwIfAborted();
    options.stopped?.throwIfAborted();
    let postmaster = await startPostgres(data, binaries, options.log);
    const watching = watch({
      log: options.log,
      signal: stopping.signal,
      isWell: () => isAlive(postmaster.pid) && hasSocket(postmaster.socketFolder),
      restart: async () => {
        postmaster = await startPostgres(data, binaries, options.log, postmaster.socketFolder);
      },
    });
    return {
      connection: socketConnection(postmaster.socketFolder, password),
      dataFolder: data.folder,
      pid: () => postmaster.pid,
      async [Symbol.asyncDispose]() {
        stopping.abort();
        await watching;
        if (isPostmasterOf(postmaster.pid, data.cluster)) await stopPostmaster(postmaster.pid);
        removeSocketFolder(postmaster.socketFolder, data.user);
        lastAct?.[Symbol.dispose]();
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    lastAct?.[Symbol.dispose]();
    lock[Symbol.dispose]();
    throw error;
  }
}

/** Waits a moment for the file of a PostgreSQL that is being started. */
async function stopAtOnce({ cluster, user }: DataFolder, isUrgent: boolean): Promise<void> {
  for (let waitedMs = 0; waitedMs < FILE_MS && !readPidFile(cluster); waitedMs += POLL_MS) await sleep(POLL_MS);
  const found = readPidFile(cluster);
  if (!found || !isPostmasterOf(found.pid, cluster)) return;
  await stopPostmaster(found.pid, isUrgent ? 0 : LAST_FAST_MS);
  removeSocketFolder(found.socketFolder, user);
}

type Watch = { log: Log; signal: AbortSignal; isWell: () => boolean; restart: () => Promise<void> };

/** Restarts PostgreSQL if it ended without us, with growing pauses while it doesn't start (a full disk, say). */
async function watch({ log, signal, isWell, restart }: Watch): Promise<void> {
  let pauseMs = WATCH_MS;
  for (;;) {
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    if (isWell()) continue;
    log.error("PostgreSQL ended unexpectedly and is started again");
    try {
      await restart();
      pauseMs = WATCH_MS;
    } catch (error) {
      log.error({ reason: messageOf(error) }, "PostgreSQL did not start");
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
}
