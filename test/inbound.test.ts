/** Input over HTTP: bodies and requests of strangers and callers, over raw sockets, with the server's memory measured. */
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { heldBytes } from "../server/src/lib/json/held-bytes.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { BUSY_MS, MB, ask, chunk, connect, head, residentMb, statuses, stretchMs, unfinished } from "./raw.ts";
import { agentOf } from "./runs.ts";
import type { World } from "./server.ts";

let server: TestServer;
let other: World;
beforeAll(async () => {
  server = await startTestServer();
  other = await server.organization("other");
});
afterAll(() => server[Symbol.asyncDispose]());

describe("unfinished bodies", () => {
  /** A request that stands still must not be cut for that meanwhile, however slow the machine is. */
  const holdClock = (): Promise<void> => server.clock.advance(-10_000);

  test.runIf(process.platform === "linux")(
    "of 1,000 strangers hold less than 100 MB, and callers' large bodies are taken meanwhile",
    async () => {
      const before = residentMb(server);
      using small = await unfinished(server, 600, head(60_000), " ".repeat(59_000));
      using large = await unfinished(server, 200, head(MB - 1), " ".repeat(400_000));
      using chunked = await unfinished(server, 200, head("chunked"), chunk(500_000));
      await eventually(async () => {
        await holdClock();
        return statuses([...large.all, ...chunked.all])["413"] === 400;
      }, BUSY_MS);
      expect(residentMb(server) - before).toBeLessThan(100);
      for (const { apiKey } of [server.world, other])
        expect(await ask(server, apiKey, 600_000)).toMatchObject({ status: 200 });
      expect(statuses(small.all)).toEqual({ none: 600 });
    },
  );

  test("of one organization have half of the budget, then 503 with Retry-After; another's large body is taken", async () => {
    const { apiKey } = server.world;
    const bytes = MB - 10_000;
    const most = LIMITS.arrivingBytes / 2 / bytes;
    using held = await unfinished(server, Math.ceil(most * 1.5), head(MB, apiKey), " ".repeat(bytes));
    const waiting = (): number => statuses(held.all)["none"] ?? 0;
    await eventually(async () => {
      await holdClock();
      return waiting() <= most + 1;
    }, BUSY_MS);
    expect(waiting()).toBeGreaterThan(most * 0.9);
    const refused = held.all.find((raw) => raw.got().includes(" 503 "))!;
    expect(refused.got()).toMatch(/retry-after: 1\r\n/i);
    expect(refused.got()).toContain('"code":"UNAVAILABLE"');
    expect(await ask(server, other.apiKey, 900_000)).toMatchObject({ status: 200, name: "other" });
    // A body that comes in one piece is never held.
    expect(await ask(server, apiKey)).toMatchObject({ status: 200 });
    held[Symbol.dispose]();
    await eventually(async () => (await ask(server, apiKey, 900_000)).status === 200);
  });

  test("that stand still or trickle are cut with 408, those that come are not", async () => {
    using still = await connect(server);
    using trickling = await connect(server);
    using coming = await connect(server);
    still.write(`${head(100)}{`);
    trickling.write(head(1_000, server.world.apiKey));
    coming.write(head(200_000, server.world.apiKey));
    for (let second = 1; second <= 2 * LIMITS.bodyProgressSeconds; second++) {
      trickling.write(" ");
      coming.write(" ".repeat(LIMITS.bodyProgressBytes));
      await sleep(20);
      await server.clock.advance(1_000);
    }
    await Promise.all([still.closed, trickling.closed]);
    for (const raw of [still, trickling]) {
      expect(raw.got()).toMatch(/^HTTP\/1\.1 408 [^]*connection: close/i);
      expect(raw.got()).toContain("did not arrive in time: send at least 4096 bytes, or all that is left, every 5 s");
    }
    expect(coming.isOpen()).toBe(true);
    expect(coming.got()).toBe("");
  });
});

