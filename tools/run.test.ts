/** run.js in a checkout of its own: one workspace, no packages from elsewhere, so that npm needs no network. */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "autograph-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, content: unknown): void => writeFileSync(join(folder, name), JSON.stringify(content));
const part = { name: "part", version: "1.0.0" };
const root = { name: "root", version: "1.0.0", workspaces: ["part"] };

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "part"), { recursive: true });
  cpSync(import.meta.dirname, join(folder, "tools"), { recursive: true });
  write("package.json", { ...root, type: "module" });
  write("part/package.json", part);
  write("package-lock.json", {
    ...root,
    lockfileVersion: 3,
    packages: { "": root, "node_modules/part": { resolved: "part", link: true }, part },
  });
});

type Ran = { code: number; stdout: string; stderr: string };
const run = (...args: string[]): Promise<Ran> =>
  promisify(execFile)(process.execPath, [join(folder, "tools", "run.js"), ...args]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr }),
  );
const print = (): Promise<Ran> => run("exec", "node", "-p", "6 * 7");

test("installs by itself, says so on stderr, and then no more", async () => {
  const first = await print();
  expect(first).toMatchObject({ code: 0, stdout: "42\n" });
  expect(first.stderr).toMatch(/^autograph: installing the packages of package-lock\.json \(npm ci\)/);
  expect(existsSync(join(folder, "node_modules", "part"))).toBe(true);
  utimesSync(join(folder, "package-lock.json"), new Date(), new Date()); // as git checkout does
  expect(await print()).toEqual({ code: 0, stdout: "42\n", stderr: "" });
});

test("of three at once one installs and the others wait for it", async () => {
  const all = await Promise.all([print(), print(), print()]);
  expect(all.map(({ stdout }) => stdout)).toEqual(["42\n", "42\n", "42\n"]);
  expect(all.filter(({ stderr }) => stderr.includes("installing"))).toHaveLength(1);
});

test("a lock that npm refuses is one line and exit code 1", async () => {
  write("package-lock.json", { ...root, lockfileVersion: 3, packages: { "": root } });
  const { code, stderr } = await print();
  expect(code).toBe(1);
  expect(stderr.trim().split("\n").at(-1)).toBe("autograph: npm ci failed (exit code 1); what it says stands above");
});

test("an unknown command names those that there are", async () => {
  const { code, stderr } = await run("strat");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^autograph: no command "strat"; there are start, .*bench/);
});

test("exec passes the exit code on", async () => {
  expect((await run("exec", "node", "-e", "process.exit(7)")).code).toBe(7);
  expect((await run("exec", "sh", "-c", "exit 9")).code).toBe(9);
});
