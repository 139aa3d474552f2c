/** Answers that come as streams, from real endpoints on loopback: what is read of each provider's, and what is too much. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { PROTOCOLS } from "../../../test/model-protocols.ts";
import { createLog } from "../lib/log/log.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { createOutbound } from "../outbound/outbound.ts";
import type { Message, ModelAnswer } from "./call-model.ts";
import type { ModelProvider } from "./connection.ts";
import { createLlm } from "./llm.ts";

const clock = testClock();
const log = createLog("silent");
const outbound = createOutbound({ allow: ["127.0.0.1/32"] });
const llm = createLlm({
  own: undefined,
  clock,
  log,
  usage: { modelTokens: () => {} },
  budgets: { reserve: async () => ({ isOpen: true, settle: () => {} }) },
  operator: { has: async () => false },
  outbound,
});
let answer: (response: ServerResponse, body: string) => void;
/** The headers of what was asked. */
const asked: IncomingHttpHeaders[] = [];
const endpoint = createServer((request, response) => {
  asked.push(request.headers);
  void text(request).then((body) => answer(response, body));
});
beforeAll(() => new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve)));
afterAll(async () => {
  endpoint.closeAllConnections();
  endpoint.close();
  await llm[Symbol.asyncDispose]();
  await outbound[Symbol.asyncDispose]();
});

/** The answer to a question, or what was thrown, and the text as it came. */
async function ask(
  provider: ModelProvider = "openai_compatible",
  turn: () => Promise<void> | undefined = () => undefined,
  messages: Message[] = [{ role: "user", text: "Hi" }],
  id = newId<"modelConnection">(),
) {
  const { port } = endpoint.address() as AddressInfo;
  const limits = { prices: null, limits: null };
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const connection = {
    id,
    name: "cheap",
    provider,
    baseUrl,
    model: "small",
    apiKey: "key",
    apiKeyHeader: null,
    ...limits,
  };
  const by = {
    organizationId: newId<"organization">(),
    signal: new AbortController().signal,
    timeoutMs: 60_000,
    turn,
    run: { id: newId<"run">(), parentId: undefined },
  };
  const deltas: string[] = [];
  const question = {
    messages,
    idempotencyKey: "once",
    onDelta: (text: string) => void deltas.push(text),
  };
  const came: unknown = await llm.call(connection, by, question).catch((error: unknown) => error);
  return { came: came as ModelAnswer & { problem?: string; message?: string }, deltas };
}

const streaming =
  (...pieces: (string | Buffer)[]) =>
  (response: ServerResponse): void => {
    response.setHeader("content-type", "text/event-stream; charset=utf-8");
    for (const piece of pieces) response.write(piece);
    response.end();
  };
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const delta = (content: object, finish: string | null = null): string =>
  event({ choices: [{ index: 0, delta: content, finish_reason: finish }] });
const END = delta({}, "stop") + "data: [DONE]\n\n";

test.each(Object.entries(PROTOCOLS))(
  "of %s: the text as it comes, the tokens, and how it ended",
  async (provider, { stream }) => {
    answer = streaming(stream(["Good ", "morn", "ing"], "stop"));
    const { came, deltas } = await ask(provider as ModelProvider);
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60 };
    // The package doesn't say which model of Google's answered a stream.
    const model = provider === "google" ? undefined : "small-2026";
    expect(came).toEqual({ text: "Good morning", toolCalls: [], finish: "stop", model, usage });
    expect(deltas).toEqual(["Good ", "morn", "ing"]);
    answer = streaming(stream(["Good"], "length"));
    expect((await ask(provider as ModelProvider)).came.finish).toBe("length");
    answer = streaming(stream(["Good"], undefined));
    expect((await ask(provider as ModelProvider)).came).toMatchObject({
      problem: "unusable",
      message: expect.stringContaining("broke off its answer"),
    });
  },
);

