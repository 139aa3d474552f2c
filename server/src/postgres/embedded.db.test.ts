import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { socketConnection } from "./embedded.ts";
import { eventually, Launcher, query, readyOf, SERVER_URL, stop, until } from "./launcher.testsuite.ts";
import { readPassword } from "./postgres-password.ts";
import { isAlive, readPidFile } from "./postmaster.ts";
import { scaled } from "../../../test/scale.ts";

let launcher: Launcher;
beforeEach(() => {
  launcher = new Launcher();
});
afterEach(() => launcher.cleanUp());

/** The postmaster and everything it forked. */
function postgresProcesses(postmaster: number): number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pids = lines.map((line) => line.trim().split(/\s+/).map(Number));
  return [postmaster, ...pids.filter(([, parent]) => parent === postmaster).map(([pid]) => pid!)];
}

/** Those that read nothing from a disk. */
function pageFaultsOf(pid: number): number {
  const text = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[7]);
}

/** Its own, in MB. */
const memoryOf = (pid: number): number =>
  Number(/^RssAnon:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;

describe("start and stop", () => {
  test("first start, then a restart that finds what was written", async () => {
    const first = launcher.start();
    const before = await readyOf(first);
    await query(before, "create table kept as select 1 as value");
    await stop(first);
    const after = await readyOf(launcher.start());
    expect(after.postgres).not.toBe(before.postgres);
    expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
  });

  test("no TCP port, a private socket, durable commits, a locale that no system library changes, no superuser", async () => {
    await launcher.fill();
    const ready = await readyOf(launcher.start());
    const [row] = await query(
      ready,
      `select current_setting('listen_addresses') as tcp, current_setting('fsync') as fsync,
              current_setting('synchronous_commit') as commits, current_setting('full_page_writes') as pages,
              current_setting('shared_buffers') as buffers, datlocprovider as provider, rolsuper as super
         from pg_database, pg_roles where datname = current_database() and rolname = current_user`,
    );
    expect(row).toEqual({
      tcp: "",
      fsync: "on",
      commits: "on",
      pages: "on",
      buffers: "64MB",
      provider: "b",
      super: false,
    });
    expect(fs.statSync(ready.socketFolder).mode & 0o777).toBe(0o700);
    expect(fs.statSync(path.join(launcher.dataFolder, "postgres")).mode & 0o777).toBe(0o700);
  });

  test("a backend keeps a statement's memory for the next one, and gives a huge one's back", async () => {
    await launcher.fill();
    const ready = await readyOf(launcher.start());
    const environment = fs.readFileSync(`/proc/${ready.postgres}/environ`, "utf8").split("\0");
    expect(environment).toEqual(
      expect.arrayContaining([
        "MALLOC_TRIM_THRESHOLD_=16777216",
        "MALLOC_MMAP_THRESHOLD_=33554432",
        "MALLOC_TOP_PAD_=1048576",
      ]),
    );
    const client = new pg.Client(socketConnection(ready.socketFolder, readPassword(ready.dataFolder)!));
    await client.connect();
    try {
      const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
      const backend = rows[0]!.pid;
      /** About 100 bytes for each text. */
      const hold = async (texts: number, times: number): Promise<void> => {
        const text = "select array_agg(md5(number::text)) is null from generate_series(1, $1::int) number";
        for (let time = 0; time < times; time++) await client.query({ name: "hold", text, values: [texts] });
      };
      await hold(10_000, 10);
      const faultsBefore = pageFaultsOf(backend);
      await hold(10_000, 20);
      // It was 0, and 1,880 without the settings.
      expect(pageFaultsOf(backend) - faultsBefore).toBeLessThan(200);
      const before = memoryOf(backend);
      await hold(400_000, 1);
      // It was 5, and 45 with a threshold of 64 MB.
      expect(memoryOf(backend) - before).toBeLessThan(16);
    } finally {
      await client.end();
    }
  });

  test.each(["SIGTERM", "SIGINT"] as const)("%s leaves no process, no socket and a clean cluster", async (signal) => {
    await launcher.fill();
    const one = launcher.start();
    const ready = await readyOf(one);
    const processes = postgresProcesses(ready.postgres);
    expect(processes.length).toBeGreaterThan(2);
    await stop(one, signal);
    expect(one.child.exitCode).toBe(0);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(fs.existsSync(ready.socketFolder)).toBe(false);
    expect(fs.existsSync(path.join(launcher.dataFolder, "postgres", "postmaster.pid"))).toBe(false);
    expect(fs.readFileSync(path.join(launcher.dataFolder, "postgres.log"), "utf8")).toContain(
      "database system is shut down",
    );
  });

  test("a first start that was cut off leaves nothing that is taken for a cluster", async () => {
    const cut = launcher.start();
    await until(
      () =>
        fs.existsSync(launcher.dataFolder) &&
        fs.readdirSync(launcher.dataFolder).some((name) => name.startsWith("postgres.draft-")),
    );
    await stop(cut, "SIGKILL");
    const ready = await readyOf(launcher.start());
    expect(await query(ready, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(fs.readdirSync(launcher.dataFolder).filter((name) => name.includes("draft"))).toEqual([]);
  });

  test("a path too long for a socket is none", async () => {
    launcher.dataFolder = path.join(launcher.base, "d".repeat(100), "e".repeat(100));
    fs.mkdirSync(path.dirname(launcher.dataFolder));
    await launcher.fill();
    const temporary = path.join(launcher.base, "t".repeat(100));
    fs.mkdirSync(temporary, { mode: 0o777 });
    const one = launcher.start({ env: { TMPDIR: temporary } });
    const ready = await readyOf(one);
    expect(ready.socketFolder).toMatch(/^\/tmp\/autograph-/);
    await stop(one);
    expect(fs.existsSync(ready.socketFolder)).toBe(false);
  });
});

const STARTS = scaled({ whole: 20, part: 8 });

describe("one serving process", () => {
  test(`of ${STARTS} starts at once on a fresh folder one serves, the others say where it runs and exit 1`, async () => {
    const all = Array.from({ length: STARTS }, () => launcher.start());
    const ready = await Promise.all(all.map((one) => one.ready));
    const serving = ready.filter((one) => one !== undefined);
    expect(serving).toHaveLength(1);
    const others = all.filter((one) => one.child.pid !== serving[0]!.pid);
    expect(await Promise.all(others.map((one) => one.exited))).toEqual(others.map(() => 1));
    for (const other of others) expect(other.said()).toBe(`already running at ${SERVER_URL} (${serving[0]!.pid})\n`);
  });

  test(`of ${STARTS} starts at once after kill -9 one adopts, the others name it and not the dead one`, async () => {
    await launcher.fill();
    const dead = launcher.start();
    const before = await readyOf(dead);
    await stop(dead, "SIGKILL");
    const all = Array.from({ length: STARTS }, () => launcher.start());
    const ready = await Promise.all(all.map((one) => one.ready));
    const serving = ready.filter((one) => one !== undefined);
    expect(serving).toMatchObject([{ postgres: before.postgres }]);
    for (const other of all.filter((one) => one.child.pid !== serving[0]!.pid)) {
      expect(await other.exited).toBe(1);
      expect(other.said()).toBe(`already running at ${SERVER_URL} (${serving[0]!.pid})\n`);
    }
  });

  test("a stopped process (SIGSTOP) still has its folder", async () => {
    await launcher.fill();
    const one = launcher.start();
    const ready = await readyOf(one);
    one.child.kill("SIGSTOP");
    const second = launcher.start();
    expect(await second.exited).toBe(1);
    expect(second.said()).toBe(`already running at ${SERVER_URL} (${ready.pid})\n`);
    one.child.kill("SIGCONT");
  });
});

describe("after a kill", () => {
  beforeEach(() => launcher.fill());

  test("kill -9 of the server: PostgreSQL stays and the next start adopts it", async () => {
    const killed = launcher.start();
    const before = await readyOf(killed);
    await query(before, "create table kept as select 1 as value");
    await stop(killed, "SIGKILL");
    const next = launcher.start();
    const after = await readyOf(next);
    expect(after).toMatchObject({ postgres: before.postgres, socketFolder: before.socketFolder });
    expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
    await stop(next);
    expect(isAlive(before.postgres)).toBe(false);
  });

  test("kill -9 of the server and of PostgreSQL: the next start recovers what was committed", async () => {
    const killed = launcher.start();
    const before = await readyOf(killed);
    await query(before, "create table kept as select 1 as value");
    await stop(killed, "SIGKILL");
    process.kill(before.postgres, "SIGKILL");
    const after = await readyOf(launcher.start());
    expect(after.postgres).not.toBe(before.postgres);
    expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
    expect(fs.existsSync(before.socketFolder)).toBe(false);
  });

  test("kill -9 of PostgreSQL alone: the server starts it again on the same socket", async () => {
    const one = launcher.start();
    const before = await readyOf(one);
    await query(before, "create table kept as select 1 as value");
    process.kill(before.postgres, "SIGKILL");
    await until(
      () => ![undefined, before.postgres].includes(readPidFile(path.join(launcher.dataFolder, "postgres"))?.pid),
    );
    await until(() => readPidFile(path.join(launcher.dataFolder, "postgres"))?.status === "ready");
    expect(await query(before, "select value from kept")).toEqual([{ value: 1 }]);
    const { pid } = readPidFile(path.join(launcher.dataFolder, "postgres"))!;
    await stop(one);
    expect(isAlive(pid)).toBe(false);
  });

  test("kill -9 of one backend: PostgreSQL recovers by itself and keeps what was committed", async () => {
    const ready = await readyOf(launcher.start());
    await query(ready, "create table kept as select 1 as value");
    // One that is in use: that of the statement before may be ending by itself.
    const client = new pg.Client(socketConnection(ready.socketFolder, readPassword(ready.dataFolder)!));
    client.on("error", () => {});
    await client.connect();
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const backend = rows[0]!.pid;
    process.kill(backend, "SIGKILL");
    await until(() => !isAlive(backend));
    await until(() => postgresProcesses(ready.postgres).length > 4);
    expect(await eventually(() => query(ready, "select value from kept"))).toEqual([{ value: 1 }]);
    expect(isAlive(ready.postgres)).toBe(true);
  });

  test("a stale pid file whose number another process of the same user has got", async () => {
    const first = launcher.start();
    const before = await readyOf(first);
    const pidFile = path.join(launcher.dataFolder, "postgres", "postmaster.pid");
    const text = fs.readFileSync(pidFile, "utf8");
    const { uid, gid } = fs.statSync(pidFile);
    await stop(first);
    const bystander = spawn("sleep", ["60"], { uid, gid });
    try {
      fs.writeFileSync(pidFile, text.replace(String(before.postgres), String(bystander.pid)));
      fs.chownSync(pidFile, uid, gid);
      const after = await readyOf(launcher.start());
      expect(await query(after, "select 1 as one")).toEqual([{ one: 1 }]);
      expect(isAlive(bystander.pid!)).toBe(true);
    } finally {
      bystander.kill();
    }
  });

  test("a folder that was renamed meanwhile, or is reached by a link, is known again", async () => {
    const killed = launcher.start();
    const before = await readyOf(killed);
    await stop(killed, "SIGKILL");
    const renamed = path.join(launcher.base, "renamed");
    fs.renameSync(launcher.dataFolder, renamed);
    fs.symlinkSync(renamed, launcher.dataFolder);
    const after = await readyOf(launcher.start());
    expect(after.dataFolder).toBe(renamed);
    expect(await query(after, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(isAlive(before.postgres)).toBe(false);
  });

  test("a PostgreSQL that an older program set up otherwise is restarted", async () => {
    const killed = launcher.start();
    const before = await readyOf(killed);
    await stop(killed, "SIGKILL");
    const options = path.join(launcher.dataFolder, "postgres", "postmaster.opts");
    fs.writeFileSync(options, fs.readFileSync(options, "utf8").replace("shared_buffers=64MB", "shared_buffers=32MB"));
    const after = await readyOf(launcher.start());
    expect(after.postgres).not.toBe(before.postgres);
    expect(isAlive(before.postgres)).toBe(false);
  });
});
