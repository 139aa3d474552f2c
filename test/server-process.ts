/** The server of a test as a process of its own (test/server.ts), in a data folder that begins as a copy of a migrated one. */
import { execFile, fork, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { bundled } from "./bundle.ts";
import { COMPILED } from "./compile-cache.ts";
import { freePort, temporaryDatabase } from "./postgres.ts";
import { makeEnterable } from "./run-folder.ts";
import type { Command, Started, World } from "./server.ts";

const run = promisify(execFile);
/** The same as the real server's (tools/commands.js). */
const FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=60"];
const START_TIMEOUT_MS = 180_000;

/** Settings that a server needs and that do not depend on the test's own environment. */
const environment = (dataFolder: string, more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  DATA_DIR: dataFolder,
  LOG_LEVEL: "warn",
  NODE_COMPILE_CACHE: COMPILED,
  ...more,
});

/** A folder that PostgreSQL's user can enter. */
export const temporaryFolder = (): string => makeEnterable(path.join(os.tmpdir(), "autograph-test-"));

export class ServerProcess {
  readonly folder: string;
  #env: Record<string, string>;
  #child: ChildProcess | undefined;
  #exited: Promise<number | null> = Promise.resolve(null);
  #offset = 0;
  #lastId = 0;
  #log = "";
  readonly #held = new AsyncDisposableStack();
  readonly #waiting = new Map<number, { resolve: (value: any) => void; reject: (error: Error) => void }>();
  started: Started = { url: "", metricsUrl: null, dataFolder: "", setupLink: null };

  constructor(folder: string, env: Record<string, string>) {
    this.folder = folder;
    // The port is added, and settings of later starts: what was given may be another server's, too.
    this.#env = { ...env };
  }

