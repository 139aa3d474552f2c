/** Starts what the bench runs, each as its own process in a folder of its own, and ends it with its PostgreSQL. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { COMPILED } from "../test/compile-cache.ts";

export const ROOT = path.join(import.meta.dirname, "..");
/** The server's own (tools/commands.js). */
export const SERVER_FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=60"];
const AS_STARTED = { NODE_COMPILE_CACHE: COMPILED };
const START_TIMEOUT_MS = 60_000;

const folders = new Set<string>();
const children = new Set<ChildProcess>();

/** For an end in the midst of it: a signal, an error, or too long. */
export async function endEverything(): Promise<void> {
  await Promise.all([...children].map((child) => end(child)));
  // Left by a server that was killed.
  for (const folder of folders) await stopPostgres(path.join(folder, "data"));
  folders.forEach(removeFolder);
}

function removeFolder(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  folders.delete(folder);
}

/** A temporary folder that PostgreSQL's user can enter. */
export function temporaryFolder(): { path: string } & Disposable {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-bench-"));
  fs.chmodSync(folder, 0o711);
  folders.add(folder);
  return { path: folder, [Symbol.dispose]: () => removeFolder(folder) };
}

export type Started = {
  child: ChildProcess;
  /** The part of the line at ready that `ready` caught. */
  ready: string;
  /** From the spawn to that line. */
  readyMs: number;
  /** When it was spawned, ms since 1970. */
  spawnedAt: number;
};

export type Program = {
  file: string;
  args?: string[];
  flags?: string[];
  env?: Record<string, string>;
  cwd?: string;
  /** The first line that it matches is the one at ready; its first group is what is answered. */
  ready: RegExp;
  /** Another Node than the bench's own. */
  node?: string;
};

/** Resolves at the line that says it is ready. Its stderr goes through to ours. */
export async function start(program: Program): Promise<Started> {
  const spawnedAt = Date.now();
  const since = performance.now();
  const { flags = [], args = [], env, cwd } = program;
  const child = spawn(program.node ?? process.execPath, [...flags, program.file, ...args], {
    cwd: cwd ?? os.tmpdir(),
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  const { promise, resolve, reject } = Promise.withResolvers<Started>();
  createInterface(child.stdout).on("line", (line) => {
    const ready = program.ready.exec(line)?.[1];
    if (ready !== undefined) resolve({ child, ready, readyMs: performance.now() - since, spawnedAt });
  });
  const failed = (why: string): void => reject(new Error(`${program.file} did not start: ${why}`));
  child.once("error", (error) => failed(error.message));
  child.once("exit", (code, signal) => failed(`it ended with ${code ?? signal}`));
  const timer = setTimeout(failed, START_TIMEOUT_MS, `not ready in ${START_TIMEOUT_MS} ms`);
  return promise
    .catch(async (error: unknown) => {
      // Before the caller removes its folder.
      await end(child);
      throw error;
    })
    .finally(() => clearTimeout(timer));
}

/** Runs a program to its end; its output goes to our stderr. */
export async function runToEnd(file: string, args: string[], cwd: string): Promise<void> {
  const child = spawn(file, args, { cwd, stdio: ["ignore", process.stderr, process.stderr] });
  children.add(child);
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  children.delete(child);
  if (code !== 0) throw new Error(`${file} ${args.join(" ")} in ${cwd} ended with ${code ?? signal}`);
}

export async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}

export type ServerOptions = {
  /** Kept by the caller. */
  folder: string;
  port?: number;
  node?: string;
  flags?: string[];
  env?: Record<string, string>;
  /** Starts the program of this checkout by its own `npm start`, with the flags and environment that it sets. */
  checkout?: string;
};

export type Server = {
  url: string;
  /** The checkout that its program is from. */
  root: string;
  child: ChildProcess;
  readyMs: number;
  spawnedAt: number;
  dataFolder: string;
  /** The server and PostgreSQL's main process: all their processes are below these. */
  roots(): number[];
  /** `kill -9`; PostgreSQL stays. */
  kill(): Promise<void>;
} & AsyncDisposable;

export const serverSettings = (dataFolder: string, port: number): Record<string, string> => ({
  PORT: String(port),
  DATA_DIR: dataFolder,
  LOG_LEVEL: "warn",
  OUTBOUND_ALLOW: "127.0.0.1/32",
});

const builtServer = (flags: string[]): Pick<Program, "file" | "flags"> => ({
  file: path.join(ROOT, "server/dist/main.js"),
  flags: [...SERVER_FLAGS, ...flags],
});
const npmStart = (checkout: string): Pick<Program, "file" | "args"> => ({
  file: path.join(checkout, "tools/run.js"),
  args: ["start"],
});

/** The built server on a free port, as `npm start` starts it. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { folder, port = 0, node, flags = [], env, checkout } = options;
  const dataFolder = path.join(folder, "data");
  const { child, ready, readyMs, spawnedAt } = await start({
    ...(checkout === undefined ? builtServer(flags) : npmStart(checkout)),
    env: { ...(checkout === undefined && AS_STARTED), ...serverSettings(dataFolder, port), ...env },
    ready: /^ready at (http:\S+)$/,
    ...(node && { node }),
  });
  return {
    url: ready,
    root: checkout ?? ROOT,
    child,
    readyMs,
    spawnedAt,
    dataFolder,
    roots: () => [child.pid!, postmasterOf(dataFolder) ?? 0],
    kill: () => end(child, "SIGKILL"),
    async [Symbol.asyncDispose]() {
      await end(child);
      await stopPostgres(dataFolder);
    },
  };
}

const postmasterOf = (dataFolder: string): number | undefined => readPidFile(path.join(dataFolder, "postgres"))?.pid;

/** After a kill it is still there. */
async function stopPostgres(dataFolder: string): Promise<void> {
  const postmaster = postmasterOf(dataFolder);
  if (postmaster !== undefined) await stopPostmaster(postmaster);
}

export type Floor = { url: string; roots(): number[] } & AsyncDisposable;

export async function startFloor(folder: string, sinkUrl: string): Promise<Floor> {
  const { child, ready } = await start({
    file: path.join(import.meta.dirname, "floor.ts"),
    args: [path.join(folder, "floor"), sinkUrl],
    flags: SERVER_FLAGS,
    ready: /^floor at (\S+)$/,
  });
  // Its PostgreSQL is its child.
  return { url: ready, roots: () => [child.pid!], [Symbol.asyncDispose]: () => end(child) };
}

export type SinkProcess = { url: string } & AsyncDisposable;

/** The counting sink of the tests, in its own process. */
export async function startSinkProcess(): Promise<SinkProcess> {
  const { child, ready } = await start({ file: path.join(ROOT, "test/sink.ts"), ready: /"url":"([^"]+)"/ });
  return { url: ready, [Symbol.asyncDispose]: () => end(child, "SIGKILL") };
}

/** A service that always answers the same way: a program of this folder and its argument, in its own process. */
export async function startFixed(program: string, argument: string): Promise<{ url: string } & AsyncDisposable> {
  const file = path.join(import.meta.dirname, program);
  const { child, ready } = await start({ file, args: [argument], ready: /"url":"([^"]+)"/ });
  return { url: ready, [Symbol.asyncDispose]: () => end(child, "SIGKILL") };
}
