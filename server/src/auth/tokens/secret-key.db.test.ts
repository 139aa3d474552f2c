import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { OperatorError } from "../../lib/errors.ts";
import type { Database } from "../../storage/database.ts";
import { startDatabases, type Databases } from "../handle/auth.testsuite.ts";
import { openSecretKeys, type SecretKeys } from "./secret-key.ts";

const stack = new AsyncDisposableStack();
let databases: Databases;
let database: Database;
let dataFolder: string;

beforeAll(async () => {
  databases = stack.use(await startDatabases());
});
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  const [opened, folder] = [await databases.open(), await mkdtemp(join(tmpdir(), "autograph-key-"))];
  [database, dataFolder] = [opened, folder];
  return async () => {
    await opened[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  };
});

const markOf = (keys: SecretKeys): string => keys.derive("test").toString("hex");
const failureOf = (promise: Promise<unknown>): Promise<unknown> => promise.then(String, (error: unknown) => error);

test("the first start makes the file, readable by its owner only, and later ones read it", async () => {
  const first = await openSecretKeys(database, { dataFolder });
  const path = join(dataFolder, "secret.key");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readFile(path, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
  expect(markOf(await openSecretKeys(database, { dataFolder }))).toBe(markOf(first));
  expect(await readdir(dataFolder)).toEqual(["secret.key"]);
  const [row] = await database.query("select value from settings where name = 'secret_key'");
  expect(JSON.stringify(row)).not.toContain(markOf(first));
});

test("ten first starts at once agree on one key", async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => openSecretKeys(database, { dataFolder })));
  expect(new Set(all.map(markOf)).size).toBe(1);
  expect(await readdir(dataFolder)).toEqual(["secret.key"]);
});

test("SECRET_KEY stands before the file, and no file is made", async () => {
  const configured = Buffer.alloc(32, 9);
  const first = await openSecretKeys(database, { dataFolder, configured });
  expect(markOf(await openSecretKeys(database, { dataFolder, configured }))).toBe(markOf(first));
  expect(await readdir(dataFolder)).toEqual([]);
});

test("another key than the database's is one line that says what to do", async () => {
  await openSecretKeys(database, { dataFolder });
  const path = join(dataFolder, "secret.key");
  const other = Buffer.alloc(32, 9);
  await writeFile(path, other.toString("hex"));
  const failures = [
    await failureOf(openSecretKeys(database, { dataFolder })),
    await failureOf(openSecretKeys(database, { dataFolder, configured: other })),
    await rm(path).then(() => failureOf(openSecretKeys(database, { dataFolder }))),
    await writeFile(path, "").then(() => failureOf(openSecretKeys(database, { dataFolder }))),
  ];
  for (const failure of failures) {
    expect(failure).toBeInstanceOf(OperatorError);
    expect((failure as Error).message).toMatch(/secret\.key|SECRET_KEY/);
    expect((failure as Error).message).not.toMatch(/\n|09090909/);
  }
  expect(await readdir(dataFolder)).toEqual(["secret.key"]);
});

test("a missing folder is one line, and nothing is written to the database", async () => {
  const failure = await failureOf(openSecretKeys(database, { dataFolder: join(dataFolder, "none") }));
  expect(failure).toBeInstanceOf(OperatorError);
  expect(await database.query("select from settings where name = 'secret_key'")).toEqual([]);
});
