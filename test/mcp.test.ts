/** `/mcp` over the wire, with the official clients of both generations. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import {
  ask,
  askWithTasks,
  connect,
  connectOlder,
  KEY,
  MAKE_KEY,
  narrowedKey,
  send,
  waited,
  type Sent,
} from "./mcp-client.ts";
import { agentOf, readRun } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
let token: string;
const ids = {} as Record<"three" | "echo" | "patient" | "approve" | "failing", string>;
beforeAll(async () => {
  server = await movedServer();
  token = server.world.apiKey;
  for (const name of ["three", "echo", "patient", "approve", "failing"] as const)
    ids[name] = await publish(server, name);
});
afterAll(() => server[Symbol.asyncDispose]());

const BESIDE = ["get_run", "cancel_run", "signal_run", "list_approvals", "decide_approval", "reassign_approval"];
const call = (name: string, given: object = {}, meta: object = {}, key = token): Promise<Sent> =>
  ask(server, key, "tools/call", { name, arguments: given }, { meta });
/** The runs of an agent that a key started. */
const runsOf = async (agentId: string, startedBy: string): Promise<Data[]> => {
  const filter = `{agentId: ["${agentId}"], startedBy: {id: ["${startedBy}"]}}`;
  return (await server.data(`{ runs(first: 2, filter: ${filter}) { nodes { id status } } }`)).runs.nodes;
};
const namesIn = ({ tools }: { tools: { name: string }[] }): string[] => tools.map(({ name }) => name);