  get databaseUrl(): string | undefined {
    return this.#env["DATABASE_URL"];
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  log = (): string => this.#log;

  get ended(): Promise<number | null> {
    return this.#exited;
  }

  /** `laterMs`: by how much its clock has moved on meanwhile, beyond the time that really passed. */
  async start(env: Record<string, string> = {}, laterMs = 0): Promise<void> {
    Object.assign(this.#env, env);
    this.#offset += laterMs;
    // It must still be free when the server starts again.
    const PORT = this.#env["PORT"] ?? String(await freePort());
    const child = fork(bundled("server"), [`--offset=${this.#offset}`], {
      execArgv: FLAGS,
      env: environment(this.folder, { ...this.#env, PORT }),
      cwd: this.folder,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    this.#exited = once(child, "exit").then(([code]) => code as number | null);
    child.stderr!.on("data", (chunk) => (this.#log += String(chunk)));
    const { promise, resolve, reject } = Promise.withResolvers<Started>();
    child.on("message", (message: { started?: Started; id?: number; result?: any; error?: string }) => {
      if (message.started) return resolve(message.started);
      const waiting = this.#waiting.get(message.id!);
      this.#waiting.delete(message.id!);
      if (message.error) waiting?.reject(new Error(message.error));
      else waiting?.resolve(message.result);
    });
    child.once("exit", () => {
      const gone = new Error(`the server ended: ${this.#log}`);
      reject(gone);
      for (const waiting of this.#waiting.values()) waiting.reject(gone);
      this.#waiting.clear();
    });
    const timer = setTimeout(() => reject(new Error(`the server did not start: ${this.#log}`)), START_TIMEOUT_MS);
    this.started = await promise.finally(() => clearTimeout(timer));
    this.#env["PORT"] = new URL(this.started.url).port;
  }

  async command(command: Command): Promise<any> {
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<any>();
    this.#waiting.set(id, { resolve, reject });
    this.#child!.send({ id, ...command });
    const result = await promise;
    if (typeof result?.offset === "number") this.#offset = result.offset;
    return result;
  }

  async useDatabaseOf(url: string): Promise<void> {
    const database = this.#held.use(await temporaryDatabase(url));
    this.#env["DATABASE_URL"] = database.url;
  }

  async signal(signal: NodeJS.Signals): Promise<number | null> {
    if (this.isRunning) this.#child!.kill(signal);
    return this.#exited;
  }

  async dispose(): Promise<void> {
    await this.signal("SIGTERM");
    // After a kill PostgreSQL is still there.
    const { dataFolder } = this.started;
    const postmaster = dataFolder ? readPidFile(path.join(dataFolder, "postgres")) : undefined;
    if (postmaster) await stopPostmaster(postmaster.pid);
    await this.#held.disposeAsync();
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/**
 * `npm run test:url`: the same tests on a PostgreSQL of the operator's, by TCP and a password. Its URL is that of one server
 * for all (test/operators-postgres.ts), where each of ours gets a database of its own.
 */
const OPERATORS_URL = process.env["TEST_DATABASE"] === "url" ? process.env["TEST_DATABASE_URL"] : undefined;

/** Gives it the database that it begins with; answers the world that is in it. */
export async function prepare(
  server: ServerProcess,
  fresh: boolean | "from nothing" = false,
): Promise<World | undefined> {
  if (server.databaseUrl !== undefined) return undefined;
  if (OPERATORS_URL === undefined) {
    if (fresh === "from nothing") return undefined;
    return fresh ? void (await copyFresh(server.folder)) : copyWithWorld(server.folder);
  }
  await server.useDatabaseOf(OPERATORS_URL);
  return undefined;
}

const CACHE = path.join(import.meta.dirname, "../node_modules/.cache/autograph-test");
/** Since it was last copied: each is 90 MB. */
const TEMPLATE_KEPT_MS = 600_000;

/**
 * initdb, migrations and a password's hash cost two seconds: they are done once for each state of the sources, and the
 * data folder is copied. Made beside and renamed, so that tests at the same time see a whole one.
 */
async function copyTemplate(name: "fresh" | "with-world", folder: string): Promise<string> {
  const template = path.join(CACHE, sourceHash());
  if (!fs.existsSync(template)) await makeTemplate(template);
  fs.utimesSync(template, new Date(), new Date());
  await run("cp", ["-a", `${template}/${name}/.`, folder]);
  return template;
}

/** As after a first start: migrated, and nobody has set it up. */
export const copyFresh = (folder: string): Promise<unknown> => copyTemplate("fresh", folder);

async function copyWithWorld(folder: string): Promise<World> {
  const template = await copyTemplate("with-world", folder);
  return JSON.parse(fs.readFileSync(path.join(template, "world.json"), "utf8")) as World;
}

async function makeTemplate(template: string): Promise<void> {
  // Node never removes what it compiled of former sources. Another worker's server may write there at this moment.
  fs.rmSync(COMPILED, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  fs.mkdirSync(CACHE, { recursive: true });
  const server = new ServerProcess(temporaryFolder(), {});
  const beside = fs.mkdtempSync(path.join(CACHE, "new-"));
  const keep = async (name: string): Promise<void> => {
    await server.signal("SIGTERM");
    await run("cp", ["-a", server.folder, path.join(beside, name)]);
  };
  await server.start();
  await keep("fresh");
  await server.start();
  const world = (await server.command({ command: "organization", name: "first" })) as World;
  await keep("with-world");
  fs.writeFileSync(path.join(beside, "world.json"), JSON.stringify(world));
  await server.dispose();
  try {
    fs.renameSync(beside, template);
  } catch {
    fs.rmSync(beside, { recursive: true, force: true });
  }
  removeOldTemplates(template);
}

function removeOldTemplates(template: string): void {
  for (const name of fs.readdirSync(CACHE)) {
    const other = path.join(CACHE, name);
    // Another process may have renamed it a moment ago.
    const madeAt = fs.statSync(other, { throwIfNoEntry: false })?.mtimeMs;
    const isOld = madeAt !== undefined && Date.now() - madeAt > TEMPLATE_KEPT_MS;
    if (other !== template && isOld) fs.rmSync(other, { recursive: true, force: true });
  }
}

function sourceHash(): string {
  const hash = createHash("sha256")
    .update(String(process.getuid?.()))
    .update(fs.readFileSync(import.meta.filename));
  const root = path.join(import.meta.dirname, "../server/src");
  for (const room of ["storage", "auth"]) {
    for (const entry of fs.readdirSync(path.join(root, room), { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) hash.update(fs.readFileSync(path.join(entry.parentPath, entry.name)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}
