/** The program as an operator starts and stops it: `node server/src/main.ts`. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { isAlive, readPidFile, stopPostmaster } from "../server/src/postgres/postmaster.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { bundled } from "./bundle.ts";
import { COMPILED } from "./compile-cache.ts";
import { eventually, post, type Data } from "./client.ts";
import { startDoor } from "./flood.ts";
import { titleOf } from "./faults/processes.ts";
import { freePort } from "./postgres.ts";
import { scaled } from "./scale.ts";
import { copyFresh } from "./server-process.ts";
import { startSink } from "./sink.ts";

const MAIN = bundled("main");

/** Says that this Node is another: whether the real one gets as far as our own line can't be tried here. */
const OLDER_NODE =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.9.0'}})";

const folders: string[] = [];
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
  for (const folder of folders.splice(0)) {
    const postmaster = readPidFile(path.join(folder, "postgres"));
    if (postmaster) await stopPostmaster(postmaster.pid);
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
});

function emptyFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "autograph-main-"));
  folders.push(folder);
  return folder;
}

/** As a first start leaves it, which takes a second of processor time. */
async function dataFolder(): Promise<string> {
  const folder = emptyFolder();
  await copyFresh(folder);
  return folder;
}

type Program = {
  pid: number;
  out(): string;
  err(): string;
  kill(signal: NodeJS.Signals): void;
  /** Exit code; null after a signal. */
  exited: Promise<number | null>;
  /** The URL of its last line. */
  ready(): Promise<string>;
};

function run(env: Record<string, string>, args: string[] = []): Program {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env["PATH"], PORT: "0", NODE_COMPILE_CACHE: COMPILED, ...env },
    cwd: os.tmpdir(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += String(chunk)));
  child.stderr.on("data", (chunk) => (err += String(chunk)));
  const exited = once(child, "close").then(([code]) => code as number | null);
  const url = (): string | undefined => /^ready at (\S+)\n$/m.exec(out)?.[1];
  return {
    pid: child.pid!,
    out: () => out,
    err: () => err,
    kill: (signal) => void child.kill(signal),
    exited,
    ready: async () => {
      await Promise.race([
        eventually(url),
        exited.then((code) => Promise.reject(new Error(`ended with ${code}: ${out} ${err}`))),
      ]);
      return url()!;
    },
  };
}

const definitionOf = (
  name: string,
  first: string,
  second: string,
): string => `document: {dsl: '1.0.3', namespace: demo, name: ${name}, version: '1.0.0'}
do:
  - first: {call: http, with: {method: post, endpoint: '${first}?run=1&step=1'}}
  - second: {call: http, with: {method: post, endpoint: '${second}?run=1&step=2'}}
`;

