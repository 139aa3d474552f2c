/** The language over the wire: `call: mcp`, against the official servers and hostile ones. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startEndpoint, type Endpoint, type EndpointAnswer } from "./endpoint.ts";
import { startEverything, startStateless, type Served } from "./mcp-servers.ts";
import { agentOf, ENDED, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const HOUR_MS = 3_600_000;
const CALL = { method: "tools/call", parameters: { name: "price", arguments: { id: "7" } } };

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

type With = { url?: string; transport?: object; [key: string]: unknown };

/** A task `ask`; `more` stands beside `with`. */
const task = ({ url = endpoint.url, transport = { http: { endpoint: url } }, ...given }: With, more = {}): string =>
  JSON.stringify({ ask: { call: "mcp", with: { transport, ...given }, ...more } });
const asks = (given: With, more?: object): Promise<Data> =>
  runOf(server, `do: [${task(given, more)}]\noutput: {as: '\${ {it: .} }'}`);
const outputOf = async (given: With): Promise<Data> => {
  const { output, error } = await asks(given);
  expect(error).toBe(null);
  return output.it;
};
const errorOf = async (given: With, more?: object): Promise<Data> => (await asks(given, more)).error;
const typed = (type: string) => expect.stringMatching(new RegExp(`/${type}$`));

const json = (body: unknown, status = 200, headers = {}): EndpointAnswer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});
const result = (value: object): EndpointAnswer => json({ jsonrpc: "2.0", id: 1, result: value });
const refusal = (code: number, message: string, status = 400, data?: object): EndpointAnswer =>
  json({ jsonrpc: "2.0", id: 1, error: { code, message, ...(data && { data }) } }, status);
const asked = (index: number): Data => JSON.parse(endpoint.seen[index]!.body);
const methods = (): string[] => endpoint.seen.map(({ body }) => (body === "" ? "end" : JSON.parse(body).method));

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

  test("is the output if the author takes it", async () => {
    expect(await outputOf({ url: stateless.url, ...broken, onError: "continue" })).toMatchObject({
      isError: true,
      content: [{ text: "no 7 here" }],
    });
  });
});

