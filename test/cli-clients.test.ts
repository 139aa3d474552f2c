/** The programs of examples/clients, as their first lines say to run them, and those of docs/api.md. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startProcess } from "./cli-process.ts";
import { eventually } from "./client.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const run = promisify(execFile);
const CLIENTS = path.join(import.meta.dirname, "../examples/clients");

const DEFINITION = `document: { dsl: 1.0.3, namespace: test, name: three, version: 1.0.0 }
do: [ { one: { set: { n: 1 } } }, { two: { wait: { seconds: 1 } } }, { three: { set: { n: "\${ .n + 1 }" } } } ]`;

/** Its second step is under way until the test moves the clock: nobody is too slow to see it. */
const HELD = DEFINITION.replace("name: three", "name: held").replace("{ seconds: 1 }", "{ hours: 1 }");
const HOUR_MS = 3_600_000;

const FAILS = `document: { dsl: 1.0.3, namespace: test, name: fails, version: 1.0.0 }
do: [ { break: { raise: { error: { type: "https://serverlessworkflow.io/spec/1.0.0/errors/runtime", status: 500 } } } } ]`;

let server: MovedServer;
let agentId: string;
let heldId: string;
const environment = () => ({ AUTOGRAPH_URL: server.url, AUTOGRAPH_API_KEY: server.world.apiKey });

beforeAll(async () => {
  server = await movedServer();
  const { projectId } = server.world;
  const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  await server.data(publish, { input: { projectId, definition: FAILS } });
  heldId = (await server.data(publish, { input: { projectId, definition: HELD } })).publishAgent.id;
  agentId = (await server.data(publish, { input: { projectId, definition: DEFINITION } })).publishAgent.id;
});
afterAll(() => server[Symbol.asyncDispose]());

test("run-and-watch.ts shows each step and the output", async () => {
  const file = path.join(CLIENTS, "run-and-watch.ts");
  const watching = startProcess(["held"], { file, env: environment() });
  await eventually(() => watching.stdout.includes("2 two: running"));
  await server.clock.advance(HOUR_MS);
  const { code, stdout } = await watching.ended;
  expect(code).toBe(0);
  const lines = stdout.trim().split("\n");
  expect(lines.at(0)).toMatch(/^1 one: completed \(\d+ ms\)$/);
  expect(lines.filter((line) => line.startsWith("2 two: "))).toEqual([
    expect.stringContaining("running"),
    expect.stringContaining("completed"),
  ]);
  expect(lines.at(-1)).toBe('run completed {"n":2}');
});

test("curl.sh lists, starts, watches and reads", async () => {
  const env = { ...environment(), PATH: process.env["PATH"] };
  const watching = run("sh", [path.join(CLIENTS, "curl.sh"), heldId], { env });
  let said = "";
  watching.child.stdout!.on("data", (text) => (said += String(text)));
  await eventually(() => /"status":"running","currentStep":2/.test(said));
  await server.clock.advance(HOUR_MS);
  const { stdout } = await watching;
  const data = stdout
    .split("\n")
    .flatMap((line) => /^(?:data: )?(\{.+)$/.exec(line)?.[1] ?? [])
    .map((text) => JSON.parse(text).data);
  expect(data[0].agents.map(({ id }: any) => id)).toContain(heldId);
  expect(data[1].runAgent.id).toMatch(/^run_/);
  expect(data.slice(2, -1).map(({ runUpdated }) => runUpdated.status)).toEqual(
    expect.arrayContaining(["running", "completed"]),
  );
  expect(data.at(-1).run).toMatchObject({
    status: "completed",
    output: { n: 2 },
    steps: [{ number: 1 }, { number: 2 }, { number: 3 }],
  });
});

test("curl.sh ends with an error when it is refused", async () => {
  const env = { ...environment(), AUTOGRAPH_API_KEY: "ag_live_wrong", PATH: process.env["PATH"] };
  await expect(run("sh", [path.join(CLIENTS, "curl.sh"), agentId], { env })).rejects.toThrow(/401/);
});

const NO_AGENT = "agent_00000000000000000000000000";

test("a client that could not start a run, or whose run failed, ends with 1", async () => {
  const env = { ...environment(), PATH: process.env["PATH"] };
  await expect(run("sh", [path.join(CLIENTS, "curl.sh"), NO_AGENT], { env })).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining("NOT_FOUND"),
  });
  const file = path.join(CLIENTS, "run-and-watch.ts");
  const started = await Promise.all(
    [["nobody"], ["three", "{"], ["three", "[]"], ["fails"]].map(
      (args) => startProcess(args, { file, env: environment() }).ended,
    ),
  );
  expect(started.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
  expect(started[3]!.stdout).toContain("run failed");
});

const ROOT = path.join(import.meta.dirname, "..");
const GUIDE = readFileSync(path.join(ROOT, "docs/api.md"), "utf8");
const blockOf = (pattern: RegExp): string =>
  pattern.exec(GUIDE)![1]!.replaceAll("127.0.0.1:4400", new URL(server.url).host);

/** Ours as if it were 20, which has no WebSocket of its own; and a real 20 where the machine has one. */
function oldNodes(): string[][] {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  const others = folders.map((folder) => path.join(folder, "node")).filter((file) => existsSync(file));
  const old = others.find((file) => /^v2[01]\./.test(execFileSync(file, ["--version"], { encoding: "utf8" })));
  return [[process.execPath, "--no-experimental-websocket"], ...(old === undefined ? [] : [[old]])];
}

const startRun = async (): Promise<string> => {
  const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  return (await server.data(start, { input: { agentId } })).runAgent.id;
};

test("the WebSocket client of docs/api.md runs on Node 20", async () => {
  const program = blockOf(/^```js\n(import \{ createClient .*?)^```/ms);
  for (const [node, ...flags] of oldNodes()) {
    const child = spawn(node!, [...flags, "--input-type=module", "-", await startRun()], {
      cwd: ROOT,
      env: environment(),
    });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
    child.stdin.end(program);
    const [code] = await once(child, "close");
    expect({ code, ...said }).toMatchObject({ code: 0, stdout: expect.stringMatching(/(^|\n)completed 100\n$/) });
  }
});

test("the curl of docs/api.md watches a run", async () => {
  const text = blockOf(/^```sh\n(curl -N .*?)^```/ms).replace("run_…", await startRun());
  const env = { KEY: server.world.apiKey, PATH: process.env["PATH"] };
  const { stdout } = await run("sh", ["-c", text], { env });
  expect(stdout).toMatch(/"status":"completed","progress":100/);
});