describe("a client of 2026-07-28", () => {
  test("finds the agents as tools, with their forms", async () => {
    await using client = await connect(server, token);
    const { tools } = await client.listTools();
    expect(namesIn({ tools }).slice(0, BESIDE.length)).toEqual(BESIDE);
    expect(tools.find(({ name }) => name === "test_three")).toMatchObject({
      title: "three",
      inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      outputSchema: { required: ["runId", "status", "output"] },
    });
    expect(client.getServerVersion()).toMatchObject({ name: "autograph" });
  });

  test("speaks this revision if it negotiates, and 2025-11-25 if it does not", async () => {
    for (const [mode, revision] of [
      ["auto", "2026-07-28"],
      ["legacy", "2025-11-25"],
    ] as const) {
      await using client = await connect(server, token, { versionNegotiation: { mode } });
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
      const { structuredContent } = await client.callTool({ name: "test_three", arguments: { n: 1 } });
      expect(structuredContent).toMatchObject({ status: "completed" });
    }
  });

  test("calls an agent and gets its output", async () => {
    await using client = await connect(server, token);
    const { structuredContent, content, isError } = await client.callTool({ name: "test_three", arguments: { n: 1 } });
    expect(isError).toBeFalsy();
    expect(structuredContent).toEqual({
      runId: expect.stringMatching(/^run_/),
      status: "completed",
      output: { n: 4 },
    });
    expect(JSON.parse((content as Data)[0].text)).toEqual(structuredContent);
    const { runId } = structuredContent as Data;
    expect(await readRun(server, runId)).toMatchObject({ status: "completed" });
    const again = await client.callTool({ name: "get_run", arguments: { runId } });
    expect(again.structuredContent).toEqual(structuredContent);
  });

  test("is asked for an approval as a form, and the run goes on with what was filled in", async () => {
    const seen: Data[] = [];
    await using client = await connect(server, token, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler("elicitation/create", async ({ params }: Data) => {
      seen.push(params);
      return { action: "accept", content: { costCentre: "travel" } };
    });
    const { structuredContent } = await client.callTool({ name: "test_approve", arguments: {} });
    expect(seen).toMatchObject([
      {
        message: 'May it go on?\n\n{"why":"because"}',
        requestedSchema: {
          properties: { costCentre: { oneOf: [{ const: "office" }, { const: "travel" }] } },
          required: ["costCentre"],
        },
      },
    ]);
    expect(structuredContent).toMatchObject({ status: "completed" });
    const { approvals } = await readRun(server, (structuredContent as Data).runId);
    expect(approvals.nodes).toMatchObject([{ status: "approved" }]);
  });

  test("that puts a decision off is asked once, and rejects by declining", async () => {
    for (const [action, answer] of [
      ["cancel", { structuredContent: { status: "paused", output: null } }],
      ["decline", { isError: true, structuredContent: { status: "failed", output: null } }],
    ] as const) {
      let count = 0;
      await using client = await connect(server, token, { capabilities: { elicitation: { form: {} } } });
      client.setRequestHandler("elicitation/create", async () => {
        count++;
        return { action };
      });
      expect(await client.callTool({ name: "test_approve", arguments: {} })).toMatchObject(answer);
      expect(count).toBe(1);
    }
  });

  test("that shows no forms, or may not decide, gets the run that waits", async () => {
    await using client = await connect(server, token);
    const answer = { structuredContent: { status: "paused", output: null } };
    expect(await client.callTool({ name: "test_approve", arguments: {} })).toMatchObject(answer);
    const starter = await narrowedKey(server, [ids.approve], ["agents:read", "runs:read", "runs:start"]);
    await using shows = await connect(server, starter, { capabilities: { elicitation: { form: {} } } });
    expect(await shows.callTool({ name: "test_approve", arguments: {} })).toMatchObject(answer);
  });

  test("hears of the run's progress if it gave a token", async () => {
    await using client = await connect(server, token);
    const heard: Data[] = [];
    await publish(server, "quick");
    const running = client.callTool(
      { name: "test_quick", arguments: {} },
      { onprogress: (one) => void heard.push(one) },
    );
    let isOver = false;
    void running.finally(() => (isOver = true)).catch(() => {});
    await eventually(async () => {
      await server.clock.advance(10);
      return isOver;
    });
    await running;
    const values = heard.map(({ progress }) => progress);
    expect(values.length).toBeGreaterThan(0);
    expect(values).toEqual(values.toSorted((one, other) => one - other));
    expect(new Set(values).size).toBe(values.length);
    expect(heard[0]).toMatchObject({ total: 100, message: expect.stringContaining(": ") });
  });
});

describe("a client that begins with initialize", () => {
  test("lists and calls tools without a session", async () => {
    await using client = await connectOlder(server, token);
    expect(client.getServerVersion()).toMatchObject({ name: "autograph" });
    expect(namesIn(await client.listTools())).toContain("test_three");
    const { structuredContent } = await client.callTool({ name: "test_three", arguments: { n: 2 } });
    expect(structuredContent).toMatchObject({ status: "completed", output: { n: 5 } });
    await client.ping();
  });

  test.each(["2025-11-25", "2025-06-18"])("speaks %s", async (protocolVersion) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const { status, headers, body } = await send(server, token, {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params,
    });
    expect(status).toBe(200);
    expect(body.result).toMatchObject({ protocolVersion, capabilities: { tools: {} } });
    expect(headers.get("mcp-session-id")).toBeNull();
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect(await send(server, token, initialized, { "mcp-protocol-version": protocolVersion })).toMatchObject({
      status: 202,
      body: undefined,
    });
  });

  test("is told the newest revision of its kind if it asks for one that there is not", async () => {
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const { body } = await send(server, token, { jsonrpc: "2.0", id: 0, method: "initialize", params });
    expect(body.result.protocolVersion).toBe("2025-11-25");
  });

  test("gets a run that has not ended after 30 s, and asks for it again", async () => {
    const method = "tools/call";
    const asked = send(server, token, { jsonrpc: "2.0", id: 1, method, params: { name: "test_patient" } });
    const { body } = await waited(server, asked);
    expect(body.result).toMatchObject({
      structuredContent: { status: "running", output: null },
      content: [{}, { text: expect.stringContaining("get_run") }],
    });
    expect(body.result).not.toHaveProperty("isError");
    const { runId } = body.result.structuredContent;
    const cancelled = await call("cancel_run", { runId });
    expect(cancelled.body.result.structuredContent).toEqual({ runId, status: "cancelled", output: null });
  });
});

