/** The only entrance to storage: PostgreSQL (ours or the operator's), schema, partitions, free space. */
import path from "node:path";
import type { Clock } from "../lib/clock.ts";
import { OperatorError } from "../lib/errors.ts";
import type { LastActs } from "../lib/last-acts.ts";
import type { Log } from "../lib/log/log.ts";
import { Loop } from "../lib/loops/loop.ts";
import { connectServer } from "./connect.ts";
import { findDataFolder, makeFolder } from "../postgres/data-folder.ts";
import { openDatabase, type Database } from "./database.ts";
import { openEmbedded, socketConnection, type EmbeddedPostgres } from "../postgres/embedded.ts";
import { instanceOf } from "../postgres/instance-lock.ts";
import { migrate } from "./migrate.ts";
import { ensurePartitions, readMonths } from "./partitions.ts";
import { passwordPath, readPassword } from "../postgres/postgres-password.ts";
import { codeOf } from "./pg-errors.ts";
import { isPostmasterOf, readPidFile } from "../postgres/postmaster.ts";
import { unlimitedSpace, watchSpace, type Space, type SpaceOptions } from "../postgres/space.ts";

export type StorageOptions = {
  /** The operator's PostgreSQL; without it a private one is started in the data folder. */
  databaseUrl?: string | undefined;
  dataFolder: string;
  /** The public URL: told to anyone who starts a second server on this data folder. */
  url: string;
  localUrl?: string;
  clock: Clock;
  log: Log;
  space?: Partial<SpaceOptions>;
  lastActs?: LastActs | undefined;
  /** Aborts when the process is told to stop. */
  stopped?: AbortSignal | undefined;
};

export type Storage = {
  database: Database;
  /** The data folder in use, absolute: not the requested one if PostgreSQL's user can't enter root's. */
  dataFolder: string;
  space: Space;
  loops: readonly Loop[];
} & AsyncDisposable;

const PARTITIONS_EVERY_MS = 3_600_000;

/** Throws OperatorError with one helpful line if storage can't be opened. */
export async function openStorage(options: StorageOptions): Promise<Storage> {
  await using stack = new AsyncDisposableStack();
  const { clock, log } = options;
  if (options.databaseUrl !== undefined) makeFolder(options.dataFolder);
  const embedded = options.databaseUrl === undefined ? stack.use(await openEmbedded(options)) : undefined;
  options.stopped?.throwIfAborted();
  const database = stack.use(await openServer(options, embedded));
  await migrate(database).catch((error: unknown) => {
    throw embedded && codeOf(error) === "28P01" ? wrongPassword(embedded.dataFolder) : error;
  });
  await ensurePartitions(database, clock.now());
  const partitions = new Loop({
    clock,
    log,
    name: "partitions",
    everyMs: PARTITIONS_EVERY_MS,
    look: () => ensurePartitions(database, clock.now()),
    failed: "next months' partitions were not made",
  });
  stack.use(partitions.start(clock.now() + PARTITIONS_EVERY_MS));
  const dataFolder = embedded?.dataFolder ?? path.resolve(options.dataFolder);
  const space = embedded
    ? stack.use(await watchSpace({ ...options.space, folder: dataFolder, clock, log }))
    : unlimitedSpace;
  const opened = stack.move();
  const loops = [partitions, ...space.loops];
  return { database, dataFolder, space, loops, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The error for a data folder put together from two. */
const wrongPassword = (dataFolder: string): OperatorError =>
  new OperatorError(
    `PostgreSQL refuses the password in ${passwordPath(dataFolder)}: remove that file, and the next start makes a new one`,
  );

async function openServer(options: StorageOptions, embedded: EmbeddedPostgres | undefined): Promise<Database> {
  if (embedded) return openDatabase({ connection: embedded.connection, isEmbedded: true, log: options.log });
  return connectServer(options.databaseUrl!, options.log);
}

/**
 * For the command line next to a running server: opens its database by its `DATABASE_URL` or data folder, without starting
 * or migrating anything. Undefined if no server runs on the data folder.
 */
export async function attachStorage(
  options: Pick<StorageOptions, "databaseUrl" | "dataFolder" | "log">,
): Promise<{ database: Database; dataFolder: string } | undefined> {
  const { databaseUrl, log } = options;
  const few = { hotConnections: 1, listConnections: 2 };
  let dataFolder = path.resolve(options.dataFolder);
  let database: Database;
  if (databaseUrl === undefined) {
    const data = findDataFolder(dataFolder);
    const postmaster = instanceOf(data.folder) && readPidFile(data.cluster);
    if (!postmaster || !isPostmasterOf(postmaster.pid, data.cluster)) return undefined;
    const password = readPassword(data.folder);
    if (password === undefined) return undefined;
    dataFolder = data.folder;
    database = openDatabase({
      connection: socketConnection(postmaster.socketFolder, password),
      isEmbedded: true,
      log,
      ...few,
    });
  } else {
    database = await connectServer(databaseUrl, log, few);
  }
  await readMonths(database);
  return { database, dataFolder };
}
