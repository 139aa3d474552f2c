/** What arrives: bodies, messages and connections of strangers and callers, over raw sockets, with the server's memory measured. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { heldBytes } from "../server/src/lib/held-bytes.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { agentOf } from "./runs.ts";
import { eventually, post, startTestServer, type TestServer } from "./client.ts";
import type { World } from "./server.ts";

const MB = 1024 * 1024;
/** What anything may take of the main thread at a time. */
const MAIN_THREAD_MS = 100;
/** For hundreds of megabytes over loopback on a busy machine. */
const BUSY_MS = 40_000;

let server: TestServer;
let other: World;
beforeAll(async () => {
  server = await startTestServer();
  other = await server.organization("other");
});
afterAll(() => server[Symbol.asyncDispose]());

type Raw = { got(): string; write(data: string | Buffer): void; closed: Promise<void>; isOpen(): boolean } & Disposable;

async function connect(): Promise<Raw> {
  const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
  let got = "";
  let isOpen = true;
  const closed = new Promise<void>((resolve) => socket.once("close", () => ((isOpen = false), resolve())));
  socket.on("data", (chunk) => (got += chunk.toString("latin1"))).on("error", () => {});
  await once(socket, "connect");
  return {
    got: () => got,
    write: (data) => void socket.write(data),
    closed,
    isOpen: () => isOpen,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

const head = (length: number | "chunked", token?: string, more = ""): string =>
  [
    "POST /graphql HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`,
    ...(token === undefined ? [] : [`authorization: Bearer ${token}`]),
    `${more}\r\n`,
  ].join("\r\n");

const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;

const residentMb = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]) / 1024;

/** So many connections that each sent a part of a body, all at once. */
async function unfinished(count: number, first: string, rest: string): Promise<{ all: Raw[] } & Disposable> {
  const all: Raw[] = [];
  for (let begun = 0; begun < count; begun += 50) {
    const some = await Promise.all(Array.from({ length: Math.min(50, count - begun) }, connect));
    for (const raw of some) raw.write(first + rest);
    all.push(...some);
  }
  return { all, [Symbol.dispose]: () => all.forEach((raw) => raw[Symbol.dispose]()) };
}

const ask = async (token: string, bytes = 0) => {
  const started = performance.now();
  const { status, data } = await post(
    `${server.url}/graphql`,
    "{ me { name } }",
    { padding: "x".repeat(bytes) },
    token,
  );
  return { status, name: data?.me?.name, ms: performance.now() - started };
};

const statuses = (all: readonly Raw[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const raw of all) {
    const status = raw.got().split(" ")[1] ?? "none";
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
};

describe("unfinished bodies", () => {
  test.runIf(process.platform === "linux")(
    "of 1,000 strangers hold less than 100 MB, and callers' large bodies are taken meanwhile",
    async () => {
      const before = residentMb();
      using small = await unfinished(600, head(60_000), " ".repeat(59_000));
      using large = await unfinished(200, head(MB - 1), " ".repeat(400_000));
      using chunked = await unfinished(200, head("chunked"), chunk(500_000));
      await eventually(() => statuses([...large.all, ...chunked.all])["413"] === 400, BUSY_MS);
      expect(residentMb() - before).toBeLessThan(100);
      for (const { apiKey } of [server.world, other]) expect(await ask(apiKey, 600_000)).toMatchObject({ status: 200 });
      expect(statuses(small.all)).toEqual({ none: 600 });
    },
  );

  test("of one organization have half of the budget, then 503 with Retry-After; another's large body is taken", async () => {
    const { apiKey } = server.world;
    const bytes = MB - 10_000;
    const most = LIMITS.arrivingBytes / 2 / bytes;
    using held = await unfinished(Math.ceil(most * 1.5), head(MB, apiKey), " ".repeat(bytes));
    const waiting = (): number => statuses(held.all)["none"] ?? 0;
    await eventually(() => waiting() <= most + 1, BUSY_MS);
    expect(waiting()).toBeGreaterThan(most * 0.9);
    const refused = held.all.find((raw) => raw.got().includes(" 503 "))!;
    expect(refused.got()).toMatch(/retry-after: 1\r\n/i);
    expect(refused.got()).toContain('"code":"UNAVAILABLE"');
    expect(await ask(other.apiKey, 900_000)).toMatchObject({ status: 200, name: "other" });
    // What comes whole in one piece is never held.
    expect(await ask(apiKey)).toMatchObject({ status: 200 });
    held[Symbol.dispose]();
    await eventually(async () => (await ask(apiKey, 900_000)).status === 200);
  });

  test("that stand still or trickle are cut with 408, those that come are not", async () => {
    using still = await connect();
    using trickling = await connect();
    using coming = await connect();
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
      expect(raw.got()).toContain("did not arrive in time");
    }
    expect(coming.isOpen()).toBe(true);
    expect(coming.got()).toBe("");
  });
});

