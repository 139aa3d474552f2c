/** The answer is the same, however much of a stream is read without the provider's package. */
import { expect, test } from "vitest";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { PROTOCOLS } from "../../../test/model-protocols.ts";
import { scaled } from "../../../test/scale.ts";
import { Beats } from "../fairness/pace.ts";
import { callModel, type ModelAnswer } from "./call-model.ts";
import type { ModelProvider } from "./connection.ts";
import { EventStream } from "./event-stream.ts";
import { KnownEvents } from "./known-events.ts";
import { openProvider } from "./providers.ts";

type Came = { answer: ModelAnswer; text: string; given: number };

/** `everyMs`: a piece comes, each after what came before was read unless that waits for more. */
type Way = { knows?: boolean; everyMs?: number };

/** A stream and the clock that it waits by. */
function open(): { clock: TestClock; stream: EventStream } {
  const clock = testClock();
  const beats = new Beats(clock);
  return { clock, stream: new EventStream({ host: "model", turn: () => undefined, left: () => {}, beats }) };
}

/** Asks a model that answers with the stream, whose package gets this body of it. */
async function ask(
  provider: ModelProvider,
  stream: EventStream,
  onDelta: (text: string) => void,
  body: ReadableStream = stream.body,
): Promise<ModelAnswer> {
  const headers = { "content-type": "text/event-stream" };
  const fetch = async (): Promise<Response> => new Response(body, { headers });
  const connection = { baseUrl: "http://model/v1", provider, model: "small", apiKey: "key", apiKeyHeader: null };
  const model = await openProvider({ ...connection, id: undefined, name: "", prices: null, limits: null }, fetch);
  const request = { messages: [{ role: "user" as const, text: "Hi" }], onDelta };
  const sockets = { stream } as unknown as Parameters<typeof callModel>[2]["sockets"];
  return callModel(model, request, { host: "model", signal: new AbortController().signal, sockets });
}

/** All that is under way is done. */
const soon = async (): Promise<void> => {
  for (let left = 4; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
};

/** Reads a stream that comes in these pieces. `given`: the bytes that the package was given. */
async function read(provider: ModelProvider, pieces: readonly Buffer[], way: Way = {}): Promise<Came> {
  const { knows = true, everyMs = 50 } = way;
  const { clock, stream } = open();
  if (!knows) stream.known.stop();
  let [given, text] = [0, ""];
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, to) {
      given += bytes.length;
      to.enqueue(bytes);
    },
  });
  const asked = ask(provider, stream, (delta) => (text += delta), stream.body.pipeThrough(counting));
  // Awaited below.
  asked.catch(() => {});
  for (const piece of pieces) {
    clock.pass(everyMs);
    void stream.take(piece);
    await soon();
  }
  stream.end();
  return { answer: await asked, text, given };
}

