/**
 * One serving process per data folder. The lock is SQLite's exclusive lock on an empty file: a kernel lock (fcntl) that no
 * child inherits and that ends with the process however it ends, so it can't be stale.
 * Node has no flock. `instance.json` next to it names the holder.
 */
import fs from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf, OperatorError } from "../lib/errors.ts";
import { isAlive } from "./postmaster.ts";

/** `url`: how clients reach it; `localUrl`: where it listens, if that is another address. */
export type Instance = { pid: number; url: string; localUrl?: string };

const SQLITE_BUSY = 5;
/** The holder writes its entry within a millisecond of taking the lock; a machine under load needs more. */
const ENTRY_TIMEOUT_MS = 5_000;
const ENTRY_POLL_MS = 20;

const entryPath = (folder: string): string => path.join(folder, "instance.json");

/** Takes the lock until disposed, or throws an OperatorError that says where the data folder's server is. */
export async function lockInstance(folder: string, at: Omit<Instance, "pid">): Promise<Disposable> {
  const lock = tryLock(path.join(folder, "instance.lock"));
  if (!lock) {
    const holder = await holderOf(folder);
    throw new OperatorError(
      holder ? `already running at ${holder.url} (${holder.pid})` : `already running on ${folder}`,
    );
  }
  try {
    writeEntry(folder, { pid: process.pid, ...at });
  } catch (error) {
    lock.close();
    throw new OperatorError(`The data folder ${folder} can't be written (${messageOf(error)})`);
  }
  return {
    [Symbol.dispose]() {
      fs.rmSync(entryPath(folder), { force: true });
      lock.close();
    },
  };
}

/** Renamed into place: a reader sees the old entry or the new one. */
function writeEntry(folder: string, entry: Instance): void {
  const draft = path.join(folder, "instance.draft");
  fs.writeFileSync(draft, JSON.stringify(entry));
  fs.renameSync(draft, entryPath(folder));
}

/** The process that serves this data folder, or undefined. */
export function instanceOf(folder: string): Instance | undefined {
  try {
    const entry = JSON.parse(fs.readFileSync(entryPath(folder), "utf8")) as Instance;
    return isAlive(entry.pid) ? entry : undefined;
  } catch {
    return undefined;
  }
}

function tryLock(file: string): DatabaseSync | undefined {
  // Only if it is missing: closing a file releases all locks that this process has on it.
  if (!fs.existsSync(file)) fs.closeSync(fs.openSync(file, "a", 0o600));
  const database = new DatabaseSync(file);
  try {
    // Nothing is ever written, but SQLite would create a journal, which fails on a full disk.
    database.exec("pragma journal_mode = memory; begin exclusive");
    return database;
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw new OperatorError(
      `The data folder ${path.dirname(file)} can't be locked (${messageOf(error)}): set DATA_DIR to a local disk`,
    );
  }
}

async function holderOf(folder: string): Promise<Instance | undefined> {
  for (let waitedMs = 0; waitedMs < ENTRY_TIMEOUT_MS; waitedMs += ENTRY_POLL_MS) {
    const entry = instanceOf(folder);
    if (entry) return entry;
    await sleep(ENTRY_POLL_MS);
  }
  return undefined;
}
