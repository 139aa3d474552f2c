/** PostgreSQL refuses to run as root: for root it runs as another user of the system. */
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { OperatorError } from "../lib/errors.ts";

export type SystemUser = { uid: number; gid: number; name: string };

const CANDIDATES = ["autograph", "postgres", "nobody"];

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * The user that PostgreSQL runs as, or undefined when that is the one we run as. The owner of an existing cluster stays
 * its owner. It must have an entry in the system's list: initdb looks its name up.
 */
export function systemUser(cluster: string): SystemUser | undefined {
  if (!isRoot()) return undefined;
  const owner = fs.statSync(cluster, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: String(owner.uid) };
  for (const name of CANDIDATES) {
    const user = lookUp(name);
    if (user) return user;
  }
  throw new OperatorError(
    `PostgreSQL can't run as root, and none of the users ${CANDIDATES.join(", ")} exists: start as another user, or set DATABASE_URL`,
  );
}

function lookUp(name: string): SystemUser | undefined {
  try {
    const [uid, gid] = ["-u", "-g"].map((flag) =>
      Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] })),
    );
    return { uid: uid!, gid: gid!, name };
  } catch {
    return undefined;
  }
}

/** Asked of the system rather than worked out from modes: access lists and mounts have a say. */
const asUser = (user: SystemUser, test: string, target: string): boolean =>
  spawnSync("/bin/sh", ["-c", test, "sh", target], { uid: user.uid, gid: user.gid, cwd: "/", stdio: "ignore" })
    .status === 0;

export const userCanEnter = (user: SystemUser, folder: string): boolean => asUser(user, 'cd "$1"', folder);
export const userCanRun = (user: SystemUser, file: string): boolean => asUser(user, '[ -x "$1" ] && [ -r "$1" ]', file);