/** The longest stretch of the main thread that `flood` makes, of three times: on a busy machine processor time, too, is longer. */
async function stretchMs(flood: () => Promise<void>): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < 3 && least > MAIN_THREAD_MS; time++) {
    await server.measure();
    await flood();
    least = Math.min(least, (await server.measure()).longestMs);
  }
  return least;
}

describe("chunks of one byte", () => {
  const ONE = "1\r\nx\r\n";
  const asGet = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`;

  test.each([
    ["a body that is read", () => head("chunked"), 413],
    ["a caller's", () => head("chunked", server.world.apiKey), 413],
    ["one that is refused unread", () => head("chunked").replace("json", "text"), 415],
    ["one that nobody looks at", () => asGet("/"), 413],
    ["of a probe", () => asGet("/readyz"), 413],
  ])("%s: from 20 at once less than 100 ms a stretch, and cut with an answer", async (_name, first, status) => {
    const longest = await stretchMs(async () => {
      using floods = await unfinished(20, first(), ONE.repeat(65_000));
      await Promise.all(floods.all.map(({ closed }) => closed));
    });
    expect(longest).toBeLessThan(MAIN_THREAD_MS);
    using alone = await connect();
    alone.write(first() + ONE.repeat(1_500));
    await alone.closed;
    expect(alone.got()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status === 413) expect(alone.got()).toContain('"code":"REQUEST_ENTITY_TOO_LARGE"');
  });

  test("a thousand of them, and many fair ones, are a body as any other, and the next request finds its parser whole", async () => {
    const body = JSON.stringify({ query: "{ me { name } }" });
    const send = async (text: string, rest: string): Promise<string> => {
      using raw = await connect();
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
      using raw = await connect();
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

test("what a large request holds is let go of when it is refused, by whomever", async () => {
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
  using raw = await connect();
  const one = head(body.length, server.world.apiKey) + body;
  raw.write(one.repeat(LIMITS.requestsPerConnection + 20));
  const count = async (): Promise<number> =>
    (await server.data("{ runs(first: 200) { nodes { id } } }")).runs.nodes.length;
  await eventually(async () => (await count()) >= LIMITS.requestsPerConnection);
  await sleep(500);
  expect(await count()).toBe(LIMITS.requestsPerConnection);
});

test("header fields: a hundred are taken, of more nothing is kept", async () => {
  const fields = (count: number): string => Array.from({ length: count }, (_, index) => `a${index}: b\r\n`).join("");
  using most = await connect();
  most.write(`GET /healthz HTTP/1.1\r\nhost: localhost\r\n${fields(LIMITS.headersPerRequest - 1)}\r\n`);
  await eventually(() => most.got().startsWith("HTTP/1.1 200 "));
  const before = (await server.measure(true)).heapBytes;
  using all = await unfinished(300, head(60_000, undefined, fields(900)), "{");
  await eventually(async () => (await ask(server.world.apiKey)).status === 200);
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
    const longest = await stretchMs(async () => {
      using floods = await unfinished(20, "", one().repeat(4_000));
      await Promise.all(floods.all.map(({ closed }) => closed));
      expect(floods.all.every((raw) => raw.got().startsWith("HTTP/1.1 "))).toBe(true);
    });
    expect(longest).toBeLessThan(MAIN_THREAD_MS);
    for (let time = 0; time < 20; time++) expect(await ask(server.world.apiKey)).toMatchObject({ status: 200 });
  });
});

test("an answer that waits behind one that takes its time is not cut for a reader that takes nothing", async () => {
  const agent = await agentOf(server, "do: [{rest: {wait: {minutes: 60}}}]");
  const asked = (query: string): string => {
    const body = JSON.stringify({ query });
    return head(body.length, server.world.apiKey) + body;
  };
  using raw = await connect();
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
  await eventually(() => raw.got().includes('"name":"first"'), 2_000);
  expect(raw.got()).toContain('"status":"running"');
  expect(raw.isOpen()).toBe(true);
});

describe("WebSockets", () => {
  const UPGRADE = [
    "GET /graphql HTTP/1.1",
    "host: localhost",
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-protocol: graphql-transport-ws",
    "\r\n",
  ].join("\r\n");
  /** A frame of text that is not the last, or the last; masked with zeros. */
  function frame(payload: string | number, { isFirst = true, isLast = true } = {}): Buffer {
    const body = typeof payload === "string" ? Buffer.from(payload) : Buffer.alloc(payload, " ");
    const header = Buffer.alloc(14);
    header[0] = (isLast ? 0x80 : 0) | (isFirst ? 1 : 0);
    header[1] = 0x80 | 127;
    header.writeBigUInt64BE(BigInt(body.length), 2);
    return Buffer.concat([header, body]);
  }
  async function open(token?: string): Promise<Raw> {
    const raw = await connect();
    raw.write(UPGRADE);
    await eventually(() => raw.got().includes("\r\n\r\n"));
    if (token !== undefined) {
      const payload = { Authorization: `Bearer ${token}` };
      raw.write(frame(JSON.stringify({ type: "connection_init", payload })));
      await eventually(() => raw.got().includes("connection_ack"));
    }
    return raw;
  }

  test.runIf(process.platform === "linux")(
    "of 300 strangers with a message of 1 MiB that is not whole: closed, and little is held",
    async () => {
      const before = residentMb();
      const all = await Promise.all(Array.from({ length: 300 }, () => open()));
      for (const raw of all) raw.write(frame(900_000, { isLast: false }));
      await Promise.all(all.map(({ closed }) => closed));
      const fragments = await Promise.all(Array.from({ length: 300 }, () => open()));
      for (const raw of fragments)
        for (let part = 0; part < 3; part++) raw.write(frame(30_000, { isFirst: part === 0, isLast: false }));
      await Promise.all(fragments.map(({ closed }) => closed));
      expect(residentMb() - before).toBeLessThan(150);
    },
  );

  test("more fragments than a message may have: closed", async () => {
    using raw = await open(server.world.apiKey);
    for (let part = 0; part <= LIMITS.fragmentsPerMessage; part++)
      raw.write(frame(1, { isFirst: part === 0, isLast: false }));
    await raw.closed;
  });

  test("a caller's unfinished messages have the organization's share; one that stands still is closed", async () => {
    const { apiKey } = server.world;
    using idle = await open(apiKey);
    const most = LIMITS.arrivingBytes / 2 / 900_000;
    const all = await Promise.all(Array.from({ length: Math.ceil(most * 1.3) }, () => open(apiKey)));
    for (const raw of all) raw.write(frame(900_000, { isLast: false }));
    await eventually(() => all.filter((raw) => !raw.isOpen()).length >= most * 0.2);
    expect(all.filter((raw) => raw.isOpen()).length).toBeGreaterThan(most * 0.9);
    expect(await ask(other.apiKey, 900_000)).toMatchObject({ status: 200 });
    for (let second = 0; second < 2 * LIMITS.bodyProgressSeconds; second++) await server.clock.advance(1_000);
    await Promise.all(all.map(({ closed }) => closed));
    expect(idle.isOpen()).toBe(true);
    idle.write(frame(JSON.stringify({ type: "ping" })));
    await eventually(() => idle.got().includes('"pong"'));
  });

  const MESSAGES = {
    "a stranger's operations": '{"id":"1","type":"subscribe","payload":{"query":"{ nope }"}}',
    "a caller's": '{"id":"1","type":"subscribe","payload":{"query":"{ __typename }"}}',
    pings: '{"type":"ping"}',
  };
  test.each(Object.entries(MESSAGES))(
    "%s, thousands at a time from 20 connections: less than 100 ms a stretch",
    async (name, text) => {
      const token = name.startsWith("a stranger") ? undefined : server.world.apiKey;
      const flood = Buffer.concat(Array.from({ length: 2_000 }, (_, id) => frame(text.replace('"1"', `"${id}"`))));
      const longest = await stretchMs(async () => {
        const all = await Promise.all(Array.from({ length: 20 }, () => open(token)));
        if (token === undefined) for (const raw of all) raw.write(frame('{"type":"connection_init"}'));
        for (const raw of all) raw.write(flood);
        await sleep(500);
        for (const raw of all) raw[Symbol.dispose]();
      });
      expect(longest).toBeLessThan(MAIN_THREAD_MS);
    },
  );

  test("messages that came together are all taken, and their connection stays open", async () => {
    using raw = await open(server.world.apiKey);
    const pings = Array.from({ length: 300 }, () => frame(`{"type":"ping","payload":{"x":"${"x".repeat(500)}"}}`));
    raw.write(Buffer.concat(pings));
    const pongs = (): number => raw.got().split('{"type":"pong"}').length - 1;
    await eventually(() => pongs() === 300);
    for (let second = 0; second < 3 * LIMITS.bodyProgressSeconds; second++) await server.clock.advance(1_000);
    raw.write(frame('{"type":"ping"}'));
    await eventually(() => pongs() === 301);
    expect(raw.isOpen()).toBe(true);
  });

  type Client = { socket: WebSocket; got: string[]; code: Promise<number> } & Disposable;
  async function client(token?: string, headers = {}, params = {}): Promise<Client> {
    const url = `${server.url.replace("http", "ws")}/graphql`;
    const socket = new WebSocket(url, "graphql-transport-ws", { headers });
    const got: string[] = [];
    const code = new Promise<number>((resolve) => socket.on("close", resolve));
    socket.on("message", (data) => got.push(String(data))).on("error", () => {});
    await once(socket, "open");
    const payload = { ...params, ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) };
    socket.send(JSON.stringify({ type: "connection_init", payload }));
    await Promise.race([code, eventually(() => got.length > 0)]);
    return { socket, got, code, [Symbol.dispose]: () => socket.terminate() };
  }
  const subscribe = (id: string, query: string, more = {}): string =>
    JSON.stringify({ id, type: "subscribe", payload: { query, ...more } });

  test("connection_init of more than 4,096 characters, and an id of more than 100: closed with 4400", async () => {
    const { apiKey } = server.world;
    const params = (characters: number): object => ({ x: "x".repeat(characters - 60) });
    using large = await client(undefined, {}, params(LIMITS.connectionInitCharacters + 20));
    expect(await large.code).toBe(4400);
    using small = await client(undefined, {}, params(LIMITS.connectionInitCharacters));
    expect(small.got).toEqual(['{"type":"connection_ack"}']);
    for (const type of ["subscribe", "complete"]) {
      using one = await client(apiKey);
      one.socket.send(subscribe("i".repeat(LIMITS.operationIdCharacters), "{ me { name } }"));
      await eventually(() => one.got.at(-1)?.includes("complete"));
      const id = "i".repeat(LIMITS.operationIdCharacters + 1);
      one.socket.send(JSON.stringify({ id, type, payload: { query: "{ me { name } }" } }));
      expect(await one.code).toBe(4400);
    }
  });

  test("what a client sends after its connection was closed is not done, though it leaves the close unanswered", async () => {
    const agent = await agentOf(server, "do: [{rest: {wait: {minutes: 60}}}]");
    using raw = await open(server.world.apiKey);
    const start = { query: `mutation { runAgent(input: {agentId: "${agent}"}) { id } }` };
    const message = (id: string): Buffer => frame(JSON.stringify({ id, type: "subscribe", payload: start }));
    const count = async (): Promise<number> =>
      (await server.data(`{ runs(first: 10, filter: {agentId: "${agent}"}) { nodes { id } } }`)).runs.nodes.length;
    raw.write(message("1"));
    await eventually(async () => (await count()) === 1);
    raw.write(Buffer.concat([message("i".repeat(LIMITS.operationIdCharacters + 1)), message("2"), message("3")]));
    await eventually(() => raw.got().includes("the id has more than"));
    raw.write(message("4"));
    await sleep(500);
    expect(await count()).toBe(1);
  });

  test("of what they open with, 100 strangers hold less than 3 MB; what a ping brings is not sent back", async () => {
    const before = (await server.measure(true)).heapBytes;
    const headers = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x-${index}`, "y".repeat(150)]));
    const params = { x: Array.from({ length: 1_300 }, () => ({})) };
    const all = await Promise.all(Array.from({ length: 100 }, () => client(undefined, headers, params)));
    expect((await server.measure(true)).heapBytes - before).toBeLessThan(3 * MB);
    const [one] = all;
    one!.socket.send('{"type":"ping","payload":{"x":"y"}}');
    await eventually(() => one!.got.at(-1) === '{"type":"pong"}');
    for (const each of all) each[Symbol.dispose]();
  });

  test("what a caller's operations hold is of the organization's share: then UNAVAILABLE, and another's are taken", async () => {
    const [one, neighbour] = [await client(server.world.apiKey), await client(other.apiKey)];
    const watch = (id: number): string =>
      subscribe(`${id}`, "subscription { approvalsChanged { id } }", {
        variables: { x: Array.from({ length: 20_000 }, () => ({})) },
      });
    for (let id = 0; id < 90; id++) one.socket.send(watch(id));
    await eventually(() => one.got.some((text) => text.includes("UNAVAILABLE")));
    neighbour.socket.send(watch(0));
    neighbour.socket.send(subscribe("1", "{ me { name } }"));
    await eventually(() => neighbour.got.some((text) => text.includes('"name":"other"')));
    expect(neighbour.got.join()).not.toContain("UNAVAILABLE");
    for (let id = 0; id < 90; id++) one.socket.send(JSON.stringify({ type: "complete", id: `${id}` }));
    one.socket.send(watch(99));
    one.socket.send(subscribe("last", "{ me { name } }"));
    await eventually(() => one.got.some((text) => text.includes('"last"')));
    expect(one.got.filter((text) => text.includes('"99"'))).toEqual([]);
    for (const each of [one, neighbour]) each[Symbol.dispose]();
  });
});