describe("a key", () => {
  test("is needed, and the answer says where to read how", async () => {
    const { status, headers, body } = await ask(server, null, "tools/list");
    expect(status).toBe(401);
    expect(body.error).toMatchObject({ code: 401, data: { code: "UNAUTHENTICATED" } });
    const metadata = `${server.url}/.well-known/oauth-protected-resource`;
    expect(headers.get("www-authenticate")).toBe(`Bearer resource_metadata="${metadata}"`);
    for (const url of [metadata, `${metadata}/mcp`]) {
      expect(await (await fetch(url)).json()).toMatchObject({
        resource: `${server.url}/mcp`,
        bearer_methods_supported: ["header"],
      });
    }
  });

  test("that is bad is refused", async () => {
    const { status, headers } = await ask(server, "ag_wrong", "tools/list");
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toMatch(/^Bearer error="invalid_token", resource_metadata=/);
    await expect(connect(server, "ag_wrong")).rejects.toThrow(/401|authoriz/i);
  });

  test("that is revoked ends the wait, and the run goes on", async () => {
    const input = { name: "short", scopes: ["agents:read", "runs:start"] };
    const { id, secret } = (await server.data(MAKE_KEY, { input })).createApiKey;
    const asked = call("test_patient", {}, { [KEY]: "revoked" }, secret);
    await eventually(async () => (await runsOf(ids.patient, id)).length === 1);
    await server.data(`mutation { revokeApiKey(input: {apiKeyId: "${id}"}) { id } }`);
    let isOver = false;
    void asked.finally(() => (isOver = true)).catch(() => {});
    await eventually(async () => {
      if (!isOver) await server.clock.advance(4_000);
      return isOver;
    });
    expect(await asked).toMatchObject({ status: 401, body: { id: 1, error: { code: 401 } } });
    expect((await runsOf(ids.patient, id))[0]).toMatchObject({ status: "running" });
  });

  test("that is narrowed sees and starts only its agents", async () => {
    const narrow = await narrowedKey(server, [ids.echo, ids.three]);
    await using client = await connect(server, narrow);
    expect(namesIn(await client.listTools()).toSorted()).toEqual([...BESIDE, "test_echo", "test_three"].toSorted());
    const [hidden, unknown] = [await call("test_patient", {}, {}, narrow), await call("test_nobody", {}, {}, narrow)];
    expect(hidden.body.error).toEqual({
      code: -32_602,
      message: "Unknown tool: test_patient",
      data: { code: "NOT_FOUND" },
    });
    expect(unknown.body.error).toMatchObject({ code: -32_602, data: { code: "NOT_FOUND" } });
    const runId = await start(server, ids.patient);
    for (const tool of ["get_run", "cancel_run"])
      expect((await call(tool, { runId }, {}, narrow)).body.result).toMatchObject({
        isError: true,
        content: [{ text: "Run not found" }],
      });
  });

  test("has the tools that its scopes allow, and no others", async () => {
    const reader = await narrowedKey(server, [ids.echo], ["agents:read", "runs:read"]);
    expect(namesIn((await ask(server, reader, "tools/list")).body.result)).toEqual(["get_run", "list_approvals"]);
    for (const [tool, scope] of [
      ["test_echo", "runs:start"],
      ["test_nobody", "runs:start"],
      ["cancel_run", "runs:cancel"],
      ["signal_run", "runs:start"],
      ["decide_approval", "approvals:decide"],
      ["reassign_approval", "approvals:decide"],
    ] as const)
      expect(await call(tool, {}, {}, reader)).toMatchObject({
        status: 403,
        body: { id: 1, error: { data: { scope } } },
      });
  });

  test("is held to the organization's rate", async () => {
    const other = await server.organization("rated");
    await server.setPlan(other.organizationId, "enterprise", 2);
    const answers: Sent[] = [];
    for (let count = 0; count < 3; count++) answers.push(await ask(server, other.apiKey, "tools/list"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]!.body.error).toMatchObject({ code: 429, data: { code: "RATE_LIMITED" } });
    expect(Number(answers[2]!.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("a call", () => {
  test("with arguments that break the form is a result that says so", async () => {
    const { body } = await call("test_three", { n: "one", m: 1 });
    expect(body.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("n: must be a number") }],
      _meta: {
        "autograph/error": {
          code: "BAD_USER_INPUT",
          fields: [{ path: "arguments.n" }, { path: "arguments.m", code: "unknown" }],
        },
      },
    });
    for (const [name, given] of [
      ["get_run", {}],
      ["get_run", { runId: "run_00000000000000000000000000", wait: 31 }],
      ["decide_approval", { approvalId: "x", decision: "perhaps" }],
      ["list_approvals", { all: true }],
    ] as const)
      expect((await call(name, given)).body.result).toMatchObject({ isError: true });
  });

  test("of an agent that fails is an error with its reason", async () => {
    expect((await call("test_failing")).body.result).toMatchObject({
      isError: true,
      structuredContent: { status: "failed", output: null },
      content: [{}, { text: "The run failed: Broken as it should" }],
    });
  });

  test("of an agent that was archived meanwhile starts nothing", async () => {
    const agentId = await agentOf(server, "do: [{a: {set: {b: 1}}}]", "soon-gone");
    await server.data(`mutation { setAgentStatus(input: {agentId: "${agentId}", status: archived}) { id } }`);
    expect(namesIn((await ask(server, token, "tools/list")).body.result)).not.toContain("test_soon-gone");
    expect((await call("test_soon-gone")).body.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("archived") }],
      _meta: { "autograph/error": { code: "CONFLICT", reason: "wrong_state" } },
    });
  });

  test("with the same idempotency key is the same run, with other arguments none", async () => {
    const meta = { [KEY]: "order 7" };
    const [first, second] = [await call("test_three", { n: 1 }, meta), await call("test_three", { n: 1 }, meta)];
    expect(second.body.result.structuredContent).toEqual(first.body.result.structuredContent);
    expect((await call("test_three", { n: 2 }, meta)).body.result).toMatchObject({
      isError: true,
      _meta: { "autograph/error": { code: "CONFLICT", reason: "key_reused" } },
    });
    expect((await call("test_three", { n: 2 }, { [KEY]: 7 })).body.error).toMatchObject({ code: -32_602 });
  });

  test("answers a large output whole, as JSON and as an event", async () => {
    const text = '"'.repeat(300_000);
    await using client = await connect(server, token);
    for (const options of [{}, { onprogress: () => {} }]) {
      const { structuredContent, content } = await client.callTool({ name: "test_echo", arguments: { text } }, options);
      expect((structuredContent as Data).output).toEqual({ text });
      expect(JSON.parse((content as Data)[0].text)).toEqual(structuredContent);
    }
  });

  test("keeps long numbers as they came", async () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_echo","arguments":{"n":9007199254740993}}}`;
    const response = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: text,
    });
    expect(await response.text()).toMatch(/"output":\{"n": ?9007199254740993\}\}/);
  });

  test("goes on after kill -9 between start and answer: the key finds the run", async () => {
    const meta = { [KEY]: "after a crash" };
    const runs = async (): Promise<Data[]> =>
      (
        await server.data(
          `{ runs(first: 2, filter: {agentId: ["${ids.patient}"], status: [running]}) { nodes { id } } }`,
        )
      ).runs.nodes;
    const before = new Set((await runs()).map(({ id }: Data) => id));
    const given = call("test_patient", {}, meta).catch(() => "cut");
    const begun = await eventually(async () => (await runs()).find(({ id }) => !before.has(id)));
    await server.kill();
    expect(await given).toBe("cut");
    await server.restart();
    const again = await waited(
      server,
      askWithTasks(server, token, "tools/call", { name: "test_patient", arguments: {} }, { meta }),
    );
    expect(again.body.result).toMatchObject({ resultType: "task", taskId: begun.id, status: "working" });
  });
});

