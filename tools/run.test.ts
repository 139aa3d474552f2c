/** run.js in a checkout of its own: one workspace, no packages from elsewhere, so that npm needs no network. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeEach, describe, expect, test } from "vitest";

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
const run = (...args: string[]): Promise<Ran> => runWith({}, ...args);
const runWith = (env: Record<string, string>, ...args: string[]): Promise<Ran> =>
  promisify(execFile)(process.execPath, [join(folder, "tools", "run.js"), ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr }),
  );
const print = (): Promise<Ran> => run("exec", "node", "-p", "6 * 7");

test("installs by itself, says so on stderr, and then no more", async () => {
  const first = await print();
  expect(first).toMatchObject({ code: 0, stdout: "42\n" });
  expect(first.stderr).toMatch(/^autograph: installing 1 package \(1 of 1\) …\n/);
  expect(existsSync(join(folder, "node_modules", "part"))).toBe(true);
  utimesSync(join(folder, "package-lock.json"), new Date(), new Date()); // as git checkout does
  expect(await print()).toEqual({ code: 0, stdout: "42\n", stderr: "" });
  expect((await run("exec", "node", "-e", "process.exit(7)")).code, "exec passes the exit code on").toBe(7);
  expect((await run("exec", "sh", "-c", "exit 9")).code).toBe(9);
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

describe("packages for tests come later", () => {
  const later = { name: "later", version: "1.0.0" };
  const all = { ...root, workspaces: ["part", "tools/tests"] };
  beforeEach(() => {
    write("package.json", { ...all, type: "module" });
    mkdirSync(join(folder, "tools/tests"), { recursive: true });
    write("tools/tests/package.json", later);
    write("package-lock.json", {
      ...all,
      lockfileVersion: 3,
      packages: {
        "": all,
        "node_modules/part": { resolved: "part", link: true },
        "node_modules/later": { resolved: "tools/tests", link: true },
        part,
        "tools/tests": later,
      },
    });
  });
  const isThere = (name: string): boolean => existsSync(join(folder, "node_modules", name));

  test("what runs the product leaves them out, and they are added to what is there", async () => {
    await run("build"); // there is nothing to build
    expect([isThere("part"), isThere("later")]).toEqual([true, false]);
    write("node_modules/kept", "");
    expect((await print()).stderr).toMatch(/^autograph: installing 1 package \(1 of 1\) …\n/);
    expect([isThere("part"), isThere("later"), isThere("kept")]).toEqual([true, true, true]);
  });

  test("both at once: one after the other, and both find what they need", async () => {
    const [, printed] = await Promise.all([run("build"), print()]);
    expect(printed.stdout).toBe("42\n");
    expect([isThere("part"), isThere("later")]).toEqual([true, true]);
  });
});

describe("a port that is taken", () => {
  const taken = async (): Promise<{ port: number } & AsyncDisposable> => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return { port, [Symbol.asyncDispose]: async () => void (await new Promise((resolve) => server.close(resolve))) };
  };
  const refusal = (port: number): string =>
    `autograph: port ${port} of 127.0.0.1 is in use: stop what listens there, or set PORT to another (0 takes a free one)\n`;

  test("ends a start before anything is installed, in one line", async () => {
    await using other = await taken();
    const told = await runWith({ PORT: String(other.port) }, "start");
    expect(told).toEqual({ code: 1, stdout: "", stderr: refusal(other.port) });
    expect(existsSync(join(folder, "node_modules"))).toBe(false);
  });

  test("is read from .env too, and the environment counts more", async () => {
    await using other = await taken();
    writeFileSync(join(folder, ".env"), `PORT=${other.port}\n`);
    expect((await runWith({}, "start")).stderr).toBe(refusal(other.port));
    expect((await runWith({ PORT: "0" }, "start")).stderr).toMatch(/^autograph: installing 1 package \(1 of 3\) …\n/);
  });

  test("is of no concern to help", async () => {
    await using other = await taken();
    expect((await runWith({ PORT: String(other.port) }, "cli", "start", "--help")).stderr).toMatch(
      /^autograph: installing/,
    );
  });
});

test("an unknown command names those that there are", async () => {
  const { code, stderr } = await run("strat");
  expect(code).toBe(1);
  expect(stderr).toMatch(/^autograph: no command "strat"; there are start, .*bench/);
});