describe("chunks of one byte", () => {
  const ONE = "1\r\nx\r\n";
  const asGet = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`;

  test.each([
    ["a body that is read", () => head("chunked"), 413],
    ["a caller's", () => head("chunked", server.world.apiKey), 413],
    ["one that is refused unread", () => head("chunked").replace("json", "text"), 415],
    // Answered from memory: whichever is first, the answer or what is too much of its body.
    ["one that nobody looks at", () => asGet("/"), "(200|413)"],
    ["of a probe", () => asGet("/healthz"), 200],
  ])("%s: from 20 at once less than 100 ms a stretch, and cut with an answer", async (_name, first, status) => {
    const longest = await stretchMs(server, async () => {
      using floods = await unfinished(server, 20, first(), ONE.repeat(65_000));
      await Promise.all(floods.all.map(({ closed }) => closed));
    });
    expect(longest).toBeLessThan(MAIN_THREAD_MS);
    using alone = await connect(server);
    alone.write(first() + ONE.repeat(1_500));
    await alone.closed;
    expect(alone.got()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status === 413) expect(alone.got()).toContain('"code":"REQUEST_ENTITY_TOO_LARGE"');
  });

  test("a thousand of them, and many fair ones, are a body as any other, and the next request finds its parser whole", async () => {
    const body = JSON.stringify({ query: "{ me { name } }" });
    const send = async (text: string, rest: string): Promise<string> => {
      using raw = await connect(server);
      raw.write(head("chunked", server.world.apiKey, "connection: close\r\n"));
      raw.write(`${text}${rest}0\r\n\r\n`);
      await raw.closed;
      return raw.got().split(" ")[1]!;
    };
    const each = [...body].map((character) => `1\r\n${character}\r\n`).join("");
    expect(await send(each, "1\r\n \r\n".repeat(LIMITS.bodyPieces - body.length))).toBe("200");
    expect(await send(each, chunk(512).repeat(2_000))).toBe("200");
    expect(await send(each, "1\r\n \r\n".repeat(LIMITS.bodyPieces))).toBe("413");
    for (let time = 0; time < 20; time++) expect(await send(each, "")).toBe("200");
  });
});

describe("a stranger's body", () => {
  test("may have 64 KiB, with a length or in chunks; a caller's more", async () => {
    const short = JSON.stringify({ query: "{ __typename }" });
    const query = (bytes: number): string => `${short.slice(0, -1)}${" ".repeat(bytes - short.length)}}`;
    const send = async (body: string, token: string | undefined, isChunked: boolean): Promise<string> => {
      using raw = await connect(server);
      const text = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
      raw.write(head(isChunked ? "chunked" : body.length, token, "connection: close\r\n") + text);
      await raw.closed;
      return raw.got().split(" ")[1]!;
    };
    for (const isChunked of [false, true]) {
      expect(await send(query(LIMITS.strangerBodyBytes), undefined, isChunked)).toBe("200");
      expect(await send(query(LIMITS.strangerBodyBytes + 1), undefined, isChunked)).toBe("413");
      expect(await send(query(LIMITS.strangerBodyBytes + 1), "ag_live_wrong", isChunked)).toBe("401");
      expect(await send(query(LIMITS.bodyBytes), server.world.apiKey, isChunked)).toBe("200");
    }
  });
});

test("a refused large request releases what it holds, wherever it is refused", async () => {
  const list = `[${"{},".repeat(70_000)}{}]`;
  const times = Math.ceil(LIMITS.arrivingBytes / 2 / heldBytes(list)) + 1;
  const refused: [string, number][] = [
    [`{"query":"{ nope }","variables":{"x":${list}}}`, 200],
    [`{"query":"query ($id: ID!) { run(id: $id) { id } }","variables":{"id":${list}}}`, 200],
    [`{"query":"{ me { id } }","variables":{"x":${list}}`, 400],
  ];
  const headers = { "content-type": "application/json", authorization: `Bearer ${server.world.apiKey}` };
  for (const [body, expected] of refused) {
    for (let time = 0; time < times; time++) {
      const { status } = await fetch(`${server.url}/graphql`, { method: "POST", headers, body });
      expect(status).toBe(expected);
    }
  }
});

test("of requests that one connection sends without waiting 100 are begun, the next is refused", async () => {
  const agent = await agentOf(server, "do: [{rest: {wait: {seconds: 60}}}]");
  const body = JSON.stringify({ query: `mutation { runAgent(input: {agentId: "${agent}", wait: 20}) { id } }` });
  using raw = await connect(server);
  const one = head(body.length, server.world.apiKey) + body;
  raw.write(one.repeat(LIMITS.requestsPerConnection + 20));
  const count = async (): Promise<number> =>
    (await server.data("{ runs(first: 200) { nodes { id } } }")).runs.nodes.length;
  await eventually(async () => (await count()) >= LIMITS.requestsPerConnection);
  // For longer than an unread body is thrown away: the refusal has not been sent yet.
  await sleep(2_500);
  expect(await count()).toBe(LIMITS.requestsPerConnection);
  // The refusal comes behind the answers to those that were begun.
  await server.data(`mutation { cancelRuns(input: {runs: {filter: {agentId: "${agent}"}}}) { cancelledCount } }`);
  await raw.closed;
  expect(statuses([raw])).toEqual({ 200: 1 });
  expect(raw.got()).toMatch(/HTTP\/1\.1 503 [^]*"too many requests of this connection are under way \(100 at most/);
});

/** The memory of the server once it has stopped changing. */
async function settledBytes(): Promise<number> {
  let last = Infinity;
  await eventually(async () => {
    const former = last;
    last = (await server.measure(true)).heapBytes;
    return Math.abs(last - former) < MB / 2;
  }, BUSY_MS);
  return last;
}

test("files that 1,000 requests of strangers asked for and nobody reads are in memory once", async () => {
  const page = await (await fetch(server.url, { headers: { accept: "text/html" } })).text();
  const file = `/${/assets\/index-[\w-]+\.js/.exec(page)![0]}`;
  const asked = `GET ${file} HTTP/1.1\r\nhost: localhost\r\n\r\n`.repeat(LIMITS.requestsPerConnection);
  const before = await settledBytes();
  const port = Number(new URL(server.url).port);
  const sockets = Array.from({ length: 10 }, () => net.connect({ port, host: "127.0.0.1" }));
  try {
    // Paused: they take no more than a first piece. The requests of a connection arrive together, so all have begun then.
    const answered = sockets.map((socket) => once(socket, "readable"));
    for (const socket of sockets) socket.write(asked);
    await Promise.all(answered);
    // Copies were half a megabyte each.
    expect((await settledBytes()) - before).toBeLessThan(50 * MB);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test("header fields: a hundred are taken, of more nothing is kept", async () => {
  const fields = (count: number): string => Array.from({ length: count }, (_, index) => `a${index}: b\r\n`).join("");
  using most = await connect(server);
  most.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n${fields(LIMITS.headersPerRequest - 1)}\r\n`);
  await eventually(() => most.got().startsWith("HTTP/1.1 200 "));
  using more = await connect(server);
  more.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n${fields(LIMITS.headersPerRequest)}\r\n`);
  await eventually(() => more.got().startsWith("HTTP/1.1 431 "));
  const before = (await server.measure(true)).heapBytes;
  using all = await unfinished(server, 300, head(60_000, undefined, fields(900)), "{");
  await eventually(async () => (await ask(server, server.world.apiKey)).status === 200);
  expect((await server.measure(true)).heapBytes - before).toBeLessThan(10 * MB);
  await Promise.all(all.all.map(({ closed }) => closed));
  expect(statuses(all.all)).toEqual({ 431: 300 });
});

describe("requests that nobody waits for", () => {
  const query = '{"query":"{ __typename }"}';
  test.each([
    ["of strangers", () => head(query.length) + query],
    ["for a page", () => "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    ["of a probe", () => "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"],
    ["refused", () => "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"],
    ["without a Host", () => "GET / HTTP/1.1\r\n\r\n"],
    ["that expect what nobody has", () => "GET / HTTP/1.1\r\nhost: localhost\r\nexpect: x\r\n\r\n"],
  ])("%s, thousands from 20 connections: less than 100 ms a stretch, then closed", async (_name, one) => {
    const longest = await stretchMs(server, async () => {
      using floods = await unfinished(server, 20, "", one().repeat(4_000));
      await Promise.all(floods.all.map(({ closed }) => closed));
      expect(floods.all.every((raw) => raw.got().startsWith("HTTP/1.1 "))).toBe(true);
    });
    expect(longest).toBeLessThan(MAIN_THREAD_MS);
    for (let time = 0; time < 20; time++) expect(await ask(server, server.world.apiKey)).toMatchObject({ status: 200 });
  });
});

describe("2,000 strangers who ask again as soon as they are answered: less than 100 ms a stretch, and a caller is heard", () => {
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
  const query = '{"query":"{ __typename }"}';
  test.each([
    ["a probe", get("/healthz")],
    ["a page", get("/")],
    ["nothing", get("/nope")],
    ["GraphQL", head(query.length) + query],
  ])("for %s", async (_name, request) => {
    using all = await unfinished(server, 2_000, "", "");
    let answers = 0;
    const longest = await stretchMs(server, async () => {
      for (const raw of all.all) {
        raw.onData(() => {
          answers++;
          raw.write(request);
        });
        raw.write(request);
      }
      await sleep(300);
      expectInTime((await ask(server, server.world.apiKey)).ms, 2_500);
      // Each has asked again.
      await eventually(() => answers > 4_000, BUSY_MS);
    });
    expect(longest).toBeLessThan(MAIN_THREAD_MS);
  });
});

test("an answer that waits behind one that takes its time is not cut for a reader that takes nothing", async () => {
  const agent = await agentOf(server, "do: [{rest: {wait: {minutes: 60}}}]");
  const asked = (query: string): string => {
    const body = JSON.stringify({ query });
    return head(body.length, server.world.apiKey) + body;
  };
  using raw = await connect(server);
  raw.write(asked(`mutation { runAgent(input: {agentId: "${agent}", wait: 30}) { status } }`));
  raw.write(asked("{ me { name } }"));
  const started = async (): Promise<boolean> =>
    (await server.data(`{ runs(first: 1, filter: {agentId: "${agent}"}) { nodes { id } } }`)).runs.nodes.length > 0;
  await eventually(started);
  await sleep(200);
  for (let second = 0; second < 2 * LIMITS.readerSeconds && raw.got() === ""; second++) {
    await server.clock.advance(1_000);
    await sleep(10);
  }
  await eventually(() => raw.got().includes('"name":"first"'));
  expect(raw.got()).toContain('"status":"running"');
  expect(raw.isOpen()).toBe(true);
});
