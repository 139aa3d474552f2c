/**
 * Sign-in to the embedded PostgreSQL: a password in the data folder that only the server's user can read, and rules that
 * accept nothing else. Both are out of reach of PostgreSQL's own user, which others may share.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { messageOf, OperatorError } from "../lib/errors.ts";
import { writeWhole } from "./write-whole.ts";

/** 256 bits, in characters that need no quotes in SQL or a shell. */
const BYTES = 32;
const SHAPE = /^[\w-]{43}$/;
/** There is no other way in: no other role, not even PostgreSQL's superuser, and no other sign-in method. */
const RULES = "# Written by Autograph at every start.\nlocal postgres autograph scram-sha-256\n";

export const passwordPath = (folder: string): string => path.join(folder, "postgres.password");
export const rulesPath = (folder: string): string => path.join(folder, "pg_hba.conf");

export const makePassword = (): string => randomBytes(BYTES).toString("base64url");

/** Undefined if there is none yet. Throws OperatorError if we may not read it. */
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

/** Call under the instance lock, once PostgreSQL knows the password: the file's existence means that it does. */
export function writePassword(folder: string, password: string): void {
  writeWhole(passwordPath(folder), `${password}\n`, 0o600);
}

export function writeRules(folder: string): void {
  writeWhole(rulesPath(folder), RULES, 0o644);
}
