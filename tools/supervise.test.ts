/** The supervisor that stands before the server for `npm start`, with programs in the server's place. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

const SUPERVISE = join(import.meta.dirname, "supervise.sh");

let folder: string;
const children: ChildProcess[] = [];
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "autograph-supervise-"))));
afterEach(() => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const lines = (name: string): string[] => {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
};

/** A shell script as the server. Each of its starts and its arguments are noted. `sleep` takes no time, and is noted. */
function supervise(script: string, { parent = 0, sleeps = "" }: { parent?: number; sleeps?: string } = {}) {
  const program = join(folder, "server");
  writeFileSync(program, `#!/bin/sh\necho "$$ $*" >> ${folder}/starts\n${script}\n`);
  writeFileSync(join(folder, "sleep"), `#!/bin/sh\necho "$1" >> ${folder}/sleeps\n${sleeps}\n`);
  for (const name of ["server", "sleep"]) chmodSync(join(folder, name), 0o755);
  const child = spawn("/bin/sh", [SUPERVISE, String(parent), program, "main.js", "--json"], {
    env: { PATH: `${folder}:${process.env["PATH"]}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  let said = "";
  child.stderr.on("data", (chunk) => (said += String(chunk)));
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  return { child, ended, said: () => said };
}

test.each([0, 1, 7, 69, 71, 127])("the exit code %i is passed on, and nothing is started again", async (code) => {
  expect(await supervise(`exit ${code}`).ended).toBe(code);
  expect(lines("starts")).toHaveLength(1);
});

/** A shell below a shell can't hear SIGINT, a Node can. */
const node = (script: string): string => `exec "${process.execPath}" -e '${script.replaceAll("\n", " ")}'`;

test.each(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const)("so is the end by %s", async (signal) => {
  expect(await supervise(node(`process.kill(process.pid, "${signal}"); setInterval(() => {}, 1000);`)).ended).toBe(
    signal,
  );
  expect(lines("starts")).toHaveLength(1);
});

test("the server gets its parent's and its grandparent's pid", async () => {
  const { child, ended } = supervise("exit 0", { parent: 4711 });
  await ended;
  expect(lines("starts")[0]).toMatch(new RegExp(`^\\d+ main.js --json --parent=${child.pid} --parent=4711$`));
  rmSync(join(folder, "starts"));
  const alone = supervise("exit 0");
  await alone.ended;
  expect(lines("starts")[0]).toMatch(new RegExp(`^\\d+ main.js --json --parent=${alone.child.pid}$`));
});

/** Notes what it hears; ends at the second signal, or at the first. */
const hearing = (most: number): string =>
  node(`const { appendFileSync } = require("fs"); const codes = { SIGTERM: 12, SIGINT: 13, SIGHUP: 14 }; let heard = 0;
    for (const name of Object.keys(codes)) process.on(name, () => {
      appendFileSync("${folder}/heard", name + "\\n");
      if (++heard === ${most}) process.exit(codes[name]);
    });
    appendFileSync("${folder}/ready", "1"); setInterval(() => {}, 1000);`);

const isReady = async (): Promise<void> => {
  for (let waited = 0; !existsSync(join(folder, "ready")) && waited < 1_000; waited++) await sleep(10);
};

test.each([
  ["SIGTERM", 12],
  ["SIGINT", 13],
  ["SIGHUP", 14],
] as const)("%s goes on to the server, once, and its exit code comes back", async (signal, code) => {
  const { child, ended } = supervise(hearing(1));
  await isReady();
  child.kill(signal);
  expect(await ended).toBe(code);
  expect(lines("heard")).toEqual([signal]);
});

test("two signals go on one after the other while the server takes its time to end", async () => {
  const { child, ended } = supervise(hearing(2));
  await isReady();
  child.kill("SIGTERM");
  for (let waited = 0; lines("heard").length === 0 && waited < 500; waited++) await sleep(10);
  child.kill("SIGINT");
  expect(await ended).toBe(13);
  expect(lines("heard")).toEqual(["SIGTERM", "SIGINT"]);
});

test.each([
  ["the watchdog's exit", "exit 70", 70],
  ["a fatal error", "kill -ABRT $$; sleep 10", 134],
])("%s starts it again five times in ten minutes, after growing pauses", async (_, script, code) => {
  const { ended, said } = supervise(script);
  expect(await ended).toBe(code);
  expect(lines("starts")).toHaveLength(6);
  expect(lines("sleeps").filter((line) => line !== "10")).toEqual(["1", "2", "4", "8", "16"]);
  expect(
    said().match(new RegExp(`autograph: the server ended with ${code} and is started again in`, "g")),
  ).toHaveLength(5);
  expect(said()).toContain(`ended with ${code} for the sixth time in 10 minutes and is not started again`);
});

test("what was started again ends as it likes", async () => {
  expect(await supervise(`[ "$(wc -l < ${folder}/starts)" -gt 2 ] && exit 9; exit 70`).ended).toBe(9);
  expect(lines("starts")).toHaveLength(3);
});

test("restarts that are ten minutes old count no more", async () => {
  writeFileSync(join(folder, "date"), `#!/bin/sh\nwc -l < ${folder}/starts | awk '{ print 1000000 + $1 * 150 }'\n`);
  chmodSync(join(folder, "date"), 0o755);
  expect(await supervise(`[ "$(wc -l < ${folder}/starts)" -ge 12 ] && exit 0; exit 70`).ended).toBe(0);
  expect(lines("sleeps").slice(0, 6)).toEqual(["1", "2", "4", "8", "8", "8"]);
});

test("one that was told to stop is not started again, whatever it ends with", async () => {
  const { child, ended } = supervise(`trap 'exit 70' TERM; echo >> ${folder}/ready; while :; do /bin/sleep 0.05; done`);
  await isReady();
  child.kill("SIGTERM");
  expect(await ended).toBe(70);
  expect(lines("starts")).toHaveLength(1);
});

test("a signal in the pause ends the pause, and nothing is started again", async () => {
  const { child, ended } = supervise("exit 70", { sleeps: "exec /bin/sleep 30" });
  for (let waited = 0; lines("sleeps").length === 0 && waited < 500; waited++) await sleep(10);
  child.kill("SIGTERM");
  expect(await ended).toBe("SIGTERM");
  expect(lines("starts")).toHaveLength(1);
});

test("that nobody reads what it says is nothing", async () => {
  const { child, ended } = supervise("exit 70");
  child.stderr.destroy();
  expect(await ended).toBe(70);
  expect(lines("starts")).toHaveLength(6);
});
