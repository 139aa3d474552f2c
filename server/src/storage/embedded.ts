/**
 * The private PostgreSQL of one data folder: started or adopted, watched while we serve, stopped with us. If the process
 * is killed, PostgreSQL keeps running and the next start adopts it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { prepareBinaries } from "./binaries.ts";
import { prepareCluster } from "./cluster.ts";
import { prepareDataFolder } from "./data-folder.ts";
import type { Connection } from "./database.ts";
import { lockInstance } from "./instance-lock.ts";
import { isAlive, isPostmasterOf, stopPostmaster } from "./postmaster.ts";
import { hasSocket, removeSocketFolder } from "./socket-folder.ts";
import { makeRoomToStart, type SpaceOptions } from "./space.ts";
import { startPostgres } from "./start-postgres.ts";

export type EmbeddedPostgres = {
  connection: Connection;
  /** The folder in use: not the requested one if root can't use that. */
  dataFolder: string;
  pid(): number;
} & AsyncDisposable;

type EmbeddedOptions = {
  dataFolder: string;
  /** Told to whoever starts a second server on this folder. */
  url: string;
  /** For the commands beside the server, if it is not `url`. */
  localUrl?: string;
  log: Log;
  space?: Partial<SpaceOptions>;
  /** Where root's data goes if PostgreSQL's user can't enter the data folder. */
  rootFolders?: string;
  /** Names of users that PostgreSQL may run as when we are root. */
  systemUsers?: string[];
};

const WATCH_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

export const socketConnection = (socketFolder: string, password: string): Connection => ({
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
  try {
    const binaries = prepareBinaries(data.folder, data.user);
    const password = await prepareCluster(data, binaries);
    let postmaster = await startPostgres(data, binaries, options.log);
    const stopping = new AbortController();
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
        lock[Symbol.dispose]();
      },
    };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
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
