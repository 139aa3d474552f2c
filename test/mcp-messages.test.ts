/** Requests to `/mcp` that no official client would send. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { ask, send, STATELESS } from "./mcp-client.ts";
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