const TEXTS = ["Good ", "morn", "ing", ' "', "\\", "", "\n", "Grüße", "\u{1f600}", "a", "a", "content", "0", "null"];
const MANY = Array.from({ length: 140 }, (_, at) => TEXTS[at % TEXTS.length]!);
const bytesOf = (stream: string): Buffer => Buffer.from(stream);
/** After each event. */
const events = (stream: string): Buffer[] => stream.split(/(?<=\n\n)/).map((one) => bytesOf(one));
const cut = (stream: string, bytes: number): Buffer[] => {
  const all = bytesOf(stream);
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
};
/** Lengths of pieces that begin at other places in each event. The shorter, the more ticks of the event loop. */
const [SMALL, OTHER] = scaled<[number, number]>({ whole: [3, 5], part: [31, 37] });
const escaped = (stream: string): string =>
  stream.replace(/[^\0-~]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

test.each(Object.entries(PROTOCOLS))(
  "of %s: the text of most events is read without the package",
  async (name, protocol) => {
    const provider = name as ModelProvider;
    const stream = protocol.stream(MANY, "stop");
    const whole = await read(provider, [bytesOf(stream)], { knows: false });
    expect(whole.given).toBe(bytesOf(stream).length);
    const ways = [events(stream), cut(stream, 7_001), cut(stream, SMALL), [bytesOf(stream)], events(escaped(stream))];
    // Behind its last carriage return a package reads nothing.
    ways.push(cut(stream.replaceAll("\n", "\r\n"), OTHER), cut(`${stream}: over\n\n`.replaceAll("\n", "\r"), OTHER));
    for (const pieces of ways) {
      const { answer, text } = await read(provider, pieces);
      expect(answer).toEqual(whole.answer);
      expect(text).toBe(whole.answer.text);
    }
    for (const everyMs of [0, 7, 30]) {
      const { answer, text } = await read(provider, events(stream), { everyMs });
      expect(answer).toEqual(whole.answer);
      expect(text).toBe(whole.answer.text);
    }
    expect(whole.answer.text).toBe(MANY.join(""));
    for (const pieces of [events(stream), [bytesOf(stream)]])
      expect((await read(provider, pieces)).given).toBeLessThan(bytesOf(stream).length / 10);
  },
);

const event = (delta: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const END = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`;
const compatible = "openai_compatible";

test("what a model thinks is none of its text, whatever the words; after each change the package reads again", async () => {
  const words = Array.from({ length: 60 }, (_, at) => ["I", "think", " so", "."][at % 4]!);
  const thoughts = words.map((word) => event({ reasoning_content: word })).join("");
  const said = words.map((word) => event({ content: word })).join("");
  const both = words.map((word) => event({ reasoning_content: word, content: word })).join("");
  const call = event({
    tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "{" } }],
  });
  const more = words.map((word) => event({ tool_calls: [{ index: 0, function: { arguments: word } }] })).join("");
  const stream = thoughts + said + both + said + call + more + said + END;
  const whole = await read(compatible, events(stream), { knows: false });
  const { answer, text, given } = await read(compatible, events(stream));
  expect(answer).toEqual(whole.answer);
  expect(answer.text).toBe(words.join("").repeat(4));
  expect(answer.toolCalls).toMatchObject([{ arguments: `{${words.join("")}` }]);
  expect(text).toBe(answer.text);
  expect(given).toBeLessThan(stream.length * 0.6);
});

test.each([
  [
    "differ in more than their text",
    (at: number) => `data: ${JSON.stringify({ at, choices: [{ delta: { content: "a" } }] })}\n\n`,
  ],
  [
    "have two strings that could be the text",
    () => `data: ${JSON.stringify({ a: "a", choices: [{ delta: { content: "a" } }] })}\n\n`,
  ],
  ["have their data in two lines", () => `data: {"choices":[{"delta":\ndata: {"content":"a"}}]}\n\n`],
])("events that %s are all the package's", async (_, eventAt) => {
  const stream = Array.from({ length: 50 }, (__, at) => eventAt(at)).join("") + END;
  const { answer, given } = await read(compatible, events(stream));
  expect(answer.text).toBe("a".repeat(50));
  expect(given).toBe(stream.length);
});

test("an event that is none is an error also where the others are known", async () => {
  const said = event({ content: "a" });
  for (const bad of [
    'data: {"a',
    said.replace('"a"', '"a", "b"'),
    said.replace('"a"', '"'),
    said.replace('"a"', '"\\"'),
    said.replace('"a"', '"\\x"'),
  ]) {
    const broken = read(compatible, events(said.repeat(20) + bad.trimEnd() + "\n\n" + said + END));
    await expect(broken).rejects.toMatchObject({ problem: "unusable" });
  }
});

test("a model that changes between thinking and text is read here after each change", async () => {
  const round = event({ reasoning_content: "so" }).repeat(20) + event({ content: "a" }).repeat(20);
  const stream = round.repeat(20) + END;
  const { answer, given } = await read(compatible, events(stream));
  expect(answer.text).toBe("a".repeat(400));
  expect(given).toBeLessThan(stream.length * 0.3);
});

test("of events that a package never begins with, no more are kept than may wait", () => {
  const known = new KnownEvents();
  for (let count = 0; count < 4_096; count++) known.handOver(event({ content: "a" }));
  expect(known.isLearning).toBe(true);
  known.handOver(event({ content: "a" }));
  expect(known.isLearning).toBe(false);
});

test("a tool's arguments in a thousand events are read in few rounds of the event loop", async () => {
  const argument = (text: string): string => event({ tool_calls: [{ index: 0, function: { arguments: text } }] });
  const call = event({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }] });
  const { stream } = open();
  const over = new AbortController();
  const asked = ask(compatible, stream, () => {}).finally(() => over.abort());
  void stream.take(Buffer.from(call + argument("1").repeat(1_000) + END));
  stream.end();
  let rounds = 0;
  for (; !over.signal.aborted; rounds++) await new Promise((resolve) => setImmediate(resolve));
  expect((await asked).toolCalls).toMatchObject([{ arguments: "1".repeat(1_000) }]);
  expect(rounds).toBeLessThan(60);
});

test("comments between events change nothing", async () => {
  const stream = event({ content: "a" }).repeat(10) + ": still here\n\n" + event({ content: "b" }).repeat(10);
  const { answer, given } = await read(compatible, events(stream + END));
  expect(answer.text).toBe("a".repeat(10) + "b".repeat(10));
  expect(given).toBeLessThan(stream.length / 2);
});

test.each([
  ["whole", 1_000],
  ["in pieces", 60],
])("known events that come %s wait 50 ms at most, and not for the end, nor for a break", async (_, bytes) => {
  for (const last of ["end", "fail"] as const) {
    const { clock, stream } = open();
    const shown: [string, number][] = [];
    const start = clock.now();
    const asked = ask(compatible, stream, (delta) => shown.push([delta, clock.now() - start]));
    asked.catch(() => {});
    const take = async (words: string, ms: number): Promise<void> => {
      for (const word of words)
        for (const piece of cut(event({ content: word }), bytes)) {
          void stream.take(piece);
          await soon();
        }
      for (let left = ms; left > 0; left -= 10) {
        clock.pass(10);
        await soon();
      }
    };
    // The package shows what it makes of the first ones.
    await take("abc", 1_000);
    await take("d", 20);
    await take("ef", 200);
    await take("gh", 0);
    stream[last](new Error("broken"));
    await asked.catch(() => {});
    expect(shown.map(([delta]) => delta).join("")).toBe("abcdefgh");
    expect(shown.slice(-4)).toEqual([
      ["d", 1_000],
      ["ef", 1_050],
      ["g", 1_220],
      ["h", 1_220],
    ]);
  }
});

test("who waits for the package goes on when all is left to it", async () => {
  const known = new KnownEvents();
  const said = event({ content: "a" });
  for (let left = 3; left > 0; left--) known.handOver(said);
  known.began(JSON.parse(said.slice("data: ".length)));
  known.made({ type: "text-delta", delta: "a" });
  known.began(JSON.parse(said.slice("data: ".length)));
  const caughtUp = known.caughtUp();
  expect(caughtUp).toBeInstanceOf(Promise);
  known.stop();
  await caughtUp;
  expect(known.caughtUp()).toBeUndefined();
});