describe("starting", () => {
  test("tells version, URLs, data folder and the setup link, and `ready at` last; the link makes the owner, once; a signal that comes thrice is one", async () => {
    const DATA_DIR = await dataFolder();
    const first = run({ DATA_DIR });
    const url = await first.ready();
    const lines = first.out().trimEnd().split("\n");
    expect(lines[0]).toMatch(/^Autograph \d+\.\d+\.\d+$/);
    expect(first.out()).toContain(`${url}/graphql`);
    expect(first.out()).toContain(DATA_DIR);
    expect(lines.at(-1)).toBe(`ready at ${url}`);
    const token = new RegExp(`${url}/#setup=([\\w-]{43})$`, "m").exec(first.out())![1];
    expect(first.err()).toBe("");

    const SETUP = "mutation($input: SetupInput!) { setup(input: $input) { accessToken refreshToken expiresAt } }";
    const owner = { organization: "Acme", name: "Ada", email: "ada@example.org", password: "correct horse" };
    const setup = (input: object) => post(`${url}/graphql`, SETUP, { input: { ...owner, ...input } }, null);
    expect((await setup({ token: "wrong" })).errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
    expect((await setup({ token, password: "short" })).errors![0]!.extensions.fields).toMatchObject([
      { path: "input.password" },
    ]);
    const { accessToken } = (await setup({ token })).data.setup;
    const { data } = await post(
      `${url}/graphql`,
      "{ me { name } projects { nodes { handle } } agents { status } }",
      {},
      accessToken,
    );
    expect(data).toMatchObject({ me: { name: "Ada" }, projects: { nodes: [{ handle: "demo" }] } });
    expect(data.agents.length).toBeGreaterThanOrEqual(4);
    expect((await setup({ token })).errors![0]!.extensions.code).toBe("CONFLICT");

    const postmaster = readPidFile(path.join(DATA_DIR, "postgres"))!.pid;
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);
    expect(isAlive(postmaster)).toBe(false);

    const second = run({ DATA_DIR });
    await second.ready();
    expect(second.out()).not.toContain("#setup=");
    const began = performance.now();
    // Those that a busy machine sends later are others.
    for (let count = 0; count < 3 && performance.now() - began < 250; count++) {
      second.kill("SIGINT");
      await sleep(20);
    }
    expect(await second.exited).toBe(0);
  });

  test("with --json it tells the same as one line; with --parent it stops when that process is gone", async () => {
    const DATA_DIR = await dataFolder();
    const parent = spawn("sleep", ["300"]);
    const server = run({ DATA_DIR }, ["--json", `--parent=${parent.pid}`]);
    await eventually(() => server.out().endsWith("\n"));
    const told = JSON.parse(server.out());
    expect(told).toEqual({
      version: expect.stringMatching(/^\d/),
      url: expect.stringMatching(/^http:/),
      graphql: `${told.url}/graphql`,
      dataFolder: DATA_DIR,
      setupLink: expect.stringContaining(`${told.url}/#setup=`),
    });
    expect((await fetch(`${told.url}/readyz`)).status).toBe(200);
    parent.kill();
    expect(await server.exited).toBe(0);
  });
});

describe("what cannot start is one helpful line and exit code 1", () => {
  test.for([
    ["settings with mistakes", { PORT: "x", LOG_LEVEL: "loud" }, /^PORT must be .*\nLOG_LEVEL must be .*\n$/],
    ["a data folder that is a file", { DATA_DIR: import.meta.filename }, /^.*main\.test\.ts.*\n$/],
    [
      "a database that is not there",
      { DATABASE_URL: "postgres://user:secret@127.0.0.1:1/autograph" },
      /^(?!.*secret).*127\.0\.0\.1.*\n$/,
    ],
    ["a secret key that is none", { SECRET_KEY: "short" }, /^SECRET_KEY must be .*\n$/],
    ["a metrics port that is none", { METRICS_PORT: "nine" }, /^METRICS_PORT must be a port number from 0 to 65535\n$/],
    ["an older Node", { NODE_OPTIONS: `--import=${OLDER_NODE}` }, /^Autograph needs Node.js 24 .* 20\.9\.0: .*\n$/],
  ] as [string, Record<string, string>, RegExp][])("%s", async ([, env, expected]) => {
    const server = run({ ...env, ...(env["DATA_DIR"] ? {} : { DATA_DIR: emptyFolder() }) });
    expect(await server.exited).toBe(1);
    expect(server.err()).toMatch(expected);
    expect(server.out()).toBe("");
  });

  test("a port in use by another program", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as net.AddressInfo;
    const server = run({ DATA_DIR: await dataFolder(), PORT: String(port) });
    expect(await server.exited).toBe(1);
    expect(server.err()).toMatch(new RegExp(`^port ${port} of 127\\.0\\.0\\.1 is in use: .*\\n$`));
    other.close();
  });

  test("a metrics port in use by another program, or one that listens on an address that is not here", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as net.AddressInfo;
    const DATA_DIR = await dataFolder();
    const server = run({ DATA_DIR, METRICS_PORT: String(port) });
    expect(await server.exited).toBe(1);
    expect(server.err()).toBe(
      `port ${port} of 127.0.0.1 is in use: stop what listens there, or set METRICS_PORT to another (0 takes a free one)\n`,
    );
    other.close();
    const elsewhere = run({ DATA_DIR, METRICS_PORT: "0", METRICS_HOST: "192.0.2.1" });
    expect(await elsewhere.exited).toBe(1);
    expect(elsewhere.err()).toMatch(/^cannot listen on 192\.0\.2\.1:0: .*\n$/);
  });

  // On an empty folder: server/src/postgres/embedded.db.test.ts.
  test("of many starts at once, on its port or another, one serves, and the others say where; so does one that comes later", async () => {
    const DATA_DIR = await dataFolder();
    const PORT = String(await freePort());
    const start = (index: number): Program => run({ DATA_DIR, PORT: index % 2 === 0 ? PORT : "0" });
    const servers = Array.from({ length: 3 }, (_, index) => start(index));
    const outcomes = await Promise.all(servers.map((server) => server.ready().catch(() => server.exited)));
    const url = outcomes.find((outcome) => typeof outcome === "string");
    expect(outcomes.filter((outcome) => outcome !== url)).toEqual([1, 1]);
    const others = servers.filter((_, index) => outcomes[index] !== url);
    const { pid } = servers[outcomes.indexOf(url!)]!;
    for (const late of [start(0), start(1)]) {
      expect(await late.exited).toBe(1);
      others.push(late);
    }
    expect(others.map((server) => server.err())).toEqual(others.map(() => `already running at ${url} (${pid})\n`));
  });
});

