import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, settingsOf, type Ended } from "./command-line.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { freePort, sharedPostgres } from "./postgres.ts";
import { startSink, type Sink } from "./sink.ts";
import { call } from "./webhooks.ts";

type Sandbox = {
  email: string;
  password: string;
  apiKey: string;
  email2: string;
  password2: string;
  apiKey2: string;
  freeApiKey: string;
  projectId: string;
  webhook: { agentId: string; token: string };
  agents: Record<"three" | "echo" | "slow" | "call" | "approve", string>;
};

const LOGIN =
  "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
const RUN =
  "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status output error { type detail } steps { number name kind status } } }";
const READ =
  "query ($id: ID!) { run(id: $id) { status output error { detail } steps { number status duration attempts { error { status } } } } }";
const CANCEL = "mutation ($id: ID!) { cancelRun(runId: $id) { status } }";

let server: TestServer;
let sink: Sink;
let made: Ended;
let sandbox: Sandbox;
/** Another, without `--sink`. */
let other: Sandbox;

const sandboxOf = (of: TestServer, args: string[], env: Record<string, string> = {}): Promise<Ended> =>
  cli(["sandbox", "--json", ...args], { env: { ...settingsOf(of), ...env } });

beforeAll(async () => {
  server = await startTestServer({ env: { OUTBOUND_ALLOW: "127.0.0.1/32" } });
  // It must still be free after the outage.
  sink = await startSink({ port: await freePort() });
  // Beside an operator's database the command sees its own settings alone.
  const env = server.isEmbedded ? {} : { OUTBOUND_ALLOW: "127.0.0.1/32" };
  made = await sandboxOf(server, ["--sink", `${sink.url}/refuse/1`], env);
  sandbox = JSON.parse(made.stdout) as Sandbox;
  other = JSON.parse((await sandboxOf(server, [])).stdout) as Sandbox;
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sink[Symbol.asyncDispose]();
});

/** Starts a run in the sandbox and answers it when it ended or paused. */
const run = async (agent: keyof Sandbox["agents"], input: unknown = {}) =>
  (await server.data(RUN, { input: { agentId: sandbox.agents[agent], input, wait: 30 } }, sandbox.apiKey)).runAgent;

