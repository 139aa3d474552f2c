/** The language over the wire: `call: mcp`, against the official servers and one of our own. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { CALL, callsTo, json, refusal, result, typed, type With } from "./mcp-calls.ts";
import { startEverything, startStateless, type Served } from "./mcp-servers.ts";
import { agentOf, ENDED, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const HOUR_MS = 3_600_000;

let server: MovedServer;
let endpoint: Endpoint;
let stateless: Served;
let both: Served;
let everything: Served;
beforeAll(async () => {
  endpoint = await startEndpoint();
  [stateless, both, everything] = await Promise.all([startStateless(), startStateless("stateless"), startEverything()]);
  server = await movedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  for (const one of [endpoint, stateless, both, everything]) await one[Symbol.asyncDispose]();
});
beforeEach(() => {
  endpoint.reset();
  for (const one of [stateless, both, everything]) one.asked.length = 0;
});

const { task, asked, methods, outputOf, errorOf } = callsTo(() => ({ server, endpoint }));

describe("a server of 2026-07-28", () => {
  test("answers each method of the standard, in one request each", async () => {
    const url = stateless.url;
    const { tools } = await outputOf({ url, method: "tools/list" });
    expect(tools.map(({ name }: Data) => name)).toEqual(["price", "broken"]);
    expect(await outputOf({ url, ...CALL })).toMatchObject({
      content: [{ type: "text", text: "7 costs 5" }],
      structuredContent: { id: "7", price: 5 },
    });
    expect((await outputOf({ url, method: "prompts/list" })).prompts).toMatchObject([{ name: "greet" }]);
    const greet = { name: "greet", arguments: { who: "Ada" } };
    expect((await outputOf({ url, method: "prompts/get", parameters: greet })).messages).toMatchObject([
      { content: { text: "Greet Ada" } },
    ]);
    expect((await outputOf({ url, method: "resources/list" })).resources).toMatchObject([{ uri: "shop://hours" }]);
    expect(
      (await outputOf({ url, method: "resources/read", parameters: { uri: "shop://items/ä" } })).contents,
    ).toMatchObject([{ text: "open from nine" }]);
    expect((await outputOf({ url, method: "resources/templates/list" })).resourceTemplates).toMatchObject([
      { uriTemplate: "shop://items/{id}" },
    ]);
    expect(stateless.asked).toHaveLength(7);
  });

  test("is given what expressions yield, who asks and a key for repeats", async () => {
    endpoint.answer = result({ resultType: "complete", content: [], _meta: { a: 1 } });
    const given = task({
      method: "tools/call",
      parameters: "${ {name: .tool, arguments: {id: .id}, _meta: {progressToken: 3}} }",
      client: { name: "desk", version: "2" },
      transport: { http: { endpoint: `${endpoint.url}/{tool}`, headers: { "X-Desk": "${ .id }" } } },
    });
    const run = await runOf(server, `do: [${given}]`, { tool: "größe", id: 12 });
    expect(run.output).toEqual({ content: [], _meta: { a: 1 } });
    const [{ headers, url }] = endpoint.seen as [Data];
    expect(url).toBe("/gr%C3%B6%C3%9Fe");
    expect(headers).toMatchObject({
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": `=?base64?${Buffer.from("größe").toString("base64")}?=`,
      "x-desk": "12",
    });
    expect(asked(0).params).toEqual({
      name: "größe",
      arguments: { id: 12 },
      _meta: {
        progressToken: 3,
        "autograph/idempotencyKey": headers["idempotency-key"],
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "desk", version: "2" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    });
    expect(run.steps).toMatchObject([{ kind: "mcp", status: "completed", input: { method: "tools/call" } }]);
  });

  test("is asked with headers that repeat arguments if the tool wants them", async () => {
    const properties = {
      region: { type: "string", "x-mcp-header": "Region" },
      place: { type: "object", properties: { floor: { type: "integer", "x-mcp-header": "Floor" } } },
      none: { type: "string", "x-mcp-header": "None" },
    };
    endpoint.answers = [
      refusal(-32_020, "headers are missing"),
      result({ resultType: "complete", tools: [{ name: "other" }], nextCursor: "2" }),
      result({ resultType: "complete", tools: [{ name: "price", inputSchema: { type: "object", properties } }] }),
    ];
    endpoint.answer = result({ resultType: "complete", content: [] });
    const parameters = { name: "price", arguments: { region: "é", place: { floor: 4 }, none: null } };
    await outputOf({ method: "tools/call", parameters });
    expect(methods()).toEqual(["tools/call", "tools/list", "tools/list", "tools/call"]);
    expect(asked(2).params.cursor).toBe("2");
    const { headers } = endpoint.seen[3]!;
    expect(headers).toMatchObject({ "mcp-param-region": "=?base64?w6k=?=", "mcp-param-floor": "4" });
    expect(headers).not.toHaveProperty("mcp-param-none");
    expect(headers["idempotency-key"]).toBe(endpoint.seen[0]!.headers["idempotency-key"]);
  });

  test("whose list never ends is looked through twenty pages of tools", async () => {
    endpoint.answers = [refusal(-32_020, "headers are missing")];
    endpoint.answer = result({ resultType: "complete", tools: [], nextCursor: "again" });
    await outputOf(CALL);
    const pages = Array(LIMITS.mcpPagesOfTools).fill("tools/list");
    expect(methods()).toEqual(["tools/call", ...pages, "tools/call"]);
  });

  test("is looked through no further if its cursor is too long", async () => {
    for (const [more, pages] of [
      [0, 2],
      [1, 1],
    ] as const) {
      const nextCursor = "x".repeat(LIMITS.mcpCursorCharacters + more);
      endpoint.reset();
      endpoint.answers = [
        refusal(-32_020, "headers are missing"),
        result({ resultType: "complete", tools: [], nextCursor }),
      ];
      endpoint.answer = result({ resultType: "complete", tools: [] });
      await outputOf(CALL);
      expect(methods()).toEqual(["tools/call", ...Array(pages).fill("tools/list"), "tools/call"]);
    }
  });

  test("that wants a header which two arguments claim, or whose name is none, has the last word", async () => {
    const properties = {
      a: { "x-mcp-header": "Same" },
      b: { "x-mcp-header": "SAME" },
      c: { "x-mcp-header": "a: b\r\nhost" },
      d: { "x-mcp-header": "" },
    };
    endpoint.answers = [
      refusal(-32_020, "headers are missing"),
      result({ resultType: "complete", tools: [{ name: "price", inputSchema: { properties } }] }),
      refusal(-32_020, "headers are wrong"),
    ];
    const parameters = { name: "price", arguments: { a: "1", b: "2", c: "3", d: "4" } };
    expect((await errorOf({ method: "tools/call", parameters })).detail).toMatch(/-32020: headers are wrong$/);
    expect(methods()).toEqual(["tools/call", "tools/list", "tools/call"]);
    const own = Object.entries(endpoint.seen[2]!.headers).filter(([name]) => name.startsWith("mcp-param-"));
    expect(own).toEqual([["mcp-param-same", expect.stringMatching(/^[12]$/)]]);
  });
});

describe("an older server", () => {
  test("is asked in a session, which is ended", async () => {
    const { tools } = await outputOf({ url: everything.url, method: "tools/list" });
    expect(tools.map(({ name }: Data) => name)).toContain("echo");
    const [, opened, ...inSession] = everything.asked;
    expect(JSON.parse(opened!.body)).toMatchObject({
      method: "initialize",
      params: { protocolVersion: "2025-11-25", clientInfo: { name: "autograph" } },
    });
    expect(inSession.map(({ method, body }) => (body ? JSON.parse(body).method : method))).toEqual([
      "notifications/initialized",
      "tools/list",
      "DELETE",
    ]);
    expect(new Set(inSession.map(({ headers }) => headers["mcp-session-id"])).size).toBe(1);
    expect(inSession.map(({ headers }) => headers["mcp-protocol-version"])).toEqual(Array(3).fill("2025-11-25"));
  });

  test("answers in streams, errors too", async () => {
    const { url } = everything;
    const echo = { name: "echo", arguments: { message: "hello" } };
    expect(await outputOf({ url, method: "tools/call", parameters: echo })).toEqual({
      content: [{ type: "text", text: "Echo: hello" }],
    });
    expect(await errorOf({ url, method: "resources/read", parameters: { uri: "demo://none" } })).toMatchObject({
      type: expect.stringMatching(/\/(?:validation|communication)$/),
    });
  });

  test("is asked in its revision at once if the definition names it", async () => {
    await outputOf({ url: both.url, ...CALL, protocolVersion: "2025-06-18" });
    expect(both.asked.map(({ body }) => JSON.parse(body).method)).toEqual([
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
    expect(JSON.parse(both.asked[0]!.body).params.protocolVersion).toBe("2025-06-18");
    expect(both.asked[2]!.headers["mcp-protocol-version"]).toBe("2025-06-18");
  });

  test("is not asked in a session if the definition names 2026-07-28", async () => {
    expect(await errorOf({ url: everything.url, ...CALL, protocolVersion: "2026-07-28" })).toMatchObject({
      type: typed("communication"),
      status: 400,
    });
    expect(everything.asked).toHaveLength(1);
  });

  test.each([
    ["names only older revisions", refusal(-32_022, "no", 400, { supported: ["2025-06-18"], requested: "" })],
    ["has no such path for it", { status: 404, body: "none" }],
    ["has no such method before it", refusal(-32_601, "no such", 400)],
  ])("that %s is asked with initialize, once it speaks a revision that is known", async (_, first) => {
    endpoint.answers = [
      first,
      json({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-06-18" } }, 200, { "mcp-session-id": "s" }),
      { status: 202 },
      result({ content: [] }),
    ];
    expect(await outputOf(CALL)).toEqual({ content: [] });
    expect(methods()).toEqual(["tools/call", "initialize", "notifications/initialized", "tools/call", "end"]);
    endpoint.reset();
    endpoint.answers = [first, json({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2024-11-05" } })];
    expect((await errorOf(CALL)).detail).toMatch(/^the server speaks the revision "2024-11-05" of MCP/);
    expect(methods()).toEqual(["tools/call", "initialize"]);
  });

  test("that refuses initialize too is quoted with its first refusal", async () => {
    endpoint.answers = [refusal(-32_000, "who are you"), refusal(-32_001, "not so")];
    expect((await errorOf(CALL)).detail).toMatch(/-32000: who are you$/);
    expect(methods()).toEqual(["tools/call", "initialize"]);
    endpoint.answers = [refusal(-32_001, "not so")];
    expect((await errorOf({ ...CALL, protocolVersion: "2025-06-18" })).detail).toMatch(/-32001: not so$/);
  });

  test("that refuses to end its session has answered all the same", async () => {
    endpoint.answers = [
      json({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-06-18" } }, 200, { "mcp-session-id": "s" }),
      { status: 202 },
      result({ content: [] }),
    ];
    endpoint.answer = { status: 405 };
    expect(await outputOf({ ...CALL, protocolVersion: "2025-06-18" })).toEqual({ content: [] });
    expect(methods().at(-1)).toBe("end");
  });
});

describe("a tool's own error", () => {
  const broken = { method: "tools/call", parameters: { name: "broken", arguments: { id: "7" } } };

  test("is the error tool, with what it said", async () => {
    expect(await errorOf({ url: stateless.url, ...broken })).toMatchObject({
      type: typed("tool"),
      status: 500,
      detail: expect.stringMatching(/^the tool failed at 127\.0\.0\.1:\d+: no 7 here$/),
    });
    const caught = `{errors: {with: {type: tool}}, do: [{note: {set: {said: '\${ $error.response.body.content[0].text }'}}}]}`;
    const run = await runOf(server, `do: [{a: {try: [${task({ url: stateless.url, ...broken })}], catch: ${caught}}}]`);
    expect(run.output).toEqual({ said: "no 7 here" });
  });

  test("repeats the first 500 characters of it", async () => {
    endpoint.answer = result({ isError: true, content: [{ type: "text", text: "x".repeat(501) }, { type: "image" }] });
    expect((await errorOf(CALL)).detail).toMatch(/: x{500}$/);
  });

  test("is the output if the author takes it", async () => {
    expect(await outputOf({ url: stateless.url, ...broken, onError: "continue" })).toMatchObject({
      isError: true,
      content: [{ text: "no 7 here" }],
    });
  });
});

describe("time", () => {
  /** Starts a call that is never answered, and moves the clock on. */
  const patience = async (given: With, ms: number, more?: object): Promise<Data> => {
    endpoint.answer = "held";
    const id = await start(server, await agentOf(server, `do: [${task({ ...CALL, ...given }, more)}]`));
    await eventually(() => endpoint.held === 1);
    await server.clock.advance(ms);
    return until(server, id, ...ENDED);
  };

  test.each<[string, With, number, RegExp]>([
    ["a minute", {}, 60_000, /did not answer in full within 60 s$/],
    ["its own timeout", { timeout: "PT5S" }, 5_000, /within 5 s$/],
  ])("a server that hangs is given up after %s", async (_, given, ms, detail) => {
    const { error } = await patience(given, ms);
    expect(error).toMatchObject({ type: typed("timeout"), status: 408, detail: expect.stringMatching(detail) });
  });

  test("the task's timeout ends it too, an hour at most", async () => {
    const { error } = await patience({}, HOUR_MS, { timeout: { after: "PT2H" } });
    expect(error.type).toMatch(/\/timeout$/);
  });
});

