import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { realClock } from "../lib/clock.ts";
import { createLog } from "../lib/log/log.ts";
import { copyFresh } from "../../../test/server-process.ts";
import { eventually } from "../postgres/launcher.testsuite.ts";
import { attachStorage, openStorage, type Storage, type StorageOptions } from "./open-storage.ts";

const log = createLog("silent");
const MIB = 1024 * 1024;
let base: string;
let dataFolder: string;

const open = (more: Partial<StorageOptions> = {}): Promise<Storage> =>
  openStorage({ dataFolder, url: "http://127.0.0.1:4400/", clock: realClock, log, ...more });

beforeEach(() => {
  base = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), "autograph-storage-"));
  fs.chmodSync(base, 0o755);
  dataFolder = path.join(base, "data");
});
afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

test("a second one on the folder is refused with the first's address", async () => {
  await copyFresh(dataFolder);
  await using storage = await open();
  await expect(open()).rejects.toMatchObject({
    name: "OperatorError",
    message: `already running at http://127.0.0.1:4400/ (${process.pid})`,
  });
  expect(await storage.database.query("select 1 as one")).toEqual([{ one: 1 }]);
});

test("the private PostgreSQL is ready for runs; closed, it lets the folder go, and is as ready when it is opened again at once", async () => {
  for (let round = 0; round < 2; round++) {
    {
      await using storage = await open();
      expect(storage.database.isEmbedded).toBe(true);
      expect(storage.dataFolder).toBe(dataFolder);
      expect(storage.database.months.has(new Date().toISOString().slice(0, 7).replace("-", "_"))).toBe(true);
      expect(await storage.database.query("select * from runs")).toEqual([]);
      expect(storage.space.hasSpace()).toBe(true);
    }
    // Below a folder that only root can read, PostgreSQL itself is copied there too.
    const names = fs.readdirSync(dataFolder).filter((name) => !name.startsWith("native-"));
    expect(names.toSorted()).toEqual(["instance.lock", "pg_hba.conf", "postgres", "postgres.log", "postgres.password"]);
  }
});

test("the command line attaches to a running server's database, and to none when none runs", async () => {
  expect(await attachStorage({ dataFolder, log })).toBeUndefined();
  await copyFresh(dataFolder);
  expect(await attachStorage({ dataFolder, log })).toBeUndefined();
  {
    await using storage = await open();
    await storage.database.query("insert into settings values ('from', '\"server\"')");
    const attached = await attachStorage({ dataFolder, log });
    await using database = attached!.database;
    expect(await database.query("select value from settings where name = 'from'")).toEqual([{ value: "server" }]);
    expect(database.months).toEqual(storage.database.months);
  }
  expect(await attachStorage({ dataFolder, log })).toBeUndefined();
});

test("a data folder of a version before the first release is refused with what to do, and stays as it is", async () => {
  await copyFresh(dataFolder);
  {
    await using storage = await open();
    await storage.database.query("alter table autograph_migrations rename to kysely_migration");
  }
  for (let time = 0; time < 2; time++) {
    await expect(open()).rejects.toMatchObject({
      name: "OperatorError",
      message: expect.stringMatching(
        /^This data is of a version before the first release.*new data folder \(DATA_DIR\)/,
      ),
    });
  }
});

test("too little space by the reading: refused from the start, taken back when there is", async () => {
  await copyFresh(dataFolder);
  let free = 10 * MIB;
  await using storage = await open({ space: { readFreeBytes: async () => free, everyMs: 20, ballastBytes: 0 } });
  expect(storage.space.hasSpace()).toBe(false);
  expect(await storage.database.query("select 1 as one")).toEqual([{ one: 1 }]);
  free = 1_000 * MIB;
  await expect.poll(() => storage.space.hasSpace()).toBe(true);
});

/** True where this user may mount: root outside most containers. */
function mayMount(): boolean {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    fs.rmdirSync(folder);
  }
}

describe.runIf(mayMount())("on a real disk of 256 MiB", () => {
  const space = { lowBytes: 64 * MIB, criticalBytes: 24 * MIB, ballastBytes: 16 * MIB, everyMs: 20, ballastAfterMs: 0 };
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await sleep(10);
  };

  beforeEach(async () => {
    fs.mkdirSync(dataFolder);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256m,mode=0755", "tmpfs", dataFolder]);
    await copyFresh(dataFolder);
  });
  afterEach(() => execFileSync("umount", [dataFolder]));

  const filler = (): string => path.join(dataFolder, "filler");
  const ballast = (): string => path.join(dataFolder, "ballast");
  /** Fills the disk until this many bytes are free. */
  function leaveFree(bytes: number): void {
    const { bavail, bsize } = fs.statfsSync(dataFolder);
    try {
      fs.appendFileSync(filler(), Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
    } catch (error) {
      // PostgreSQL has taken some of the rest meanwhile: then it is full, too.
      if (bytes > 0 || (error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }

  test("new runs are refused while PostgreSQL still works; the ballast is given up; all is well when space is back", async () => {
    await using storage = await open({ space });
    await until(() => fs.existsSync(ballast()) && fs.statSync(ballast()).size === space.ballastBytes);
    expect(storage.space.hasSpace()).toBe(true);

    leaveFree(space.lowBytes - MIB);
    await until(() => !storage.space.hasSpace());
    await storage.database.query("create table written as select generate_series(1, 10000) as value");
    expect(fs.existsSync(ballast())).toBe(true);

    leaveFree(space.criticalBytes - MIB);
    await until(() => !fs.existsSync(ballast()));
    await storage.database.query("insert into written select generate_series(1, 10000)");
    expect(storage.space.hasSpace()).toBe(false);

    fs.rmSync(filler());
    await until(() => storage.space.hasSpace() && fs.existsSync(ballast()));
    expect(await storage.database.query("select count(*) as count from written")).toEqual([{ count: 20_000 }]);
  });

  test("a disk that is full to the last byte stops a write, not the server; and what was committed is there afterwards", async () => {
    await using storage = await open({ space });
    await storage.database.query("create table written as select generate_series(1, 10000) as value");
    await until(() => fs.existsSync(ballast()) && fs.statSync(ballast()).size === space.ballastBytes);
    leaveFree(0);
    await until(() => !storage.space.hasSpace() && !fs.existsSync(ballast()));
    leaveFree(0);
    const failed = await storage.database
      .query("create table large as select repeat('x', 1000) as value from generate_series(1, 100000)")
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    fs.rmSync(filler());
    await until(() => storage.space.hasSpace());
    expect(await eventually(() => storage.database.query("select count(*) as count from written"))).toEqual([
      { count: 10_000 },
    ]);
  });

  test("a start on a full disk gives the ballast up and comes up, refusing new runs", async () => {
    {
      await using storage = await open({ space });
      await until(() => fs.existsSync(ballast()) && fs.statSync(ballast()).size === space.ballastBytes);
      expect(storage.space.hasSpace()).toBe(true);
    }
    leaveFree(0);
    await using storage = await open({ space });
    expect(storage.space.hasSpace()).toBe(false);
    expect(fs.existsSync(ballast())).toBe(false);
    expect(await storage.database.query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});
