/** Starts processes that serve a data folder, kills them and cleans up after them, for the launcher's tests. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { bundled } from "../../../test/bundle.ts";
import { sharedFolder } from "../../../test/run-folder.ts";
import { socketConnection } from "./embedded.ts";
import type { Ready } from "./embedded.testsuite.ts";
import { readPassword } from "./postgres-password.ts";
import { isAlive, readPidFile } from "./postmaster.ts";

export const SERVER_URL = "http://127.0.0.1:4400/";

export type Started = {
  child: ChildProcess;
  exited: Promise<number | null>;
  ready: Promise<Ready | undefined>;
  /** Its output on stderr. */
  said(): string;
};
export type StartOptions = {
  rootFolders?: string;
  uid?: number;
  gid?: number;
  systemUsers?: string[];
  program?: string;
  env?: Record<string, string>;
};

/** The folder after a first start, which takes a second of processor time: made once in a worker. */
let firstStarted: Promise<string> | undefined;

async function startFirst(): Promise<string> {
  const kept = path.join(sharedFolder(), "data");
  const launcher = new Launcher();
  try {
    const one = launcher.start();
    await readyOf(one);
    await stop(one);
    await copy(launcher.dataFolder, kept);
  } finally {
    await launcher.cleanUp();
  }
  return kept;
}

const run = promisify(execFile);
/** Owners and modes too. */
const copy = (from: string, to: string): Promise<unknown> => run("cp", ["-a", from, to]);

/** A test's own folder, with the processes that it starts on a data folder in it. */
export class Launcher {
  readonly base: string;
  dataFolder: string;
  readonly #started: Started[] = [];

  constructor() {
    this.base = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "autograph-embedded-"));
    fs.chmodSync(this.base, 0o755);
    this.dataFolder = path.join(this.base, "data");
  }

  /** Its data folder becomes as a first start leaves it. */
  async fill(): Promise<void> {
    firstStarted ??= startFirst();
    await copy(await firstStarted, this.dataFolder);
  }

  start({ program = bundled("postgres/embedded.testsuite"), env, ...options }: StartOptions = {}): Started {
    const request = JSON.stringify({ dataFolder: this.dataFolder, url: SERVER_URL, ...options });
    const child = spawn(process.execPath, [program, request], { env: { ...process.env, TMPDIR: this.base, ...env } });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    const exited = once(child, "close").then(([code]) => code as number | null);
    const line = once(child.stdout.setEncoding("utf8"), "data").then(([text]) => JSON.parse(text as string) as Ready);
    const one: Started = { child, exited, ready: Promise.race([line, exited.then(() => undefined)]), said: () => said };
    this.#started.push(one);
    return one;
  }

  /** Kills everything that was started and removes the folder. */
  async cleanUp(): Promise<void> {
    const clusters = new Set([path.join(this.dataFolder, "postgres")]);
    for (const one of this.#started) {
      const ready = await Promise.race([one.ready, sleep(0)]);
      if (ready) clusters.add(path.join(ready.dataFolder, "postgres"));
      one.child.kill("SIGKILL");
      await one.exited;
    }
    for (const cluster of clusters) {
      const pid = readPidFile(cluster)?.pid;
      if (pid === undefined || !isAlive(pid)) continue;
      process.kill(pid, "SIGQUIT");
      await until(() => !isAlive(pid));
    }
    fs.rmSync(this.base, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

export async function readyOf(one: Started): Promise<Ready> {
  const ready = await one.ready;
  if (!ready) throw new Error(`it did not start: ${one.said()}`);
  return ready;
}

export async function stop(one: Started, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  one.child.kill(signal);
  await one.exited;
}

export async function query(ready: Ready, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(socketConnection(ready.socketFolder, readPassword(ready.dataFolder)!));
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

/** Retries `work` until it succeeds, at most ten seconds: PostgreSQL may be recovering. */
export async function eventually<Result>(work: () => Promise<Result>, tries = 500): Promise<Result> {
  return work().catch(async (error: unknown) => {
    if (tries === 0) throw error;
    await sleep(20);
    return eventually(work, tries - 1);
  });
}