describe("a call is one effect", () => {
  test("its tries have one key", async () => {
    endpoint.answers = [{ status: 503 }];
    endpoint.answer = result({ content: [] });
    const retry = "{retry: {delay: PT0S, limit: {attempt: {count: 2}}}}";
    const run = await runOf(server, `do: [{a: {try: [${task(CALL)}], catch: ${retry}}}]`);
    expect(run.status).toBe("completed");
    expect(new Set(endpoint.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    expect(endpoint.seen).toHaveLength(2);
  });

  test("the process that dies during it leaves a repeat with the same key", async () => {
    endpoint.answer = "held";
    const id = await start(server, await agentOf(server, `do: [${task(CALL)}]`));
    await eventually(() => endpoint.held === 1);
    await server.kill();
    endpoint.answer = result({ content: [] });
    await server.restart();
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed", output: { content: [] } });
    expect(new Set(endpoint.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  });
});

describe("nothing is sent", () => {
  test.each<[string, With, string, RegExp]>([
    [
      "without the name of a tool",
      { method: "tools/call", parameters: { name: "${ .none }" } },
      "expression",
      /\/do\/0\/ask\/with\/parameters\/name is not a text, so nothing was sent$/,
    ],
    [
      "with parameters that are no object",
      { method: "tools/list", parameters: "${ [1] }" },
      "expression",
      /\/do\/0\/ask\/with\/parameters is not an object/,
    ],
    [
      "to an address without its value",
      { ...CALL, transport: { http: { endpoint: '${ "http://127.0.0.1/\\(.none)" }' } } },
      "expression",
      /\.none in \/do\/0\/ask\/with\/transport\/http\/endpoint is null, so nothing was sent/,
    ],
    [
      "to an address that is not allowed",
      { ...CALL, transport: { http: { endpoint: "http://169.254.169.254/mcp" } } },
      "authorization",
      /refused/,
    ],
  ])("%s", async (_, given, type, detail) => {
    expect(await errorOf(given)).toMatchObject({ type: typed(type), detail: expect.stringMatching(detail) });
    expect(endpoint.seen).toHaveLength(0);
  });
});
