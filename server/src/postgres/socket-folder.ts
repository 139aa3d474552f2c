/** The private folder of PostgreSQL's socket. Anyone who can enter it still needs the password. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { OperatorError } from "../lib/errors.ts";
import { userCanEnter, type Identity } from "./system-user.ts";

const PREFIX = "autograph-";
const SOCKET = ".s.PGSQL.5432";
/** A socket's path must fit into 107 bytes on Linux, 103 on macOS; PostgreSQL's lock file in it has the longest name. */
const PATH_BYTES = 103;

/** A new folder with an unpredictable name, owned by PostgreSQL's user. `spare` is the last resort. */
export function makeSocketFolder(user: Identity | undefined, spare: string): string {
  for (const parent of [os.tmpdir(), "/tmp", spare]) {
    const longest = path.join(parent, `${PREFIX}XXXXXX`, `${SOCKET}.lock`);
    if (Buffer.byteLength(longest) > PATH_BYTES || (user && !userCanEnter(user, parent))) continue;
    try {
      const folder = fs.mkdtempSync(path.join(parent, PREFIX));
      if (user) fs.chownSync(folder, user.uid, user.gid);
      return folder;
    } catch {
      // We can't write here: try the next one.
    }
  }
  throw new OperatorError(`No folder for PostgreSQL's socket: neither ${os.tmpdir()} nor /tmp can be used`);
}

/** Makes a folder usable again after its PostgreSQL was killed or somebody removed it. Refuses if another user owns it. */
export function renewSocketFolder(folder: string, user: Identity | undefined): void {
  if (!isOurs(folder, user)) {
    fs.mkdirSync(folder, { mode: 0o700 });
    if (user) fs.chownSync(folder, user.uid, user.gid);
  }
  for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name), { force: true });
}

export const hasSocket = (folder: string): boolean => fs.existsSync(path.join(folder, SOCKET));

/** Only what `makeSocketFolder` made: the name comes from a file of PostgreSQL's user. */
export function removeSocketFolder(folder: string, user: Identity | undefined): void {
  if (path.basename(folder).startsWith(PREFIX) && isOurs(folder, user))
    fs.rmSync(folder, { recursive: true, force: true });
}

function isOurs(folder: string, user: Identity | undefined): boolean {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && stat.uid === (user?.uid ?? process.getuid?.());
}
