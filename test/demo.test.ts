import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isAlive, readPidFile } from "../server/src/postgres/postmaster.ts";
import { bundled } from "./bundle.ts";
import { startProcess } from "./cli-process.ts";
import { cli, settingsOf } from "./command-line.ts";
import { eventually, startTestServer } from "./client.ts";
import { sharedServer } from "./shared-server.ts";

/** Nobody else's demo leaves anything there. */
let temporary: string;
beforeAll(() => {
  temporary = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
  // PostgreSQL's user passes through it when the test runs as root.
  chmodSync(temporary, 0o711);
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));
const folders = (): string[] => readdirSync(temporary).filter((name) => name.startsWith("autograph-demo-"));

const PARTS = [
  "▸ Sign in as ada-",
  "▸ List the agents",
  "  expense-approval",
  '▸ Run expense-approval with {"purpose":"Train to Lyon"',
  "paused",
  "asks: Pay 180 euros for Train to Lyon?",
  "approved: Have a good trip",
  "approval  completed",
  '"decision": "approved"',
  "▸ Run flaky-service",
  "(2 failed tries)",
  '"answer": 42',
  "▸ Run support-triage",
  '"queue": "desk"',
  "LLM_BASE_URL",
  "▸ Run ten-minute-wait",
  "cancelled in",
];

/** That `text` has `parts` in this order. */
function expectInOrder(text: string, parts: string[]): void {
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    expect(at, `${part} in ${text.slice(from)}`).toBeGreaterThanOrEqual(0);
    from = at + part.length;
  }
}

test("plays the main job on a server of its own, and leaves nothing behind", async () => {
  const { code, stdout, stderr } = await startProcess(["demo", "--pause", "0.1", "--own"], {
    env: { TMPDIR: temporary },
  }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expectInOrder(stdout, PARTS);
  expect(stdout).not.toContain("\u001b");
  expect(folders()).toEqual([]);
});

test("plays it on the running server, in an organization of its own", async () => {
  await using server = await sharedServer();
  const { code, stdout, stderr } = await cli(["demo", "--pause", "0"], { env: settingsOf(server) });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(`Autograph at ${server.url}\n`);
  expectInOrder(stdout, PARTS);
  expect((await server.data("{ agents { id } }")).agents).toEqual([]);
});

test("with --json each thing that happened is a line", async () => {
  await using server = await sharedServer();
  const { stdout } = await cli(["demo", "--pause", "0", "--json"], { env: settingsOf(server) });
  const names = stdout
    .trim()
    .split("\n")
    .map((line) => String(Object.keys(JSON.parse(line))[0]));
  expect([...new Set(names)].toSorted()).toEqual(["agents", "approved", "cancelled", "event", "signedIn", "started"]);
});

test("leaves a server alone that waits for its first owner; ended by a signal it takes its own server along", async () => {
  await using server = await startTestServer({ fresh: true });
  const playing = startProcess(["demo", "--pause", "30"], { env: { ...settingsOf(server), TMPDIR: temporary } });
  await eventually(() => playing.stdout.includes("Sign in"));
  expect(playing.stdout).toMatch(/^Starting a server in a temporary folder …\nAutograph at http/);
  expect(playing.stdout).not.toContain(server.url);
  expect(folders()).toHaveLength(1);
  playing.kill("SIGTERM");
  await playing.ended;
  expect(folders()).toEqual([]);
});

test("killed with -9, its server and PostgreSQL end by themselves", async () => {
  const main = bundled("cli/main");
  const child = spawn(process.execPath, [main, "demo", "--own", "--pause", "30"], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let stdout = "";
  child.stdout.on("data", (text) => (stdout += String(text)));
  await eventually(() => stdout.includes("Autograph at "));
  const folder = path.join(temporary, folders()[0]!);
  const { pid } = JSON.parse(readFileSync(path.join(folder, "instance.json"), "utf8"));
  const postmaster = readPidFile(path.join(folder, "postgres"))!;
  child.kill("SIGKILL");
  await once(child, "exit");
  await eventually(() => !isAlive(pid) && !isAlive(postmaster.pid));
  // Nobody is left to remove it.
  rmSync(folder, { recursive: true });
});

test("a pause that is none is one line", async () => {
  expect(await cli(["demo", "--pause", "long"])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^autograph: --pause .+\n$/),
  });
});
