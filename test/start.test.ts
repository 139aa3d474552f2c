/** `npm start` as it is: the launcher, the supervisor, the built server. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { instanceOf } from "../server/src/postgres/instance-lock.ts";
import { isAlive, readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { eventually, post } from "./client.ts";
import { freePort } from "./postgres.ts";
import { makeEnterable } from "./run-folder.ts";
import { copyFresh } from "./server-process.ts";

const RUN = path.join(import.meta.dirname, "../tools/run.js");
const STARTED_WITHIN_MS = 60_000;

let folder: string;
let url: string;
let child: ChildProcess;
let said: string;
/** As a first start leaves it, which takes a second of processor time. */
beforeEach(async () => {
  folder = makeEnterable(path.join(os.tmpdir(), "autograph-start-"));
  await copyFresh(folder);
});
afterEach(async () => {
  const server = instanceOf(folder)?.pid;
  if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  if (server !== undefined && isAlive(server)) process.kill(server, "SIGKILL");
  const postmaster = postmasterPid();
  if (postmaster !== undefined) await stopPostmaster(postmaster);
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const postmasterPid = (): number | undefined => readPidFile(path.join(folder, "postgres"))?.pid;

/** Created by the server when it starts, with a project of examples, unless people sign in. */
const OWNER = { ADMIN_EMAIL: "ada@example.org", ADMIN_PASSWORD: "correct horse" };

/** As npm does it below a terminal: in a process group of its own. */
async function start(owner: Record<string, string> = {}): Promise<number> {
  const port = String(await freePort());
  url = `http://127.0.0.1:${port}`;
  said = "";
  const env = { PATH: process.env["PATH"], npm_lifecycle_event: "start", PORT: port, DATA_DIR: folder, ...owner };
  child = spawn(process.execPath, [RUN, "start"], {
    env,
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (said += String(chunk)));
  return serving();
}

/** The server's own number, when it is ready. */
async function serving(before?: number): Promise<number> {
  return eventually(async () => {
    const ready = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    const pid = instanceOf(folder)?.pid;
    return ready && pid !== before ? pid : undefined;
  }, STARTED_WITHIN_MS);
}

const ended = async (): Promise<number | NodeJS.Signals | null> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode ?? child.signalCode;
};

const LOGIN = 'mutation { login(email: "ada@example.org", password: "correct horse") { accessToken } }';
const WAITING = `document: {dsl: '1.0.3', namespace: demo, name: waiting, version: '1.0.0'}
do: [{rest: {wait: {seconds: 6}}}, {done: {set: {n: 1}}}]`;

test("a fatal error of the server: it is started again, and what was accepted goes on", async () => {
  const first = await start(OWNER);
  const token = (await post(`${url}/graphql`, LOGIN, {}, null)).data.login.accessToken as string;
  const ask = async (query: string, variables = {}) => (await post(`${url}/graphql`, query, variables, token)).data;
  const { projects } = await ask("{ projects { nodes { id } } }");
  const { publishAgent } = await ask("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    input: { projectId: projects.nodes[0].id, definition: WAITING },
  });
  const { runAgent } = await ask(`mutation { runAgent(input: {agentId: "${publishAgent.id}"}) { id } }`);
  process.kill(first, "SIGABRT");
  const second = await serving(first);
  expect(said).toContain("autograph: the server ended with 134 and is started again in 1 s\n");
  expect(isAlive(first)).toBe(false);
  const status = async () => (await ask(`{ run(id: "${runAgent.id}") { status } }`)).run.status;
  await eventually(async () => (await status()) === "completed");
  expect(instanceOf(folder)!.pid).toBe(second);
  child.kill("SIGTERM");
  expect(await ended()).toBe(0);
  expect(postmasterPid()).toBeUndefined();
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s of the whole group, with nobody left to read what it says: it stops with its PostgreSQL",
  async (signal) => {
    const server = await start();
    const postmaster = postmasterPid()!;
    child.stdout!.destroy();
    child.stderr!.destroy();
    process.kill(-child.pid!, signal);
    expect(await ended()).toBe(0);
    expect([server, postmaster].map(isAlive)).toEqual([false, false]);
  },
);

test("kill -9 of the supervisor: the server stops by itself, with its PostgreSQL", async () => {
  const server = await start();
  expect(server).not.toBe(child.pid);
  const postmaster = postmasterPid()!;
  child.kill("SIGKILL");
  await eventually(() => !isAlive(server), STARTED_WITHIN_MS);
  expect(isAlive(postmaster)).toBe(false);
});
