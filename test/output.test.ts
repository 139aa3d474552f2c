/** The reader of the program's output may go away, its disk may be full, its terminal may hang up: that ends nothing halfway. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { instanceOf } from "../server/src/postgres/instance-lock.ts";
import { isAlive, readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { bundled } from "./bundle.ts";
import { eventually, post } from "./client.ts";
import { COMPILED } from "./compile-cache.ts";
import { makeEnterable } from "./run-folder.ts";
import { scaled } from "./scale.ts";
import { copyFresh } from "./server-process.ts";

const MAIN = bundled("main");
const CLI = bundled("cli/main");
const ENDED_WITHIN_MS = 20_000;

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = makeEnterable(path.join(os.tmpdir(), "autograph-output-"));
});
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  const pid = postmasterPid();
  if (pid !== undefined) await stopPostmaster(pid);
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const postmasterPid = (): number | undefined => readPidFile(path.join(folder, "postgres"))?.pid;

function start(file: string, args: string[], stdio: ("ignore" | "pipe" | number)[] = ["ignore", "pipe", "pipe"]) {
  const env = {
    PATH: process.env["PATH"],
    PORT: "0",
    DATA_DIR: folder,
    LOG_LEVEL: "debug",
    NODE_COMPILE_CACHE: COMPILED,
  };
  const child = spawn(file, args, { env, cwd: folder, stdio });
  children.push(child);
  return child;
}
const server = (stdio?: ("ignore" | "pipe" | number)[]): ChildProcess => start(process.execPath, [MAIN], stdio);

/** It took a port that was free: one that is chosen before may be somebody else's by then. */
const urlOf = (): string => {
  const { url, localUrl = url } = instanceOf(folder)!;
  return localUrl;
};

const isReady = async (): Promise<boolean> =>
  instanceOf(folder) !== undefined &&
  fetch(`${urlOf()}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
const ready = (): Promise<boolean> => eventually(isReady);

const codeOf = async (child: ChildProcess): Promise<number | null> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
};

/** A credential that can't be looked at and a wrong one: both write lines of the log. */
const ask = async (): Promise<void> => void (await post(`${urlOf()}/graphql`, "{ me { id } }", {}, "wrong"));

/** As a first start leaves it, which takes a second of processor time. */
const begunBefore = (): Promise<unknown> => copyFresh(folder);

describe("the server", () => {
  beforeEach(begunBefore);

  test("whose stdout and stderr nobody reads any more serves on, and stops with its PostgreSQL", async () => {
    const child = server();
    await ready();
    child.stdout!.destroy();
    child.stderr!.destroy();
    await ask();
    const postmaster = postmasterPid()!;
    child.kill("SIGTERM");
    expect(await codeOf(child)).toBe(0);
    expect(isAlive(postmaster)).toBe(false);
  });

  test.skipIf(!fs.existsSync("/dev/full"))("on a full disk serves on, and stops with its PostgreSQL", async () => {
    const full = fs.openSync("/dev/full", "w");
    const child = server(["ignore", full, full]);
    fs.closeSync(full);
    await ready();
    await ask();
    const postmaster = postmasterPid()!;
    child.kill("SIGINT");
    expect(await codeOf(child)).toBe(0);
    expect(isAlive(postmaster)).toBe(false);
  });

  const hasScript = spawnSync("script", ["--version"]).stdout?.includes("util-linux") ?? false;
  test.skipIf(!hasScript)("whose terminal hangs up stops with its PostgreSQL", async () => {
    const terminal = start(
      "script",
      ["-qec", `exec "${process.execPath}" "${MAIN}"`, "/dev/null"],
      ["pipe", "ignore", "ignore"],
    );
    await ready();
    const { pid } = instanceOf(folder)!;
    const postmaster = postmasterPid()!;
    expect(pid).not.toBe(terminal.pid);
    terminal.kill("SIGKILL");
    await eventually(() => !isAlive(pid), ENDED_WITHIN_MS);
    expect(isAlive(postmaster)).toBe(false);
    expect(fs.existsSync(path.join(folder, "instance.json"))).toBe(false);
  });
});

describe("a command that has started PostgreSQL for itself takes it along", () => {
  test.each(scaled<("stdout" | "stderr")[]>({ whole: ["stdout", "stderr"], part: ["stdout"] }))(
    "when nobody reads its %s",
    async (stream) => {
      await begunBefore();
      const child = start(process.execPath, [CLI, "sandbox"]);
      child[stream]!.destroy();
      expect(await codeOf(child)).toBe(0);
      expect(postmasterPid()).toBeUndefined();
    },
  );

  test.skipIf(!fs.existsSync("/dev/full"))("when its output can't be written: exit code 1", async () => {
    await begunBefore();
    const full = fs.openSync("/dev/full", "w");
    const child = start(process.execPath, [CLI, "sandbox", "--json"], ["ignore", full, "pipe"]);
    fs.closeSync(full);
    let said = "";
    child.stderr!.on("data", (chunk) => (said += String(chunk)));
    expect(await codeOf(child)).toBe(1);
    // A process may have ended before all that it said is read.
    await expect.poll(() => said).toMatch(/^autograph: stdout can't be written \(.*ENOSPC.*\)$/m);
    expect(postmasterPid()).toBeUndefined();
  });

  const SIGNALS = scaled<NodeJS.Signals[]>({ whole: ["SIGINT", "SIGTERM", "SIGHUP"], part: ["SIGINT"] });

  // In the middle of its first start, which is long enough to be met also from a slow machine.
  test.each(SIGNALS)("when %s ends it", async (signal) => {
    const child = start(process.execPath, [CLI, "sandbox"]);
    await eventually(postmasterPid);
    await sleep(50);
    child.kill(signal);
    await codeOf(child);
    expect(child.signalCode).toBe(signal);
    await eventually(() => postmasterPid() === undefined, ENDED_WITHIN_MS);
  });
});