describe("stopping", () => {
  type Ask = (query: string, variables?: object) => Promise<Data>;

  /** Starts a run and waits until its first call is under way; how to ask for its status. */
  async function startRun(ask: Ask, name: string, [first, second]: [string, string], isCalled: () => unknown) {
    const { projects } = await ask("{ projects { nodes { id } } }");
    const { publishAgent } = await ask("mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
      input: { projectId: projects.nodes[0].id, definition: definitionOf(name, first, second) },
    });
    const { runAgent } = await ask(`mutation { runAgent(input: {agentId: "${publishAgent.id}"}) { id } }`);
    await eventually(isCalled);
    return async (): Promise<string> => (await ask(`{ run(id: "${runAgent.id}") { status } }`)).run.status;
  }

  /** An owner of the settings' making. */
  async function withOwner() {
    const DATA_DIR = await dataFolder();
    const env = {
      DATA_DIR,
      OUTBOUND_ALLOW: "127.0.0.1/32",
      ADMIN_EMAIL: "ada@example.org",
      ADMIN_PASSWORD: "correct horse",
      PORT: String(await freePort()),
    };
    const server = run(env);
    const url = await server.ready();
    expect(server.out()).not.toContain("#setup=");
    const login = 'mutation { login(email: "ada@example.org", password: "correct horse") { accessToken } }';
    const token: string = (await post(`${url}/graphql`, login, {}, null)).data.login.accessToken;
    const ask: Ask = async (query, variables = {}) =>
      (await post(`${url}/graphql`, query, variables as Record<string, unknown>, token)).data;
    return { env, server, url, ask };
  }

  test("drains: not ready, no new work, the step under way ends, the rest goes on at the next start; a second signal ends it within 1 s, and the step is repeated with the same key", async () => {
    await using door = await startDoor();
    await using sink = await startSink();
    const { env, server, url, ask } = await withOwner();
    const status = await startRun(ask, "drained", [door.url, door.url], () => door.calls() === 1);
    server.kill("SIGTERM");
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 503);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const refused = await post(`${url}/graphql`, "{ me { id } }", {}, null);
    expect(refused).toMatchObject({ status: 503, errors: [{ extensions: { code: "UNAVAILABLE" } }] });
    expect(refused.headers.get("retry-after")).toBe("1");
    door.open();
    expect(await server.exited).toBe(0);
    expect(door.calls()).toBe(1);

    const second = run(env);
    await second.ready();
    await eventually(async () => (await status()) === "completed");
    expect(door.calls(), "each once").toBe(2);
    for (const { out, err } of [server, second]) expect(out() + err()).not.toContain(env.ADMIN_PASSWORD);

    const hanging = await startRun(ask, "hanging", [`${sink.url}/hang/1`, sink.url], () => sink.count("1", 1));
    second.kill("SIGTERM");
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 503);
    // Another signal within half a second of the first is the same.
    await sleep(700);
    const { pid } = readPidFile(path.join(env.DATA_DIR, "postgres"))!;
    const signalled = performance.now();
    second.kill("SIGTERM");
    expect(await second.exited).toBe(1);
    // Five times the promise. It would wait for nine more seconds.
    expectInTime(performance.now() - signalled, 5 * 1_000);
    expectNoPostgres(env.DATA_DIR, pid);
    const third = run(env);
    await third.ready();
    await eventually(async () => (await hanging()) === "completed");
    expect(sink.count("1", 1)).toMatchObject({ requests: 2 });
    expect(sink.summary().keysChanged).toBe(0);
  });

  /** Expects no process of the folder's PostgreSQL, and no trace of one. */
  function expectNoPostgres(folder: string, postmaster: number | undefined): void {
    expect(readPidFile(path.join(folder, "postgres"))).toBeUndefined();
    if (postmaster !== undefined) expect(isAlive(postmaster)).toBe(false);
    const titles = fs.readdirSync("/proc").map((name) => titleOf(Number(name)));
    expect(titles.filter((title) => title.includes(folder) && !title.includes(MAIN))).toEqual([]);
  }

  /** On SIGUSR2 the process does this. */
  const onSignal = (what: string): string =>
    `--import=data:text/javascript,${encodeURIComponent(`process.on("SIGUSR2", () => { ${what} });`)}`;

  test("a promise that nobody handles, an exception, a stop that hangs is ended: each with one line, and PostgreSQL with it", async () => {
    const DATA_DIR = await dataFolder();
    const unhandled = [70, /^an unhandled error ends the server; its PostgreSQL is stopped/] as const;
    const hangs = `AsyncDisposableStack.prototype.disposeAsync = () => new Promise(() => {});
      const later = setTimeout;
      globalThis.setTimeout = (fire, ms, ...more) => later(fire, ms === ${LIMITS.stopSeconds * 1_000} ? 100 : ms, ...more);
      process.kill(process.pid, "SIGTERM");`;
    for (const [what, code, message] of [
      ['Promise.reject(new Error("lost"));', ...unhandled],
      ['setTimeout(() => { throw new Error("lost"); });', ...unhandled],
      [
        hangs,
        1,
        new RegExp(`^the server did not stop within ${LIMITS.stopSeconds} s: it and its PostgreSQL are ended$`),
      ],
    ] as const) {
      const server = run({ DATA_DIR, LOG_LEVEL: "warn", NODE_OPTIONS: onSignal(what) });
      await server.ready();
      const { pid } = readPidFile(path.join(DATA_DIR, "postgres"))!;
      server.kill("SIGUSR2");
      expect(await server.exited).toBe(code);
      const lines = server.err().trimEnd().split("\n");
      expect(lines.map((line) => JSON.parse(line))).toMatchObject([
        { level: 50, msg: expect.stringMatching(message), ...(code === 70 && { err: { message: "lost" } }) },
      ]);
      expectNoPostgres(DATA_DIR, pid);
    }
  });

  /** When a start for the first time gets the signal: while it makes its PostgreSQL, or after so many ms. */
  const MOMENTS = scaled<(number | "initdb")[]>({ whole: ["initdb", 200, 1_000], part: ["initdb"] });

  test.for(MOMENTS)(
    "a signal while it starts for the first time (%s): it goes no further and leaves no PostgreSQL, also when it comes twice",
    async (moment) => {
      const DATA_DIR = emptyFolder();
      const drafts = (): string[] => fs.readdirSync(DATA_DIR).filter((name) => name.startsWith("postgres.draft-"));
      for (const twice of [false, true]) {
        const before = drafts();
        const server = run({ DATA_DIR });
        if (moment !== "initdb") await sleep(moment);
        else await eventually(() => drafts().some((name) => !before.includes(name)));
        server.kill("SIGTERM");
        if (twice) await sleep(550).then(() => server.kill("SIGTERM"));
        // Null: it had not begun to listen for signals.
        expect([0, ...(moment === "initdb" ? [] : [null]), ...(twice ? [1] : [])]).toContain(await server.exited);
        if (moment === "initdb") expect(server.out()).toBe("");
        // A machine that is quick has started it: then it says that it stops, and nothing else.
        expect(server.err().replaceAll(/^\{"level":30,.*\n/gm, "")).toBe("");
        await eventually(() => fs.readdirSync("/proc").every((name) => !titleOf(Number(name)).includes(DATA_DIR)));
        expectNoPostgres(DATA_DIR, undefined);
      }
      const next = run({ DATA_DIR });
      await next.ready();
      next.kill("SIGTERM");
      expect(await next.exited).toBe(0);
    },
  );
});
