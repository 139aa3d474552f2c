/**
 * What signs in to the embedded PostgreSQL: a password in the data folder that only the server's user can read, and
 * rules that take nothing else. Both are out of reach of PostgreSQL's own user, which others may share.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, OperatorError } from "../lib/errors.ts";

/** 256 bits, in characters that need no quotes in SQL or a shell. */
const BYTES = 32;
const SHAPE = /^[\w-]{43}$/;
/** Nobody else has a way in: neither another role, PostgreSQL's superuser included, nor another way to sign in. */
const RULES = "# Written by Autograph at every start.\nlocal postgres autograph scram-sha-256\n";

export const passwordPath = (folder: string): string => path.join(folder, "postgres.password");
export const rulesPath = (folder: string): string => path.join(folder, "pg_hba.conf");

export const makePassword = (): string => randomBytes(BYTES).toString("base64url");

/** Undefined when there is none yet. Throws OperatorError for who may not read it. */
export function readPassword(folder: string): string | undefined {
  let text: string;
  try {
    text = fs.readFileSync(passwordPath(folder), "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new OperatorError(
      `PostgreSQL's password can't be read (${messageOf(error)}): be the user that runs the server`,
    );
  }
  return SHAPE.test(text) ? text : undefined;
}

/** To be called under the instance lock, when PostgreSQL knows the password: that it is there says so. */
export function writePassword(folder: string, password: string): void {
  writeWhole(passwordPath(folder), `${password}\n`, 0o600);
}

export function writeRules(folder: string): void {
  writeWhole(rulesPath(folder), RULES, 0o644);
}

/** Aside, synced and renamed into place: a crash leaves the former file or this one. */
function writeWhole(file: string, text: string, mode: number): void {
  const draft = `${file}.draft`;
  fs.rmSync(draft, { force: true });
  const descriptor = fs.openSync(draft, "wx", mode);
  try {
    // Whatever the umask: PostgreSQL's user must read the rules.
    fs.fchmodSync(descriptor, mode);
    fs.writeFileSync(descriptor, text);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  fs.renameSync(draft, file);
}
