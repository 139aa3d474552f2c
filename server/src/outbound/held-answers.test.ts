/** The memory and processor time of answers while they arrive, whatever the other side sends. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { calmMs, watchThread } from "../lib/processor-time.testsuite.ts";
import { failureOf, get, LOOPBACK, outboundTo, serve, serveRaw, textOf, waitFor } from "./loopback.testsuite.ts";
import type { Outbound } from "./outbound.ts";

const MB = 1024 * 1024;
let outbound: Outbound & AsyncDisposable;
beforeEach(() => {
  outbound = outboundTo(LOOPBACK);
});
afterEach(() => outbound[Symbol.asyncDispose]());

function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

it("chunks of one byte hold what they bring, and leave the thread after a turn's share of them", async () => {
  const chunks = Buffer.from("1\r\nx\r\n".repeat(60_000));
  const ends: (() => void)[] = [];
  await using server = await serveRaw((socket) => {
    socket.write(CHUNKED);
    socket.write(chunks);
    ends.push(() => socket.end("0\r\n\r\n"));
  });
  const ask = () => outbound.request(get(server.url, { timeoutMs: 30_000 }));
  let longestMs = Infinity;
  for (let time = 0; time < 3 && longestMs >= 100; time++) {
    const before = heldBytes();
    // Also the server's, which is in this thread.
    using watch = watchThread();
    const answers = Array.from({ length: 10 }, ask);
    await waitFor(() => expect(ends).toHaveLength(10));
    await sleep(1_000);
    longestMs = calmMs(watch.readMs(), 100);
    expect(heldBytes() - before).toBeLessThan(15 * MB);
    for (const end of ends.splice(0)) end();
    for (const { body } of await Promise.all(answers)) expect(textOf(body)).toBe("x".repeat(60_000));
  }
  expect(longestMs).toBeLessThan(100);
});

it("pieces of all sizes come in their order", async () => {
  const sizes = [1, 500, 3, 2_000, 1, 1, 1_024, 1_023, 9_000, 20, 16_000, 1_000, 900, 800, 5];
  const parts = Array.from({ length: 10 }, () => sizes).flat();
  const texts = parts.map((size, index) => String.fromCodePoint(97 + (index % 26)).repeat(size));
  await using server = await serveRaw((socket) => {
    socket.write(CHUNKED);
    for (const text of texts) socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
    socket.end("0\r\n\r\n");
  });
  expect(textOf((await outbound.request(get(server.url))).body)).toBe(texts.join(""));
});

/** An answer of more than 64 kB without a length may be as long as any, both packed and unpacked. */
it.each([
  ["little", Buffer.alloc(1_000_000, "x"), LIMITS.outboundAnswersBytes / 2 / MB],
  [
    "much",
    Buffer.concat([randomBytes(100_000), Buffer.alloc(900_000, "x")]),
    LIMITS.outboundAnswersBytes / 2 / (2 * MB) + 1,
  ],
])(
  "what is unpacked of %s is charged: of one organization as much as it may hold, the others when there is room",
  async (_name, body, most) => {
    const packed = gzipSync(body);
    await using server = await serve(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(packed),
    );
    const organizationId = newId<"organization">();
    let there = 0;
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const taken = (): Promise<void> => (there++, gate);
    const answers = Array.from({ length: 80 }, () =>
      outbound.request(get(server.url, { organizationId, timeoutMs: 20_000, taken })),
    );
    await waitFor(() => expect(there).toBeGreaterThan(most * 0.6));
    await sleep(500);
    expect(there).toBeLessThanOrEqual(most);
    // A small one, and another's, need not wait.
    await using small = await serve(
      (_request, response) => void response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("small")),
    );
    expect(textOf((await outbound.request(get(small.url, { organizationId }))).body)).toBe("small");
    expect((await outbound.request(get(server.url))).body).toHaveLength(1_000_000);
    open();
    for (const { body } of await Promise.all(answers)) expect(body).toHaveLength(1_000_000);
  },
);

it("after a redirect with a large body the next answer is charged again", async () => {
  const body = Buffer.alloc(1_000_000, "x");
  let sent = 0;
  await using server = await serve((request, response) => {
    const first = body.subarray(0, 70_000);
    const headers = { location: "/b", "content-length": first.length };
    if (request.url === "/whole") return void response.end(body);
    if (request.url === "/") return void response.writeHead(302, headers).end(first);
    response.write(body, () => sent++);
  });
  const before = heldBytes();
  const stop = new AbortController();
  const organizationId = newId<"organization">();
  const more = { redirect: true, timeoutMs: 20_000, signal: stop.signal, organizationId };
  const answers = Array.from({ length: 120 }, () => outbound.request(get(`${server.url}/`, more)).catch(() => {}));
  await waitFor(() => expect(sent).toBeGreaterThan(25));
  await sleep(1_000);
  expect(heldBytes() - before).toBeLessThan(LIMITS.outboundAnswersBytes);
  stop.abort();
  await Promise.all(answers);
  // Those that waited for room wait no longer.
  const whole = await outbound.request(get(`${server.url}/whole`, { organizationId }));
  expect(whole.body).toHaveLength(1_000_000);
});

it("a 304 has no body, whatever it announces", async () => {
  const about = `HTTP/1.1 304 Not Modified\r\ncontent-length: ${2 * LIMITS.outputBytes}\r\n\r\n`;
  await using server = await serveRaw((socket) => void socket.write(about));
  expect(await outbound.request(get(server.url))).toMatchObject({ status: 304, body: Buffer.alloc(0) });
});

it("sixteen answers may come before the one that counts, more end the call", async () => {
  let early = 16;
  await using server = await serveRaw((socket) => {
    socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(early) + "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
  });
  expect(textOf((await outbound.request(get(server.url))).body)).toBe("ok");
  early = 100_000;
  await using flood = await serveRaw((socket) => void socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(early)));
  expect((await failureOf(outbound.request(get(flood.url)))).message).toContain("too many pieces");
});