test("a large answer is read 16 KiB in a turn, and while it waits for one, another is answered", async () => {
  const texts = ["x".repeat(20_000), ...Array<string>(500).fill("y".repeat(1_000))];
  const stream = texts.map((content) => delta({ content })).join("") + END;
  answer = streaming(stream);
  let turns = 0;
  let other: unknown;
  const turn = async (): Promise<void> => {
    if (++turns !== 10) return;
    answer = streaming(delta({ content: "Hello" }), END);
    const { came } = await ask();
    other = [came.text, turns];
  };
  const { came } = await ask("openai_compatible", turn);
  expect(came.text).toBe(texts.join(""));
  expect(other).toEqual(["Hello", 10]);
  expect(turns).toBeGreaterThanOrEqual(stream.length / (16 * 1_024));
});

test.each(Object.entries(PROTOCOLS))(
  "of an endpoint of %s that gives whole answers: all at once, and it is asked once, for all",
  async (provider, protocol) => {
    const bodies: string[] = [];
    answer = (response, body) => {
      bodies.push(body);
      response.setHeader("content-type", "application/json").end(JSON.stringify(protocol.answer("Hello", "stop")));
    };
    const plain = await ask(provider as ModelProvider);
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60 };
    expect(plain.came).toMatchObject({ text: "Hello", finish: "stop", usage });
    expect(plain.deltas).toEqual(["Hello"]);
    // The last message may be any.
    const calls = [{ id: "call00001", name: "look", arguments: "{}" }];
    const messages: Message[] = [
      { role: "user", text: "first words" },
      { role: "assistant", text: "second words", toolCalls: calls },
      { role: "tool", results: [{ id: "call00001", name: "look", text: "third words" }] },
      { role: "assistant", text: "fourth words" },
    ];
    for (const count of [1, 3, 4]) {
      const { came } = await ask(provider as ModelProvider, undefined, messages.slice(0, count));
      expect(came).toEqual(plain.came);
    }
    expect(bodies).toHaveLength(4);
    for (const words of ["first words", "second words", "third words", "fourth words"])
      expect(bodies.at(-1)).toContain(words);
  },
);

test("calls of functions, in pieces and several at once", async () => {
  const call = (index: number, own: object): string => delta({ tool_calls: [{ index, ...own }] });
  answer = streaming(
    call(0, { id: "a", type: "function", function: { name: "find", arguments: "" } }),
    call(1, { id: "b", type: "function", function: { name: "send", arguments: '{"to"' } }),
    call(0, { function: { arguments: '{"q": "x"}' } }),
    call(1, { function: { arguments: ': "y"}' } }),
    delta({}, "tool_calls"),
  );
  expect((await ask()).came).toMatchObject({
    text: "",
    finish: "stop",
    toolCalls: [
      { id: "a", name: "find", arguments: '{"q": "x"}' },
      { id: "b", name: "send", arguments: '{"to": "y"}' },
    ],
  });
});

