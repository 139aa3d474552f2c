/** The data folder: writable by us, enterable by the user that PostgreSQL runs as, or one helpful line. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { OperatorError } from "../lib/errors.ts";
import { systemUser, userCanEnter, type SystemUser } from "./system-user.ts";

export type DataFolder = {
  folder: string;
  /** PostgreSQL's own folder within it. */
  cluster: string;
  /** The user that PostgreSQL runs as when we are root. */
  user: SystemUser | undefined;
  /** Set if the folder is not the requested one: one sentence that says why. */
  notice?: string;
};

/** Where root's data goes if the wanted folder lies below one that PostgreSQL's user can't enter. */
const ROOT_FOLDERS = "/var/lib/autograph";

const clusterIn = (folder: string): string => path.join(folder, "postgres");

/** Which folder to use for `wanted`. Creates nothing. Throws OperatorError if it can't be a folder. */
export function findDataFolder(wanted: string, rootFolders = ROOT_FOLDERS, users?: string[]): DataFolder {
  const folder = realPath(path.resolve(wanted));
  if (fs.existsSync(folder) && !isFolder(folder)) {
    throw new OperatorError(
      `The data folder ${folder} can't be written (ENOTDIR): it is a file; set DATA_DIR to a folder`,
    );
  }
  const user = systemUser(clusterIn(folder), users);
  if (!user) return { folder, cluster: clusterIn(folder), user };
  const other = path.join(rootFolders, createHash("sha256").update(folder).digest("hex").slice(0, 12));
  const started = fs.existsSync(clusterIn(folder));
  const enterable = userCanEnter(user, existingPart(path.dirname(folder)));
  if (started && !enterable) {
    throw new OperatorError(
      `PostgreSQL's user ${user.name} can't enter the data folder ${folder} any more: allow it to, or move the folder`,
    );
  }
  if (started || (enterable && !fs.existsSync(clusterIn(other)))) return { folder, cluster: clusterIn(folder), user };
  return {
    folder: other,
    cluster: clusterIn(other),
    user: systemUser(clusterIn(other), users),
    notice: `PostgreSQL can't run as root, and its user ${user.name} can't enter ${folder}: the data is in ${other}. DATA_DIR chooses another folder.`,
  };
}

/** The same, and makes sure that the folder exists and is writable. */
export function prepareDataFolder(wanted: string, rootFolders = ROOT_FOLDERS, users?: string[]): DataFolder {
  const found = findDataFolder(wanted, rootFolders, users);
  // PostgreSQL's user must pass through it to reach its own folder.
  makeFolder(found.folder, found.user ? 0o711 : 0o700);
  if (found.user && !userCanEnter(found.user, found.folder)) {
    fs.chmodSync(found.folder, fs.statSync(found.folder).mode | 0o011);
  }
  return found;
}

/** Creates the folder if missing. Throws OperatorError if we can't write in it, or not on what a start as root left. */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    makeLevels(folder, mode);
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
    for (const name of fs.readdirSync(folder)) {
      if (name.startsWith("instance.")) fs.accessSync(path.join(folder, name), fs.constants.R_OK | fs.constants.W_OK);
    }
  } catch (error) {
    throw new OperatorError(sentenceFor(folder, error as NodeJS.ErrnoException));
  }
}

/** Not with `recursive`: that never returns where a file system says ENOENT to every new folder (/proc, /sys). */
function makeLevels(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  makeLevels(path.dirname(folder), mode);
  try {
    fs.mkdirSync(folder, { mode });
  } catch (error) {
    // Another process may have been quicker.
    if (!isFolder(folder)) throw error;
  }
}

const isFolder = (name: string): boolean => fs.statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false;

function sentenceFor(folder: string, error: NodeJS.ErrnoException): string {
  if (error.code === "ENOSPC")
    return `No space is left for the data folder ${folder}: free some, or set DATA_DIR to a folder elsewhere`;
  return `The data folder ${folder} can't be written by user ${process.getuid?.()} (${error.code}): give it to that user, or set DATA_DIR to another folder`;
}

/** Without links, so that a folder has one name however it is reached: its name identifies the PostgreSQL. */
function realPath(folder: string): string {
  const existing = existingPart(folder);
  return path.join(fs.realpathSync(existing), path.relative(existing, folder));
}

/** The nearest folder on the way up that exists. */
function existingPart(folder: string): string {
  return fs.existsSync(folder) ? folder : existingPart(path.dirname(folder));
}
