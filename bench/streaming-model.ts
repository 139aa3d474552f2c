/**
 * A model that speaks OpenAI's protocol, in a process of its own: each answer is a stream that waits until it is told to begin, then writes
 * a part every 20 ms. A part is the time at which it was written and a space.
 *
 *     node bench/streaming-model.ts 0
 *
 * It prints `{"url"}` when it listens. GET `/waiting` answers how many streams wait, `/begin?ms=` lets them all write for so long, and answers
 * how many parts that were, `/cpu` the processor time of this process in µs.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { text } from "node:stream/consumers";

const EVERY_MS = 20;
/** The streams write in turns, so that they don't all write at once. */
const TURNS = 10;

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const chunkOf = (choices: object[], more: object = {}): string =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_800_000_000,
    model: "streaming",
    choices,
    ...more,
  });
const delta = (content: object, finish: string | null = null): string =>
  chunkOf([{ index: 0, delta: content, finish_reason: finish }]);
const [before, after] = delta({ content: "@" }).split("@") as [string, string];
const usage = { prompt_tokens: 100, completion_tokens: 100, total_tokens: 200 };
const LAST = `${delta({}, "stop")}${chunkOf([], { usage })}data: [DONE]\n\n`;

/** To the socket itself: a response's own `write` costs as much as the send. */
const framed = (part: string): string => `${part.length.toString(16)}\r\n${part}\r\n`;

const waiting: Socket[] = [];

async function begin(ms: number): Promise<number> {
  const streams = waiting.splice(0);
  const end = performance.now() + ms;
  let [parts, turn] = [0, 0];
  for (let next = performance.now(); next < end; turn++) {
    for (let at = turn % TURNS; at < streams.length; at += TURNS) {
      const now = performance.timeOrigin + performance.now();
      streams[at]!.write(framed(`${before}${now.toFixed(1)} ${after}`), "latin1");
      parts++;
    }
    next += EVERY_MS / TURNS;
    const leftMs = next - performance.now();
    if (leftMs > 0) await sleep(leftMs);
  }
  // Behind its back the response has not ended: its connection can have no other.
  for (const stream of streams) stream.end(`${framed(LAST)}0\r\n\r\n`);
  return parts;
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url!, "http://localhost");
  if (pathname.endsWith("/waiting")) return void response.end(String(waiting.length));
  if (pathname.endsWith("/cpu")) return void response.end(String(cpuUs()));
  if (pathname.endsWith("/begin")) return void response.end(String(await begin(Number(searchParams.get("ms")))));
  await text(request);
  response
    .writeHead(200, { "content-type": "text/event-stream", connection: "close" })
    .write(delta({ role: "assistant", content: "" }));
  response.socket!.setNoDelay(true);
  waiting.push(response.socket!);
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const server = createServer((request, response) => void respond(request, response));
server.listen(0, "127.0.0.1", 2_000);
await once(server, "listening");
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }));