describe("its output", () => {
  test("one JSON object on stdout and nothing else anywhere", () => {
    expect(made).toMatchObject({ code: 0, stderr: "" });
    expect(made.stdout).toMatch(/^\{[^\n]*\}\n$/);
    expect(Object.keys(sandbox)).toEqual([
      "email",
      "password",
      "apiKey",
      "email2",
      "password2",
      "apiKey2",
      "freeApiKey",
      "projectId",
      "agents",
      "webhook",
    ]);
    expect(sandbox.webhook).toEqual({
      agentId: sandbox.agents.echo,
      token: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(sandbox.projectId).toMatch(/^project_[0-7][0-9a-z]{25}$/);
    expect(Object.keys(sandbox.agents)).toEqual(["three", "echo", "slow", "call", "approve"]);
    for (const id of Object.values(sandbox.agents)) expect(id).toMatch(/^agent_[0-7][0-9a-z]{25}$/);
  });

  test("two organizations on the enterprise plan, a key in a third on free", async () => {
    const who = "{ me { email } organization { id plan } }";
    const keys = [sandbox.apiKey, sandbox.apiKey2, sandbox.freeApiKey];
    const answers = await Promise.all(keys.map((key) => server.data(who, {}, key)));
    expect(answers.map(({ organization }) => organization.plan)).toEqual(["enterprise", "enterprise", "free"]);
    expect(new Set(answers.map(({ organization }) => organization.id)).size).toBe(3);
    expect(answers.slice(0, 2).map(({ me }) => me.email)).toEqual([sandbox.email, sandbox.email2]);
    for (const [email, password] of [
      [sandbox.email, sandbox.password],
      [sandbox.email2, sandbox.password2],
    ]) {
      expect((await server.data(LOGIN, { email, password }, null)).login.accessToken).toBeTruthy();
    }
  });

  test("its webhook starts the agent echo, and the API shows its URL", async () => {
    const { agentId, token } = sandbox.webhook;
    const url = new URL(`/webhook/${agentId}/${token}`, server.url).href;
    expect(await call(`${url}?wait=20`, { text: "hello" })).toMatchObject({
      status: 200,
      body: { status: "completed", output: { text: "hello" } },
    });
    const { triggers } = await server.data("{ triggers { nodes { name url } } }", {}, sandbox.apiKey);
    expect(triggers.nodes).toEqual([{ name: "sandbox", url }]);
  });

  test("the five agents lie in the project, and only the first organization sees them", async () => {
    const query = "query ($id: ID) { agents(projectId: $id) { id handle status } }";
    const { agents } = await server.data(query, { id: sandbox.projectId }, sandbox.apiKey);
    expect(Object.fromEntries(agents.map((agent: any) => [agent.handle, agent.id]))).toEqual(sandbox.agents);
    expect(agents.every((agent: any) => agent.status === "active")).toBe(true);
    expect((await server.graphql(query, { id: sandbox.projectId }, sandbox.apiKey2)).errors![0]!.extensions.code).toBe(
      "NOT_FOUND",
    );
  });

  test("another world each time", async () => {
    const all = [...Object.values({ ...sandbox, agents: "" }), ...Object.values({ ...other, agents: "" })].filter(
      Boolean,
    );
    expect(new Set(all).size).toBe(all.length);
    expect(other.agents.three).not.toBe(sandbox.agents.three);
  });
});

describe("the agents", () => {
  test("three adds 1 three times", async () => {
    const { status, output, steps } = await run("three", { n: 4 });
    expect({ status, output }).toEqual({ status: "completed", output: { n: 7 } });
    expect(steps.map((step: any) => [step.number, step.kind, step.status])).toEqual(
      [1, 2, 3].map((number) => [number, "set", "completed"]),
    );
    expect((await run("three", { n: -0.5 })).output).toEqual({ n: 2.5 });
  });

  test.each([{ n: "1" }, { n: true }, { n: null }, { n: [1] }, {}, { n: 1, m: 2 }, [1]])(
    "three refuses %j",
    async (input) => {
      const { errors } = await server.graphql(RUN, { input: { agentId: sandbox.agents.three, input } }, sandbox.apiKey);
      expect(errors![0]!.extensions.code).toBe("BAD_USER_INPUT");
    },
  );

  test.each([
    ["empty", ""],
    ["NUL and a lone surrogate", "a\u0000b\ud800c"],
    ["100,000 characters that take six bytes each", "\u0001".repeat(100_000)],
    ["100,000 characters of two code units", "😀".repeat(100_000)],
  ])("echo gives its text back: %s", async (_, text) => {
    expect((await run("echo", { text })).output).toEqual({ text });
  });

  test("echo refuses one character more", async () => {
    const input = { agentId: sandbox.agents.echo, input: { text: "x".repeat(100_001) } };
    expect((await server.graphql(RUN, { input }, sandbox.apiKey)).errors![0]!.extensions.fields).toMatchObject([
      { path: "input.input.text" },
    ]);
  });

  test("slow takes 30 waits of 100 ms", async () => {
    const { id } = await run("slow");
    const { run: ended } = await server.data(READ, { id }, sandbox.apiKey);
    expect(ended.status).toBe("completed");
    expect(ended.steps).toHaveLength(30);
    for (const step of ended.steps) expect(step.duration).toBeGreaterThanOrEqual(100);
  });

  test("approve asks, and goes on when it was approved", async () => {
    const { id, status } = await run("approve");
    expect(status).toBe("paused");
    const { approvals } = await server.data(
      "query ($id: [ID!]) { approvals(filter: {runId: $id}, first: 2) { nodes { id } } }",
      { id },
      sandbox.apiKey,
    );
    expect(approvals.nodes).toHaveLength(1);
    const decide = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { status } }";
    await server.data(decide, { input: { approvalId: approvals.nodes[0].id, decision: "approve" } }, sandbox.apiKey);
    const ended = await eventually(async () => {
      const { run: now } = await server.data(READ, { id }, sandbox.apiKey);
      return now.status === "completed" && now;
    });
    expect(ended.output).toMatchObject({ approved: true });
  });
});

describe("call", () => {
  test("posts three times with the run and the step, and tries again what was refused, with the same key", async () => {
    const { id, status, steps } = await run("call");
    expect({ status, steps: steps.length }).toEqual({ status: "completed", steps: 3 });
    for (const step of [1, 2, 3])
      expect(sink.count(id, step)).toMatchObject({ requests: 2, answered: 1, keys: [expect.any(String)] });
    const { run: ended } = await server.data(READ, { id }, sandbox.apiKey);
    expect(ended.steps.map((step: any) => step.attempts.map((attempt: any) => attempt.error?.status ?? 0))).toEqual([
      [503, 0],
      [503, 0],
      [503, 0],
    ]);
  });

  test("goes on through an outage of the sink, and through kill -9 of the server meanwhile", async () => {
    const { port } = sink;
    await sink[Symbol.asyncDispose]();
    const input = { agentId: sandbox.agents.call, input: {} };
    const { runAgent } = await server.data(
      "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }",
      { input },
      sandbox.apiKey,
    );
    const read = async () => (await server.data(READ, { id: runAgent.id }, sandbox.apiKey)).run;
    await eventually(async () => (await read()).steps[0]?.attempts.length > 2);
    await server.kill();
    await server.restart();
    expect((await read()).status).toBe("running");
    sink = await startSink({ port });
    const ended = await eventually(async () => {
      const now = await read();
      return now.status !== "running" && now;
    });
    expect(ended.status).toBe("completed");
    for (const step of [1, 2, 3]) expect(sink.count(runAgent.id, step)!.keys).toHaveLength(1);
  });

  test("without --sink it posts to a closed port, and can be cancelled", async () => {
    const input = { agentId: other.agents.call, input: {} };
    const { runAgent } = await server.data(RUN, { input }, other.apiKey);
    const { run: open } = await server.data(READ, { id: runAgent.id }, other.apiKey);
    expect(open.status).toBe("running");
    expect((await server.data(CANCEL, { id: runAgent.id }, other.apiKey)).cancelRun.status).toBe("cancelled");
  });
});

describe("what it refuses and warns of", () => {
  test("a public server, unless it is forced; and that it was started without OUTBOUND_ALLOW for a loopback sink", async () => {
    await using open = await startTestServer({ env: { PUBLIC_URL: "https://agents.example.org" } });
    const own = { PUBLIC_URL: "https://agents.example.org" };
    for (const env of open.isEmbedded ? [{}, own] : [own]) {
      const { code, stdout, stderr } = await sandboxOf(open, [], env);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^autograph: https:\/\/agents\.example\.org is not a loopback address.*--force.*\n$/);
    }
    const elsewhere = ["--force", "--sink", "https://sink.example.org/a"];
    expect(await sandboxOf(open, elsewhere, open.isEmbedded ? {} : own)).toEqual({
      code: 0,
      stdout: expect.stringContaining("apiKey2"),
      stderr: "",
    });
    // Only the data folder tells what a server was started with.
    if (!open.isEmbedded) return;
    const sinkHere = ["--force", "--sink", sink.url];
    const { code, stdout, stderr } = await sandboxOf(open, sinkHere, { OUTBOUND_ALLOW: "127.0.0.1/32" });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^autograph: the server was started without OUTBOUND_ALLOW=127\.0\.0\.1\/32: .*\n$/);
    const { apiKey, agents } = JSON.parse(stdout) as Sandbox;
    const { runAgent } = await open.data(RUN, { input: { agentId: agents.call, input: {}, wait: 10 } }, apiKey);
    expect(runAgent).toMatchObject({ status: "failed", error: { type: expect.stringContaining("authorization") } });
  });

  test("a sink that is no URL", async () => {
    for (const wrong of ["sink", "ftp://127.0.0.1/", ""]) {
      const { code, stdout, stderr } = await sandboxOf(server, ["--sink", wrong]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^autograph: --sink must be .+\n$/);
    }
  });

  test("with DATABASE_URL, with no server there, it says that none answers", async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "autograph-test-"));
    chmodSync(folder, 0o711);
    await using postgres = await sharedPostgres();
    const { code, stdout, stderr } = await cli(["sandbox"], {
      env: { DATABASE_URL: await postgres.createMigrated(), DATA_DIR: folder, PORT: "1" },
    });
    expect(code).toBe(0);
    expect(Object.keys(JSON.parse(stdout))).toContain("agents");
    expect(stderr).toContain("no server answers at http://127.0.0.1:1");
    expect(stderr).toContain("this command's settings are without OUTBOUND_ALLOW=127.0.0.1/32");
    expect(stderr).not.toContain("the server was started");
    expect(stderr).toContain("there was no owner yet: the setup link is void now");
    rmSync(folder, { recursive: true });
  });
});
