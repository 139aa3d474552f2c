/** Requests to `/mcp` that no official client would send. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually } from "./client.ts";
import { ask, askWithTasks, MAKE_KEY, narrowedKey, send, STATELESS } from "./mcp-client.ts";
import { CANCEL, readRun } from "./runs.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let token: string;
beforeAll(async () => {
  server = await sharedServer();
  token = server.world.apiKey;
  await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

describe("a message", () => {
  const request = { jsonrpc: "2.0", id: 1, method: "ping" };

  test.each([
    ["no JSON", "{", 400, -32_700],
    ["a batch", [request], 400, -32_600],
    ["an empty batch", [], 400, -32_600],
    ["a text", '"ping"', 400, -32_600],
    ["another version of JSON-RPC", { ...request, jsonrpc: "1.0" }, 400, -32_600],
    ["an id that is null", { ...request, id: null }, 400, -32_600],
    ["no method", { jsonrpc: "2.0", id: 1, result: {} }, 400, -32_600],
    ["params that are a list", { ...request, params: [] }, 400, -32_602],
    ["an unknown method", { ...request, method: "resources/list" }, 200, -32_601],
    ["a tool without a name", { ...request, method: "tools/call", params: {} }, 200, -32_602],
  ] as const)("%s is refused", async (_what, body, status, code) => {
    expect(await send(server, token, body)).toMatchObject({ status, body: { jsonrpc: "2.0", error: { code } } });
  });

  test("200 characters of an id are taken, one more is refused", async () => {
    const id = "i".repeat(LIMITS.mcpMessageIdCharacters);
    expect(await send(server, token, { ...request, id })).toMatchObject({ status: 200, body: { id, result: {} } });
    expect(await send(server, token, { ...request, id: `${id}i` })).toMatchObject({
      status: 400,
      body: { error: { code: -32_600, message: expect.stringContaining("200 characters") } },
    });
    const number = "7".repeat(LIMITS.mcpMessageIdCharacters);
    const withId = (text: string): string => JSON.stringify({ ...request, id: 0 }).replace('"id":0', `"id":${text}`);
    expect(await send(server, token, withId(number))).toMatchObject({ status: 200, body: { result: {} } });
    expect(await send(server, token, withId(`${number}7`))).toMatchObject({
      status: 400,
      body: { error: { code: -32_600 } },
    });
  });

  test.each([
    ["a version that there is not", {}, { "mcp-protocol-version": "1999-01-01" }, "1999-01-01", -32_022],
    ["a version that differs from its header", {}, { "mcp-protocol-version": "2025-11-25" }, STATELESS, -32_020],
    ["a method that differs from its header", {}, { "mcp-method": "tools/list" }, STATELESS, -32_020],
    ["a name that differs from its header", {}, { "mcp-name": "test_three" }, STATELESS, -32_020],
    ["capabilities that are none", { "io.modelcontextprotocol/clientCapabilities": 1 }, {}, STATELESS, -32_602],
  ] as const)("%s is refused", async (_what, meta, headers, version, code) => {
    const given = { "io.modelcontextprotocol/protocolVersion": version, ...meta };
    const refused = await ask(server, token, "tools/call", { name: "test_echo" }, { meta: given, headers });
    expect(refused).toMatchObject({ status: 400, body: { error: { code } } });
  });

  test("a name in base64 is read", async () => {
    const headers = { "mcp-name": `=?base64?${Buffer.from("test_echo").toString("base64")}?=` };
    const { body } = await ask(server, token, "tools/call", { name: "test_echo", arguments: {} }, { headers });
    expect(body.result.structuredContent.status).toBe("completed");
  });

  test("an unknown method of the stateless revision is 404", async () => {
    for (const method of ["resources/list", "initialize", "toString"])
      expect(await ask(server, token, method)).toMatchObject({ status: 404, body: { error: { code: -32_601 } } });
  });

  test("only JSON by POST is taken, of 1 MiB, from no other page", async () => {
    expect(await send(server, token, request, { "content-type": "text/plain" })).toMatchObject({ status: 415 });
    expect(await send(server, token, "", {}, "GET")).toMatchObject({ status: 405 });
    expect(await send(server, token, "", {}, "DELETE")).toMatchObject({ status: 405 });
    expect(await send(server, token, { ...request, params: { a: "x".repeat(LIMITS.bodyBytes) } })).toMatchObject({
      status: 413,
      body: { error: { data: { code: "REQUEST_ENTITY_TOO_LARGE" } } },
    });
    expect(await send(server, token, request, { origin: "https://evil.example" })).toMatchObject({ status: 403 });
  });
});

describe("a call", () => {
  const start = (name: string, headers: Record<string, string> = {}) =>
    ask(server, token, "tools/call", { name, arguments: {} }, { headers });

  test("has its key in a header, too", async () => {
    const headers = { "idempotency-key": "in-a-header" };
    const [first, again] = [await start("test_echo", headers), await start("test_echo", headers)];
    expect(first.body.result.structuredContent).toMatchObject({ status: "completed" });
    expect(again.body.result.structuredContent).toEqual(first.body.result.structuredContent);
  });

  test("of an agent that is paused is a result that says so", async () => {
    const agentId = await publish(server, "three");
    const set = (status: string) =>
      server.data(`mutation { setAgentStatus(input: {agentId: "${agentId}", status: ${status}}) { id } }`);
    await set("paused");
    // The list that a client keeps still has it.
    expect((await start("test_three")).body.result).toMatchObject({
      isError: true,
      _meta: { "autograph/error": { code: "CONFLICT", reason: "wrong_state" } },
    });
    await set("active");
  });

  test("whose client goes away leaves its run alone", async () => {
    const agentId = await publish(server, "patient");
    const gone = new AbortController();
    const answer = fetch(`${server.url}/mcp`, {
      method: "POST",
      signal: gone.signal,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test_patient" } }),
    });
    const RUNS = `{ runs(first: 1, filter: {agentId: ["${agentId}"]}) { nodes { id } } }`;
    const { id } = await eventually(async () => (await server.data(RUNS)).runs.nodes[0]);
    gone.abort();
    await expect(answer).rejects.toThrow();
    // A second in which its end would be seen.
    const looked = await ask(server, token, "tools/call", { name: "get_run", arguments: { runId: id, wait: 1 } });
    expect(looked.body.result.structuredContent).toMatchObject({ status: "running" });
    await server.data(CANCEL, { id });
  });

  test("of a client with tasks is no task for a key that could not read it", async () => {
    const agentId = await publish(server, "approve");
    const blind = await narrowedKey(server, [agentId], ["agents:read", "runs:start"]);
    const { result } = (await askWithTasks(server, blind, "tools/call", { name: "test_approve", arguments: {} })).body;
    expect(result).toMatchObject({ structuredContent: { status: "paused" } });
    expect(result).not.toHaveProperty("taskId");
  });
});

test("an approval that is decided by a tool has the key in the audit", async () => {
  await publish(server, "approve");
  const scopes = ["agents:read", "runs:start", "runs:read", "approvals:decide"];
  const { id, secret } = (await server.data(MAKE_KEY, { input: { name: "decider", scopes } })).createApiKey;
  const decide = (name: string, given: object) => ask(server, secret, "tools/call", { name, arguments: given });
  const { runId } = (await decide("test_approve", {})).body.result.structuredContent;
  const { approvals } = (await decide("list_approvals", { runId })).body.result.structuredContent;
  await decide("decide_approval", { approvalId: approvals[0].approvalId, decision: "reject" });
  expect((await readRun(server, runId)).approvals.nodes).toMatchObject([{ status: "rejected" }]);
  const AUDIT = "{ auditEvents(first: 1, filter: {action: [approval_decided]}) { nodes { actor { id } } } }";
  expect((await server.data(AUDIT)).auditEvents.nodes).toEqual([{ actor: { id } }]);
});

test("lists may be kept for five seconds", async () => {
  expect((await ask(server, token, "tools/list")).body.result).toMatchObject({ ttlMs: 5_000 });
});
