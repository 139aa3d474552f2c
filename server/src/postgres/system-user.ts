/**
 * PostgreSQL refuses to run as root, so for root it runs as another system user: a dedicated one if there is one, else an
 * unused number. Never `nobody`, as which anything without its own user runs.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { OperatorError } from "../lib/errors.ts";

export type Identity = { uid: number; gid: number };
export type SystemUser = Identity & { name: string };

/** Users that exist for this purpose. */
const CANDIDATES = ["autograph", "postgres"];
/** Users shared with others. What they own here is from an older program, or an interrupted set-up (`setUpIdentity`). */
const SHARED = ["nobody", "daemon", "bin"];
/** systemd leaves these to nobody (its "Users, Groups, UIDs and GIDs"), and they fit into a container's 65,536. */
const OWN_FIRST = 60_706;
const OWN_LAST = 61_183;

export const isRoot = (): boolean => process.getuid?.() === 0;

/** The user that PostgreSQL runs as; undefined if that is our own. The owner of an existing cluster stays its owner. */
export function systemUser(cluster: string, candidates = CANDIDATES): SystemUser | undefined {
  if (!isRoot()) return undefined;
  const owner = fs.statSync(cluster, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0 && !isShared(owner.uid)) {
    return { uid: owner.uid, gid: owner.gid, name: String(owner.uid) };
  }
  for (const name of candidates) {
    const user = lookUp(name);
    if (user) return user;
  }
  return ownUser(cluster);
}

const isShared = (uid: number): boolean => SHARED.includes(nameOf(uid) ?? "");

/** Always the same for a folder; two servers on one machine hardly ever share one. */
function ownUser(cluster: string): SystemUser {
  const count = OWN_LAST - OWN_FIRST + 1;
  const start = createHash("sha256").update(cluster).digest().readUInt32BE(0) % count;
  for (let step = 0; step < count; step++) {
    const uid = OWN_FIRST + ((start + step) % count);
    if (nameOf(uid) === undefined) return { uid, gid: uid, name: String(uid) };
  }
  throw new OperatorError("PostgreSQL can't run as root, and no user number is free: add a user `autograph`");
}

/**
 * The user that runs initdb and the single-user mode on PostgreSQL's behalf: both look up their user's name. A number
 * without a name borrows `daemon`'s for that second, in a group that `daemon` is not in, so that a folder can shut it out.
 */
export function setUpIdentity(user: SystemUser): Identity {
  if (nameOf(user.uid) !== undefined) return user;
  const lender = lookUp("daemon") ?? lookUp("bin");
  if (lender) return { uid: lender.uid, gid: user.gid };
  throw new OperatorError("PostgreSQL can't run as root: add a user `autograph` to the system, or set DATABASE_URL");
}

/** Changes the folder and everything in it; itself last, so that its owner shows that all is done. */
export function giveTo(folder: string, { uid, gid }: Identity): void {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const inner = `${folder}/${entry.name}`;
    if (entry.isDirectory()) giveTo(inner, { uid, gid });
    else fs.lchownSync(inner, uid, gid);
  }
  fs.lchownSync(folder, uid, gid);
}

function lookUp(name: string): SystemUser | undefined {
  try {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(id(flag, name)));
    return { uid: uid!, gid: gid!, name };
  } catch {
    return undefined;
  }
}

/** Undefined for a number without a name on this system. */
function nameOf(uid: number): string | undefined {
  try {
    return id("-un", String(uid));
  } catch {
    return undefined;
  }
}

const id = (...asked: string[]): string =>
  execFileSync("id", asked, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

/** Asks the system instead of computing from modes: access lists and mounts matter too. */
const asUser = (user: Identity, test: string, target: string): boolean =>
  spawnSync("/bin/sh", ["-c", test, "sh", target], { uid: user.uid, gid: user.gid, cwd: "/", stdio: "ignore" })
    .status === 0;

export const userCanEnter = (user: Identity, folder: string): boolean => asUser(user, 'cd "$1"', folder);
export const userCanRun = (user: Identity, file: string): boolean => asUser(user, '[ -x "$1" ] && [ -r "$1" ]', file);
