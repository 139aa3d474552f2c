/** The programs of examples/clients, as their first lines say to run them. */
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli } from "./cli-process.ts";
import { startTestServer, type TestServer } from "./client.ts";

const run = promisify(execFile);
const CLIENTS = path.join(import.meta.dirname, "../examples/clients");

const DEFINITION = `document: { dsl: 1.0.3, namespace: test, name: three, version: 1.0.0 }
do: [ { one: { set: { n: 1 } } }, { two: { wait: { milliseconds: 200 } } }, { three: { set: { n: "\${ .n + 1 }" } } } ]`;

let server: TestServer;
let agentId: string;
const environment = () => ({ AUTOGRAPH_URL: server.url, AUTOGRAPH_API_KEY: server.world.apiKey });

beforeAll(async () => {
  server = await startTestServer();
  const input = { projectId: server.world.projectId, definition: DEFINITION };
  const publish = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  agentId = (await server.data(publish, { input })).publishAgent.id;
});
afterAll(() => server[Symbol.asyncDispose]());

test("run-and-watch.ts shows each step and the output", async () => {
  const file = path.join(CLIENTS, "run-and-watch.ts");
  const { code, stdout } = await cli(["three"], { file, env: environment() });
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
  const { stdout } = await run("sh", [path.join(CLIENTS, "curl.sh"), agentId], { env });
  const data = stdout
    .split("\n")
    .flatMap((line) => /^(?:data: )?(\{.+)$/.exec(line)?.[1] ?? [])
    .map((text) => JSON.parse(text).data);
  expect(data[0].agents[0].id).toBe(agentId);
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
