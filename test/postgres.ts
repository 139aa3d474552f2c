/** A PostgreSQL of its own for a test, as an operator would run one: TCP on loopback, a password, an empty database. */
import { execFile, spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { createLog } from "../server/src/lib/log/log.ts";
import { prepareBinaries } from "../server/src/postgres/binaries.ts";
import { openDatabase } from "../server/src/storage/database.ts";
import { migrate } from "../server/src/storage/migrate.ts";
import { readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { setUpIdentity, systemUser } from "../server/src/postgres/system-user.ts";
import { sharedFolder, sharedProcess } from "./run-folder.ts";

export type TestPostgres = {
  /** For DATABASE_URL. */
  url: string;
  pid: number;
  dataFolder: string;
  /** A new empty database on the same server, ten times quicker than another server: its URL. */
  createDatabase(): Promise<string>;
  /** Another with our tables: they are made once and copied. */
  createMigrated(): Promise<string>;
  stop(): Promise<void>;
} & AsyncDisposable;

const run = promisify(execFile);

/** `settings` as in postgresql.conf, by name. */
export async function startTestPostgres(settings: Record<string, string> = {}): Promise<TestPostgres> {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  const { url, pid, cluster } = await startIn(root, settings, runPostgres);
  const stop = async (): Promise<void> => {
    await stopPostmaster(pid);
    fs.rmSync(root, { recursive: true, force: true });
  };
  return { url, pid, dataFolder: cluster, ...databasesOn(url), stop, [Symbol.asyncDispose]: stop };
}

/** Operations on a PostgreSQL that other files use after this one. */
export type SharedPostgres = Pick<TestPostgres, "createDatabase" | "createMigrated"> & AsyncDisposable;

let shared: Promise<Pick<TestPostgres, "createDatabase" | "createMigrated">> | undefined;

/**
 * The same PostgreSQL for all files of a vitest worker that neither stop it, nor have settings or roles of their own: no file
 * pays for initdb and the migrations. It ends with the worker.
 */
export async function sharedPostgres(): Promise<SharedPostgres> {
  shared ??= startShared();
  const { createDatabase, createMigrated } = await shared;
  const made: string[] = [];
  const noted = async (url: Promise<string>): Promise<string> => {
    made.push(await url);
    return url;
  };
  return {
    createDatabase: () => noted(createDatabase()),
    createMigrated: () => noted(createMigrated()),
    async [Symbol.asyncDispose]() {
      for (const url of made.splice(0)) await drop(url);
    },
  };
}

/**
 * It ends with its worker and no machine loses its power meanwhile, so it waits for no disk: a database that goes would cost a
 * checkpoint of all its files, 0.7 s.
 */
const UNSYNCED = { fsync: "off", full_page_writes: "off" };

async function startShared() {
  const root = sharedFolder();
  const { url, child } = await startIn(root, UNSYNCED, runWithParent);
  sharedProcess(root, child.pid!);
  return databasesOn(url);
}

type Run = (postgres: string, args: string[], options: SpawnOptions) => ChildProcess;

const runPostgres: Run = (postgres, args, options) => spawn(postgres, args, options);

/** Until this process is gone, however it went: then at once, since nothing of it is kept. */
const runWithParent: Run = (postgres, args, options) => {
  const untilGone = '"$@" < /dev/null & read -r nothing; kill -QUIT $!; wait';
  const [, output] = options.stdio as (number | "ignore")[];
  return spawn("sh", ["-c", untilGone, "sh", postgres, ...args], { ...options, stdio: ["pipe", output, output] });
};

type InFolder = { url: string; pid: number; cluster: string; child: ChildProcess };

async function startIn(root: string, settings: Record<string, string>, runIt: Run): Promise<InFolder> {
  const cluster = path.join(root, "cluster");
  const passwordFile = path.join(root, "password");
  const password = randomBytes(12).toString("hex");
  const user = systemUser(cluster);
  // initdb looks its user's name up.
  const as = user && setUpIdentity(user);
  fs.writeFileSync(passwordFile, password, { mode: 0o600 });
  if (as) for (const owned of [root, passwordFile]) fs.chownSync(owned, as.uid, as.gid);

  const { initdb, postgres } = prepareBinaries(root, user);
  const env = { LC_ALL: "C" };
  const first = [
    "-D",
    cluster,
    "-U",
    "tester",
    "-A",
    "scram-sha-256",
    `--pwfile=${passwordFile}`,
    "-E",
    "UTF8",
    "--locale=C",
    "--no-sync",
  ];
  await run(initdb, first, { ...as, cwd: root, env });

  const port = await freePort();
  const output = fs.openSync(path.join(root, "log"), "a");
  const options = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_buffers: "32MB",
    ...settings,
  };
  const args = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const stdio = ["ignore", output, output] as SpawnOptions["stdio"];
  const child = runIt(postgres, ["-D", cluster, ...args], { ...as, cwd: root, env, stdio });
  fs.closeSync(output);
  for (;;) {
    const file = readPidFile(cluster);
    const url = `postgres://tester:${password}@127.0.0.1:${port}/postgres`;
    if (file?.status === "ready") return { url, pid: file.pid, cluster, child };
    if (child.exitCode !== null)
      throw new Error(`the test's PostgreSQL did not start: ${fs.readFileSync(path.join(root, "log"), "utf8")}`);
    await sleep(5);
  }
}

function databasesOn(url: string): Pick<TestPostgres, "createDatabase" | "createMigrated"> {
  const createDatabase = async (): Promise<string> => (await temporaryDatabase(url)).url;
  let template: Promise<string> | undefined;
  const createMigrated = async (): Promise<string> => {
    template ??= createDatabase().then(migrated);
    return (await temporaryDatabase(url, new URL(await template).pathname.slice(1))).url;
  };
  return { createDatabase, createMigrated };
}

async function migrated(url: string): Promise<string> {
  await using database = openDatabase({
    connection: { connectionString: url },
    isEmbedded: false,
    log: createLog("silent"),
  });
  await migrate(database);
  return url;
}

/** A new database on the server of `url`, empty or a copy of the template, which goes when it is disposed of. */
export async function temporaryDatabase(url: string, template?: string): Promise<{ url: string } & AsyncDisposable> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await runOn(url, `create database ${name}${template === undefined ? "" : ` template ${template}`}`);
  const made = url.replace(/postgres$/, name);
  return { url: made, [Symbol.asyncDispose]: () => drop(made) };
}

const drop = (url: string): Promise<void> =>
  runOn(new URL("/postgres", url).href, `drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);

async function runOn(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Below the ports that the system assigns by itself, some for each of vitest's workers. */
const FIRST_PORT = 15_000;
const PORTS = 2_000;
const WORKERS = 8;
let tried = randomInt(PORTS);

/** A port that nothing listened on a moment ago, and that nobody takes meanwhile, also while what listens there starts again. */
export async function freePort(): Promise<number> {
  const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % WORKERS;
  for (;;) {
    const port = FIRST_PORT + worker * PORTS + (tried++ % PORTS);
    const server = net.createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