test.each(["\r\n", "\r"])("a character that two pieces share, and lines that end in %j", async (end) => {
  const bytes = Buffer.from((delta({ content: "Grüße \u{1f600}" }) + END).replaceAll("\n", end));
  answer = streaming(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
  expect((await ask()).came.text).toBe("Grüße \u{1f600}");
});

test("after a stream that came, the next refusal holds calls for no longer than the one before", async () => {
  const id = newId<"modelConnection">();
  const refused = async (): Promise<number> => {
    answer = (response) => void response.writeHead(429).end();
    const { came } = await ask("openai_compatible", undefined, undefined, id);
    const heldMs = (came as unknown as { heldUntil: number }).heldUntil - clock.now();
    clock.pass(heldMs);
    return heldMs;
  };
  expect([await refused(), await refused()]).toEqual([1_000, 2_000]);
  answer = streaming(delta({ content: "Hello" }), END);
  expect((await ask("openai_compatible", undefined, undefined, id)).came.text).toBe("Hello");
  expect(await refused()).toBe(2_000);
});

test("packed though that was not asked for, it is no answer", async () => {
  answer = (response) =>
    void response
      .writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
      .end(gzipSync(delta({ content: "Hi" }) + END));
  expect((await ask()).came).toMatchObject({ problem: "unusable" });
});

test("a text may have more commas and braces than an answer values, also after a quote in it", async () => {
  const text = `{"a":"${",[{".repeat(LIMITS.modelAnswerValues)}"}`;
  answer = streaming(delta({ content: text }), END);
  expect((await ask()).came.text).toBe(text);
});

const calls = (count: number): string =>
  Array.from({ length: count }, (_, index) =>
    delta({ tool_calls: [{ index, id: `c${index}`, type: "function", function: { name: "f", arguments: "{}" } }] }),
  ).join("") + delta({}, "tool_calls");
/** Events that say nothing, of this many bytes in all. */
const comments = (bytes: number): Buffer => Buffer.alloc(bytes, `: ${"x".repeat(1_020)}\n\n`);
const values = (count: number): string => event({ choices: [], x: Array<number>(count - 4).fill(0) });

test.each([
  [
    "more calls of functions than an answer may have",
    () => [calls(LIMITS.modelToolCalls)],
    () => [calls(LIMITS.modelToolCalls + 1)],
    "more than 128 calls",
  ],
  [
    "more values in one event than may be",
    () => [values(LIMITS.modelAnswerValues), END],
    () => [values(LIMITS.modelAnswerValues + 1), END],
    "did not answer as a model does",
  ],
  [
    "more values behind a quote that a carriage return ends",
    () => [': "\r', values(LIMITS.modelAnswerValues), END],
    () => [': "\r', values(LIMITS.modelAnswerValues + 1), END],
    "did not answer as a model does",
  ],
  [
    "more text than an output may have",
    () => [delta({ content: "x".repeat(600_000) }), delta({ content: "x".repeat(LIMITS.outputBytes - 600_000) }), END],
    () => [delta({ content: "x".repeat(600_000) }), delta({ content: "x".repeat(LIMITS.outputBytes - 599_999) }), END],
    "is larger than 1048576 bytes",
  ],
  [
    "more bytes than one event may have",
    () => [`: ${"x".repeat(LIMITS.outputBytes - 4)}\n\n`, END],
    () => [`: ${"x".repeat(LIMITS.outputBytes - 3)}\n\n`, END],
    "is larger than 1048576 bytes",
  ],
  [
    "more bytes than a stream may have",
    () => [comments(LIMITS.modelStreamBytes - END.length - 2), "\n\n", END],
    () => [comments(LIMITS.modelStreamBytes - END.length - 1), "\n\n", END],
    "is larger than 33554432 bytes",
  ],
])("%s is none", async (_, most, more, problem) => {
  answer = streaming(...most());
  expect((await ask()).came).toMatchObject({ finish: "stop" });
  answer = streaming(...more());
  expect((await ask()).came.message).toContain(problem);
});

test("a text that does not end is left at its limit: the endpoint's socket is closed", async () => {
  const closed = Promise.withResolvers<void>();
  answer = (response) => {
    response.on("close", closed.resolve).setHeader("content-type", "text/event-stream");
    // The first alone, so that the package has read one before the others come.
    response.write(delta({ content: "Again" }));
    const more = (): void => {
      while (!response.destroyed) if (!response.write(delta({ content: "x".repeat(10_000) }))) return;
    };
    response.on("drain", more);
    setTimeout(more, 50);
  };
  expect((await ask()).came.message).toContain("is larger than 1048576 bytes");
  await closed.promise;
});

test("an endpoint that refuses to stream is asked for whole answers from then on, first as another request; a stream is asked for unpacked", async () => {
  asked.length = 0;
  const id = newId<"modelConnection">();
  const whole = { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello" } }] };
  answer = (response) => {
    if (asked.length === 1) response.writeHead(400).end("{}");
    else response.setHeader("content-type", "application/json").end(JSON.stringify(whole));
  };
  for (let times = 0; times < 2; times++) {
    const { came, deltas } = await ask("openai_compatible", undefined, undefined, id);
    expect([came.text, deltas]).toEqual(["Hello", ["Hello"]]);
  }
  expect(asked.map((headers) => headers["idempotency-key"])).toEqual(["once", "once-whole", "once"]);
  expect(asked.map((headers) => headers["accept-encoding"] === "identity")).toEqual([true, false, false]);
});
