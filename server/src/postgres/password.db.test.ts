import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prepareBinaries } from "./binaries.ts";
import type { Ready } from "./embedded.testsuite.ts";
import { Launcher, query, readyOf, stop, until } from "./launcher.testsuite.ts";
import { passwordPath, readPassword } from "./postgres-password.ts";
import { postgresArguments } from "./postgres-settings.ts";
import { isAlive, readPidFile } from "./postmaster.ts";
import { isRoot, userCanEnter } from "./system-user.ts";

let launcher: Launcher;
beforeEach(() => {
  launcher = new Launcher();
});
afterEach(() => launcher.cleanUp());

type SignIn = { user?: string; password?: string };

/** Why PostgreSQL refuses to let us in; undefined if it doesn't. */
async function refusal({ socketFolder }: Pick<Ready, "socketFolder">, { user = "autograph", password }: SignIn = {}) {
  const client = new pg.Client({
    host: socketFolder,
    port: 5432,
    user,
    password: password ?? "",
    database: "postgres",
  });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function expectClosed(ready: Ready): Promise<void> {
  const password = readPassword(ready.dataFolder)!;
  expect(await refusal(ready)).toMatch(/password/);
  expect(await refusal(ready, { password: password.toLowerCase() })).toMatch(/password authentication failed/);
  for (const user of ["postgres", "root", "nobody"]) {
    expect(await refusal(ready, { user, password })).toMatch(/no pg_hba.conf entry|rejects/);
  }
  expect(await refusal(ready, { password })).toBeUndefined();
}

/** Turns a stopped folder into one that an older program left, without passwords. Returns its PostgreSQL. */
async function leaveAsBefore(ready: Ready, isRunning: boolean): Promise<number | undefined> {
  const cluster = path.join(ready.dataFolder, "postgres");
  fs.rmSync(passwordPath(ready.dataFolder));
  fs.rmSync(path.join(ready.dataFolder, "pg_hba.conf"));
  fs.writeFileSync(path.join(cluster, "pg_hba.conf"), "local all all trust\n");
  if (!isRunning) return undefined;
  const { uid, gid } = fs.statSync(cluster);
  const socketFolder = fs.mkdtempSync(path.join(launcher.base, "autograph-"));
  fs.chownSync(socketFolder, uid, gid);
  const args = postgresArguments({ cluster, folder: ready.dataFolder }, socketFolder).filter(
    (argument, index, all) => !argument.startsWith("hba_file=") && !all[index + 1]?.startsWith("hba_file="),
  );
  const { postgres } = prepareBinaries(ready.dataFolder, isRoot() ? { uid, gid, name: "" } : undefined);
  const as = isRoot() ? { uid, gid } : {};
  const child = spawn(postgres, args, { ...as, cwd: cluster, stdio: "ignore", detached: true, env: { LC_ALL: "C" } });
  await until(() => readPidFile(cluster)?.status === "ready");
  expect(await refusal({ socketFolder }, { user: "postgres" })).toBeUndefined();
  return child.pid;
}

test("nobody signs in without the password, not even as PostgreSQL's superuser, and only we can read it", async () => {
  await launcher.fill();
  const ready = await readyOf(launcher.start());
  await expectClosed(ready);
  const stat = fs.statSync(passwordPath(ready.dataFolder));
  expect([stat.uid, stat.mode & 0o777]).toEqual([process.getuid!(), 0o600]);
  expect(fs.readFileSync(path.join(launcher.dataFolder, "postgres.log"), "utf8")).not.toContain(
    readPassword(ready.dataFolder),
  );
});

test.each([false, true])(
  "data of a program without passwords gets one at the next start (its PostgreSQL runs: %s)",
  async (isRunning) => {
    await launcher.fill();
    const first = launcher.start();
    const before = await readyOf(first);
    await query(before, "create table kept as select 1 as value");
    await stop(first);
    const orphan = await leaveAsBefore(before, isRunning);
    const after = await readyOf(launcher.start());
    if (orphan !== undefined) expect(isAlive(orphan)).toBe(false);
    await expectClosed(after);
    expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
  },
);

test("the password stays over restarts and an adoption, and is replaced when its file is lost", async () => {
  await launcher.fill();
  const first = launcher.start();
  const password = readPassword((await readyOf(first)).dataFolder);
  await stop(first, "SIGKILL");
  const second = launcher.start();
  expect(readPassword((await readyOf(second)).dataFolder)).toBe(password);
  await stop(second);
  fs.rmSync(passwordPath(launcher.dataFolder));
  const third = await readyOf(launcher.start());
  expect(readPassword(third.dataFolder)).not.toBe(password);
  await expectClosed(third);
});

describe.runIf(isRoot())("as root", () => {
  test("a process of PostgreSQL's own user reaches the socket, and neither the password nor the database", async () => {
    await launcher.fill();
    const ready = await readyOf(launcher.start());
    const { uid, gid } = fs.statSync(ready.socketFolder);
    expect(userCanEnter({ uid, gid }, ready.socketFolder)).toBe(true);
    const asIt = (script: string, ...args: string[]) =>
      spawnSync("/bin/sh", ["-c", script, "sh", ...args], { uid, gid, cwd: "/", encoding: "utf8" });
    expect(asIt('cat "$1"', passwordPath(ready.dataFolder)).stderr).toMatch(/denied/);
    expect(asIt('echo "local all all trust" > "$1"', path.join(ready.dataFolder, "pg_hba.conf")).stderr).toMatch(
      /denied|create/i,
    );
    const outcome = await asUser(uid, gid, () => refusal(ready, { user: "postgres" }));
    expect(outcome).toMatch(/no pg_hba.conf entry/);
    expect(await asUser(uid, gid, () => refusal(ready))).toMatch(/password/);
  });

  test("without a user for it PostgreSQL runs as a number that nobody has, and finds its data again", async () => {
    const first = launcher.start({ systemUsers: [] });
    const ready = await readyOf(first);
    const uid = fs.statSync(`/proc/${ready.postgres}`).uid;
    expect(uid).toBeGreaterThanOrEqual(60_706);
    expect(uid).toBeLessThanOrEqual(61_183);
    // It runs, and may remove a file between the two looks.
    const owners = new Set(
      fs
        .readdirSync(path.join(ready.dataFolder, "postgres"), { recursive: true })
        .map((name) => fs.lstatSync(path.join(ready.dataFolder, "postgres", String(name)), { throwIfNoEntry: false }))
        .flatMap((stat) => stat?.uid ?? []),
    );
    expect([...owners]).toEqual([uid]);
    await query(ready, "create table kept as select 1 as value");
    await stop(first);
    const again = await readyOf(launcher.start());
    expect(fs.statSync(`/proc/${again.postgres}`).uid).toBe(uid);
    expect(await query(again, "select value from kept")).toEqual([{ value: 1 }]);
    await expectClosed(again);
  });

  test.each([[["postgres"]], [[]]])(
    "data of `nobody`'s is taken from it (users %j), also when its PostgreSQL runs",
    async (systemUsers) => {
      await launcher.fill();
      const first = launcher.start();
      const before = await readyOf(first);
      await query(before, "create table kept as select 1 as value");
      await stop(first);
      const nobody = Number(spawnSync("id", ["-u", "nobody"], { encoding: "utf8" }).stdout);
      spawnSync("chown", ["-R", `${nobody}:${nobody}`, path.join(before.dataFolder, "postgres")]);
      const orphan = await leaveAsBefore(before, true);
      const after = await readyOf(launcher.start({ systemUsers }));
      expect(isAlive(orphan!)).toBe(false);
      expect(fs.statSync(`/proc/${after.postgres}`).uid).not.toBe(nobody);
      expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
      await expectClosed(after);
    },
  );
});

/** PostgreSQL identifies clients only by password; other processes of its user can at most use the socket. */
async function asUser<Result>(uid: number, gid: number, work: () => Promise<Result>): Promise<Result> {
  process.setegid!(gid);
  process.seteuid!(uid);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
  }
}