describe("a page of tools", () => {
  test("a page of tools has a hundred agents", async () => {
    const other = await server.organization("many");
    const [agentId] = [await publish(server, "echo", other)];
    expect(agentId).toMatch(/^agent_/);
    const definition = (n: number): string =>
      `document: {dsl: '1.0.3', namespace: test, name: many-${n}, version: '1.0.0'}\ndo: [{a: {set: {b: 1}}}]\n`;
    const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
    await Promise.all(
      Array.from({ length: LIMITS.mcpToolsListed }, (_, n) =>
        server.data(PUBLISH, { input: { projectId: other.projectId, definition: definition(n) } }, other.apiKey),
      ),
    );
    const first = (await ask(server, other.apiKey, "tools/list")).body.result;
    expect(first.tools).toHaveLength(BESIDE.length + LIMITS.mcpToolsListed);
    const { nextCursor: cursor } = first;
    const second = (await ask(server, other.apiKey, "tools/list", { cursor })).body.result;
    expect(second.tools).toHaveLength(1);
    expect(second).not.toHaveProperty("nextCursor");
    await using client = await connect(server, other.apiKey);
    expect((await client.listTools()).tools).toHaveLength(BESIDE.length + LIMITS.mcpToolsListed + 1);
    expect((await ask(server, token, "tools/list", { cursor: "x" })).body.error).toMatchObject({
      code: -32_602,
      data: { reason: "invalid_cursor" },
    });
  });

  test("an agent with a long name is called by its cut name", async () => {
    const handle = "h".repeat(62);
    await agentOf(server, "do: [{a: {set: {b: 1}}}]", handle);
    const name = namesIn((await ask(server, token, "tools/list")).body.result).find((one) =>
      one.startsWith("test_hhh"),
    )!;
    expect(name).toHaveLength(LIMITS.mcpToolNameCharacters);
    expect((await call(name)).body.result.structuredContent).toMatchObject({ status: "completed", output: { b: 1 } });
    const narrow = await narrowedKey(server, [ids.echo]);
    expect((await call(name, {}, {}, narrow)).body.error).toMatchObject({ message: `Unknown tool: ${name}` });
    const near = `${name.slice(0, -1)}${name.endsWith("0") ? "1" : "0"}`;
    expect((await call(near)).body.error).toMatchObject({ code: -32_602 });
  });
});
