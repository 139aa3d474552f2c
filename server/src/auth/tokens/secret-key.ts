/**
 * The one secret of an installation: 32 bytes from `SECRET_KEY` or from `<data folder>/secret.key` (0600, made at the
 * first start). All other keys are derived from it, so a backup needs the database and this file, nothing else.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import { link, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, OperatorError } from "../../lib/errors.ts";
import { parseSecretKey, SECRET_KEY_BYTES } from "../../lib/secret-key.ts";
import type { Database } from "../../storage/database.ts";

export type SecretKeys = {
  /** 32 bytes for one purpose; the same for the same purpose, unrelated for others (RFC 5869). */
  derive(purpose: string): Buffer;
};

const FILE = "secret.key";
export const secretKeys = (master: Buffer): SecretKeys => ({
  derive: (purpose) => Buffer.from(hkdfSync("sha256", master, "", `autograph ${purpose}`, SECRET_KEY_BYTES)),
});

/**
 * Reads or makes the key and holds it against the database's fingerprint. Throws OperatorError when the
 * file cannot be read or written or holds no key, or the database was made with another key.
 */
export async function openSecretKeys(
  database: Database,
  options: { configured?: Buffer | undefined; dataFolder: string },
): Promise<SecretKeys> {
  const known = await readFingerprint(database);
  const path = join(options.dataFolder, FILE);
  const master = options.configured ?? (await fileKey(path, known === undefined));
  const keys = secretKeys(master);
  const fingerprint = keys.derive("fingerprint v1").toString("hex", 0, 16);
  if ((known ?? (await writeFingerprint(database, fingerprint))) === fingerprint) return keys;
  const source = options.configured === undefined ? path : "SECRET_KEY";
  throw new OperatorError(
    `${source} is not the key this database was made with: put the former ${FILE} back, or set SECRET_KEY to its content`,
  );
}

async function fileKey(path: string, mayCreate: boolean): Promise<Buffer> {
  const text = (await readKeyFile(path)) ?? (mayCreate ? await createKeyFile(path) : undefined);
  if (text === undefined) {
    throw new OperatorError(`${path} is missing, and this database was made with it: put it back, or set SECRET_KEY`);
  }
  const key = parseSecretKey(text);
  if (key) return key;
  throw new OperatorError(`${path} does not hold a key (64 hex digits): put the former file back`);
}

async function readKeyFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new OperatorError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Written aside, synced and linked into place: a crash leaves no half key, and of two starts at once one wins. */
async function createKeyFile(path: string): Promise<string | undefined> {
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await using file = await open(aside, "wx", 0o600);
    await file.writeFile(`${randomBytes(SECRET_KEY_BYTES).toString("hex")}\n`);
    await file.sync();
    await link(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw new OperatorError(`${path} cannot be written: ${messageOf(error)}`);
    }
  } finally {
    await rm(aside, { force: true });
  }
  return readKeyFile(path);
}

async function readFingerprint(database: Database): Promise<string | undefined> {
  const [row] = await database.query("select value from settings where name = 'secret_key'");
  return (row?.["value"] as { fingerprint: string } | undefined)?.fingerprint;
}

/** The fingerprint that the database then has: of two first starts at once, the first one's. */
async function writeFingerprint(database: Database, fingerprint: string): Promise<string | undefined> {
  await database.query("insert into settings (name, value) values ('secret_key', $1) on conflict (name) do nothing", [
    JSON.stringify({ fingerprint }),
  ]);
  return readFingerprint(database);
}
