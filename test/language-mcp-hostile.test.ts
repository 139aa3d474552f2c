/** `call: mcp` and servers that answer wrongly, give odd sessions or repeat what they should not. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { startEndpoint, type Endpoint, type EndpointAnswer } from "./endpoint.ts";
import { CALL, callsTo, json, refusal, result, typed, type With } from "./mcp-calls.ts";
import { agentOf, ENDED, runOf, until } from "./runs.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

let server: MovedServer;
let endpoint: Endpoint;
beforeAll(async () => {
  [endpoint, server] = await Promise.all([startEndpoint(), movedServer()]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});
beforeEach(() => endpoint.reset());

const { task, methods, outputOf, errorOf } = callsTo(() => ({ server, endpoint }));

describe("a session", () => {
  const older = { ...CALL, protocolVersion: "2025-06-18" };
  const opened = (id: string): EndpointAnswer =>
    json({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-06-18" } }, 200, { "mcp-session-id": id });
  const callsHeld = (id: string): EndpointAnswer[] => [opened(id), { status: 202 }];

  test.each([
    ["a letter that no header has", "\u00e9", /id that can't be sent back/],
    ["a space", "a b", /id that can't be sent back/],
    ["nothing", "", /id that can't be sent back/],
    ["100 kB", "x".repeat(100_000), /headers of the answer of .* are larger than 16384 bytes$/],
  ])("whose id has %s is not used", async (_, id, detail) => {
    endpoint.answers = [opened(id)];
    expect(await errorOf(older)).toMatchObject({ type: typed("communication"), detail: expect.stringMatching(detail) });
    expect(methods()).toEqual(["initialize"]);
  });

  test("is named by each message after it, whatever visible characters it has, and by no other", async () => {
    const id = `:=;,"{}'\\%0d%0a${"x".repeat(10_000)}`;
    endpoint.answers = [
      ...callsHeld(id),
      json({ id: 1, result: { protocolVersion: "x" } }, 200, { "mcp-session-id": "b" }),
    ];
    expect(await outputOf(older)).toEqual({ protocolVersion: "x" });
    expect(endpoint.seen.map(({ headers }) => headers["mcp-session-id"])).toEqual([undefined, id, id, id]);
    expect(methods().at(-1)).toBe("end");
  });

  test("is begun whatever stands in what answers a notification", async () => {
    const broken = { status: 202, headers: { "content-type": "application/json" }, body: "{" };
    endpoint.answers = [opened("s"), broken, result({ content: [] })];
    expect(await outputOf(older)).toEqual({ content: [] });
  });

  test("is ended if the run is cancelled, without making it wait", async () => {
    endpoint.answers = callsHeld("s");
    endpoint.answer = "held";
    const id = await start(server, await agentOf(server, `do: [${task(older)}]`));
    await eventually(() => endpoint.held === 1);
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "cancelled" });
    await eventually(() => methods().at(-1) === "end");
    expect(endpoint.seen.at(-1)!.headers["mcp-session-id"]).toBe("s");
    await server.clock.advance(2_000);
    await eventually(() => endpoint.held === 0);
  });

  test("is ended if its time is over", async () => {
    endpoint.answers = callsHeld("s");
    endpoint.answer = "held";
    const id = await start(server, await agentOf(server, `do: [${task({ ...older, timeout: "PT5S" })}]`));
    await eventually(() => endpoint.held === 1);
    await server.clock.advance(5_000);
    expect(await until(server, id, ...ENDED)).toMatchObject({
      error: { type: typed("timeout"), detail: expect.stringMatching(/within 5 s$/) },
    });
    await eventually(() => methods().at(-1) === "end");
  });

  test("that the process died in is begun again, with the same key for the call", async () => {
    endpoint.answers = [{ status: 400 }, ...callsHeld("one")];
    endpoint.answer = "held";
    const id = await start(server, await agentOf(server, `do: [${task(CALL)}]`));
    await eventually(() => endpoint.held === 1);
    await server.kill();
    endpoint.answers = [{ status: 400 }, ...callsHeld("two"), result({ content: [] }), { status: 200 }];
    await server.restart();
    expect(await until(server, id, ...ENDED)).toMatchObject({ status: "completed", output: { content: [] } });
    const once = ["tools/call", "initialize", "notifications/initialized", "tools/call"];
    expect(methods()).toEqual([...once, ...once, "end"]);
    const keys = endpoint.seen.map(({ headers }) => headers["idempotency-key"]);
    const key = expect.stringMatching(/^[\w-]{22}$/);
    expect(keys).toEqual([key, undefined, undefined, keys[0], keys[0], undefined, undefined, keys[0], undefined]);
    expect(endpoint.seen[7]!.headers["mcp-session-id"]).toBe("two");
  });
});

describe("what a server answers wrongly", () => {
  const sse = (body: string): EndpointAnswer => ({ headers: { "content-type": "text/event-stream" }, body });
  const event = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;
  /** With the id of the request that it comes in answer to. */
  const ASKED_BACK = {
    jsonrpc: "2.0",
    id: 1,
    method: "sampling/createMessage",
    params: { messages: [], maxTokens: 5 },
  };
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
    ["another's answer", json({ jsonrpc: "2.0", id: 9, result: {} }), "communication", 500, /json without an answer/],
    ["its answer's id as a text", json({ id: "1", result: {} }), "communication", 500, /json without an answer/],
    [
      "an error with another id",
      json({ id: "server-error", error: { code: -32_602, message: "no" } }),
      "validation",
      400,
      /-32602: no$/,
    ],
    ["a request in place of an answer", json(ASKED_BACK), "communication", 500, /json without an answer/],
    ["a stream of requests", sse(event(ASKED_BACK)), "communication", 500, /event-stream without an answer/],
    ["a stream of another's answer", sse(event({ id: 9, result: {} })), "communication", 500, /without an answer/],
    ["a question back", result({ resultType: "input_required" }), "communication", 500, /asks for input/],
    ["a kind of result not known", result({ resultType: "task" }), "communication", 500, /of type "task"/],
    ["an object for its kind", result({ resultType: { toString: 1 } }), "communication", 500, /type \{"toString":1\},/],
    [
      "an object for its code",
      refusal({ toString: 1 }, "no", 200),
      "communication",
      500,
      /error \{"toString":1\}: no$/,
    ],
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

  /** A server that leaves each stream open; `pieces` of each come one by one, each when the one before was seen to be no answer. */
  const leavingOpen = async (
    pieces: string[][],
    given: With,
    headers: object = { "content-type": "text/event-stream" },
  ): Promise<{ run: Data; closed: Promise<unknown> }> => {
    const open = createServer((request, response) => {
      closed = once(response, "close");
      response.writeHead(200, headers as Record<string, string>).flushHeaders();
      const own = pieces.shift() ?? [];
      const more = (): void => {
        const piece = own.shift();
        if (piece === undefined || response.destroyed) return;
        response.write(piece);
        setTimeout(more, 300);
      };
      request.resume().once("end", more);
    }).listen(0, "127.0.0.1");
    let closed: Promise<unknown> = Promise.resolve();
    await once(open, "listening");
    const url = `http://127.0.0.1:${(open.address() as AddressInfo).port}`;
    const run = await runOf(server, `do: [${task({ ...given, url })}]`);
    open.close();
    return { run, closed };
  };
  const answer = event({ jsonrpc: "2.0", id: 1, result: { content: [] } });

  test.each([
    ["at once", [answer]],
    ["after requests to us", [event(ASKED_BACK), event({ ...ASKED_BACK, method: "elicitation/create" }), answer]],
    ["after its events", [progress, `: waits\n\n${progress}`, answer]],
    ["in parts", ["data: {", answer.slice("data: {".length, 20), answer.slice(20)]],
    ["in the last byte", [answer.slice(0, -1), "\n"]],
    ["with returns", [progress, answer.replaceAll("\n", "\r\n")]],
    ["before more events", [answer + progress + ": go", "es on"]],
  ])("a stream that gives the answer %s and stays open is left", async (_, pieces) => {
    const { run, closed } = await leavingOpen([[...pieces]], CALL);
    expect(run).toMatchObject({ status: "completed", output: { content: [] } });
    await closed;
  });

  test("streams that stay open in a session are left, also the one that answers a notification", async () => {
    const initialized = event({ jsonrpc: "2.0", id: 0, result: { protocolVersion: "2025-06-18" } });
    const { run } = await leavingOpen([[initialized], [progress], [answer]], {
      ...CALL,
      protocolVersion: "2025-06-18",
    });
    expect(run).toMatchObject({ status: "completed", output: { content: [] } });
  });

  test("a stream that stays open after what can't be read is left too", async () => {
    const { run } = await leavingOpen([["data: {\n\n"]], CALL);
    expect(run.error).toMatchObject({ type: typed("communication"), detail: expect.stringMatching(/not valid JSON$/) });
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

  test.each([
    ["before an answer", undefined],
    ["amid a stream", "text/event-stream"],
    ["amid an answer", "application/json"],
  ])("a connection that is cut %s is communication, and a retry has the answer", async (_, type) => {
    let count = 0;
    const cut = createServer((request, response) => {
      if (++count > 1) {
        const { headers = {}, body } = result({ content: [] }) as { headers?: Record<string, string>; body: string };
        return void response.writeHead(200, headers).end(body);
      }
      if (type === undefined) return void request.socket.destroy();
      response.writeHead(200, { "content-type": type });
      response.write(type === "application/json" ? '{"jsonrpc": "2.0", "id": 1, "result"' : progress + "data: {", () =>
        request.socket.destroy(),
      );
    }).listen(0, "127.0.0.1");
    await once(cut, "listening");
    const url = `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
    expect(await errorOf({ ...CALL, url })).toMatchObject({ type: typed("communication") });
    count = 0;
    const retry = "{retry: {delay: PT0S, limit: {attempt: {count: 2}}}}";
    const run = await runOf(server, `do: [{a: {try: [${task({ ...CALL, url })}], catch: ${retry}}}]`);
    expect(run).toMatchObject({ status: "completed", output: { content: [] } });
    expect(count).toBe(2);
    cut.close();
  });
});

describe("credentials", () => {
  const TOKEN = "a-token-no-one-may-see-x-and-that-is-longer-than-an-error-shows";
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
    ["a kind of result", result({ resultType: `here is what it is: ${TOKEN}` })],
    ["a code", refusal(`a ${TOKEN}`, "no", 200)],
    ["a type of content", { headers: { "content-type": `text-or-anything-else/${TOKEN}` }, body: "x" }],
  ])("are hidden in %s", async (_, answer) => {
    endpoint.answer = answer;
    const run = await runOf(server, secretly(CALL));
    expect(run.error.detail).toContain("[redacted]");
    // Nor its beginning, too short to be recognised after a cut.
    expect(JSON.stringify(run)).not.toContain(TOKEN.slice(0, 12));
  });

  test("are hidden in the revision of an older server", async () => {
    endpoint.answers = [{ status: 400 }, json({ result: { protocolVersion: `it is ${TOKEN}` } })];
    const run = await runOf(server, secretly(CALL));
    expect(run.error.detail).toMatch(/the revision "it is \[redacted\]" of MCP/);
    expect(JSON.stringify(run)).not.toContain(TOKEN.slice(0, 12));
  });

  test("are hidden in the id of a session, which an error has among its headers", async () => {
    endpoint.answers = [
      { status: 400 },
      json({ result: { protocolVersion: "2025-11-25" } }, 200, { "mcp-session-id": TOKEN }),
      json({}, 404, { "mcp-session-id": TOKEN }),
    ];
    const caught = `{do: [{note: {set: {id: '\${ $error.response.headers["mcp-session-id"] }'}}}]}`;
    const [uses, does] = secretly(CALL).split("\ndo: ");
    const run = await runOf(server, `${uses}\ndo: [{a: {try: ${does}, catch: ${caught}}}]`);
    expect(run.output).toEqual({ id: "[redacted]" });
    expect(endpoint.seen[2]!.headers["mcp-session-id"]).toBe(TOKEN);
  });
});