describe("what a server answers wrongly", () => {
  const sse = (body: string): EndpointAnswer => ({ headers: { "content-type": "text/event-stream" }, body });
  const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;
  const progress = event({ jsonrpc: "2.0", method: "notifications/progress", params: {} });

  test.each<[string, EndpointAnswer, string, number, RegExp]>([
    ["parameters that it refuses", refusal(-32_602, "no such tool", 200), "validation", 400, /-32602: no such tool$/],
    ["an error of its own", refusal(-32_603, "it broke", 200), "communication", 500, /-32603: it broke$/],
    ["an error of its own that looks older", refusal(-32_603, "broke", 400), "communication", 400, /: broke$/],
    ["a method that it has not", refusal(-32_601, "no such", 404), "communication", 404, /-32601: no such$/],
    ["an error of its own with a status", refusal(-32_603, "it broke", 500), "communication", 500, /: it broke$/],
    ["401", { status: 401, body: "who?" }, "communication", 401, /answered 401 Unauthorized: who\?$/],
    ["429", { status: 429 }, "communication", 429, /answered 429/],
    ["a redirect", { status: 307, headers: { location: "/b" } }, "communication", 307, /answered 307/],
    ["nothing", { status: 200 }, "communication", 500, /not answer as an MCP server: it sent nothing$/],
    ["a page", { headers: { "content-type": "text/html" }, body: "<p>" }, "communication", 500, /sent text\/html/],
    ["broken JSON", { headers: { "content-type": "application/json" }, body: "{" }, "communication", 500, /JSON/],
    ["JSON of no message", json([1]), "communication", 500, /application\/json without an answer/],
    ["a stream without its answer", sse(progress), "communication", 500, /event-stream without an answer/],
    ["a stream of another's answer", sse(event({ id: 9, result: {} })), "communication", 500, /without an answer/],
    ["a question back", result({ resultType: "input_required" }), "communication", 500, /asks for input/],
    ["a kind of result not known", result({ resultType: "task" }), "communication", 500, /of type "task"/],
  ])("%s", async (_, answer, type, status, detail) => {
    endpoint.answer = answer;
    expect(await errorOf(CALL)).toMatchObject({ type: typed(type), status, detail: expect.stringMatching(detail) });
    expect(endpoint.seen).toHaveLength(1);
  });

  test("progress before the answer, and lines that mean nothing, are passed over", async () => {
    const answer = JSON.stringify(
      { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "é" }] } },
      null,
      1,
    );
    const lines = answer.split("\n").map((line) => `data: ${line}`);
    endpoint.answer = sse(`: hello\r\n\r\nid: 1\ndata:\n\n${progress}event: message\n${lines.join("\n")}\n\n`);
    expect(await outputOf(CALL)).toEqual({ content: [{ type: "text", text: "é" }] });
  });

  test("more than an answer may have ends the call, announced or without end", async () => {
    const bytes = Buffer.alloc(64 * 1024, "data: {}\n\n");
    const endless = createServer((request, response) => {
      const isAnnounced = request.url === "/announced";
      response.writeHead(200, {
        "content-type": "text/event-stream",
        ...(isAnnounced && { "content-length": 100 * 1024 * 1024 }),
      });
      const more = (): void => void (!response.destroyed && response.write(bytes, () => setImmediate(more)));
      request.resume().once("end", more);
    }).listen(0, "127.0.0.1");
    await once(endless, "listening");
    const origin = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;
    for (const path of ["/announced", "/endless"])
      expect(await errorOf({ ...CALL, url: origin + path })).toMatchObject({
        type: typed("communication"),
        detail: expect.stringMatching(/is larger than 1048576 bytes$/),
      });
    endless.closeAllConnections();
    endless.close();
  });

  test("a connection that is cut is communication", async () => {
    const cut = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1");
    await once(cut, "listening");
    const url = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
    expect(await errorOf({ ...CALL, url })).toMatchObject({ type: typed("communication") });
    cut.close();
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

describe("credentials", () => {
  const TOKEN = "a-token-no-one-may-see-x";
  const secretly = (given: With): string =>
    `use: {secrets: [mcpToken]}\ndo: [${task({
      ...given,
      transport: {
        http: { endpoint: { uri: endpoint.url, authentication: { bearer: { token: "${ $secrets.mcpToken }" } } } },
      },
    })}]`;
  beforeAll(() =>
    server.data("mutation($input: SetSecretInput!) { setSecret(input: $input) { id } }", {
      input: { projectId: server.world.projectId, name: "mcpToken", value: TOKEN },
    }),
  );

  test("go with each message, and nothing of what comes back has them", async () => {
    const content = [{ type: "text", text: `you sent ${TOKEN}, ${Buffer.from(TOKEN).toString("base64")}` }];
    endpoint.answers = [
      { status: 400 },
      json({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-11-25" } }),
      { status: 202 },
      result({ content }),
    ];
    const run = await runOf(server, secretly(CALL));
    expect(run.output.content).toEqual([{ type: "text", text: "you sent [redacted], [redacted]" }]);
    expect(endpoint.seen.map(({ headers }) => headers.authorization)).toEqual(Array(4).fill(`Bearer ${TOKEN}`));
    expect(JSON.stringify(run)).not.toContain(TOKEN);
  });

  test.each<[string, EndpointAnswer]>([
    ["a tool's error", result({ isError: true, content: [{ type: "text", text: `bad ${TOKEN}` }] })],
    ["an error of the protocol", refusal(-32_602, `bad ${TOKEN}`, 200, { token: TOKEN })],
    ["a refusal", { status: 403, body: TOKEN }],
    ["a kind of result", result({ resultType: TOKEN })],
  ])("are hidden in %s", async (_, answer) => {
    endpoint.answer = answer;
    const run = await runOf(server, secretly(CALL));
    expect(run.error.detail).toContain("[redacted]");
    expect(JSON.stringify(run)).not.toContain(TOKEN);
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
