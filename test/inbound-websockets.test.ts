/** Input over WebSockets, from strangers and callers, over raw sockets. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { MB, ask, connect, residentMb, stretchMs, type Raw } from "./raw.ts";
import { agentOf } from "./runs.ts";
import type { World } from "./server.ts";

let server: TestServer;
let other: World;
beforeAll(async () => {
  server = await startTestServer();
  other = await server.organization("other");
});
afterAll(() => server[Symbol.asyncDispose]());

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
    const raw = await connect(server);
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
      const before = residentMb(server);
      const all = await Promise.all(Array.from({ length: 300 }, () => open()));
      for (const raw of all) raw.write(frame(900_000, { isLast: false }));
      await Promise.all(all.map(({ closed }) => closed));
      const fragments = await Promise.all(Array.from({ length: 300 }, () => open()));
      for (const raw of fragments)
        for (let part = 0; part < 3; part++) raw.write(frame(30_000, { isFirst: part === 0, isLast: false }));
      await Promise.all(fragments.map(({ closed }) => closed));
      expect(residentMb(server) - before).toBeLessThan(150);
    },
  );

  test("more fragments than a message may have: closed", async () => {
    using raw = await open(server.world.apiKey);
    for (let part = 0; part <= LIMITS.fragmentsPerMessage; part++)
      raw.write(frame(1, { isFirst: part === 0, isLast: false }));
    await raw.closed;
  });

  test("a stranger's unfinished message may have 64 KiB, and not one byte more", async () => {
    using most = await open();
    using more = await open();
    most.write(frame(LIMITS.strangerBodyBytes, { isLast: false }));
    more.write(frame(LIMITS.strangerBodyBytes + 1, { isLast: false }));
    await more.closed;
    // A pong comes behind what was read before.
    const before = most.got().length;
    most.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0]));
    await eventually(() => most.got().slice(before).startsWith("\u008a"));
    expect(most.isOpen()).toBe(true);
  });

  test("a caller's unfinished messages have the organization's share; one that stands still is closed", async () => {
    const { apiKey } = server.world;
    using idle = await open(apiKey);
    const most = LIMITS.arrivingBytes / 2 / 900_000;
    const all = await Promise.all(Array.from({ length: Math.ceil(most * 1.3) }, () => open(apiKey)));
    for (const raw of all) raw.write(frame(900_000, { isLast: false }));
    let heldMs = 0;
    await eventually(async () => {
      // A socket that stands still must not be closed for that yet, however slow the machine is.
      await server.clock.advance(-1_000);
      heldMs += 1_000;
      return all.filter((raw) => !raw.isOpen()).length >= most * 0.2;
    });
    expect(all.filter((raw) => raw.isOpen()).length).toBeGreaterThan(most * 0.9);
    expect(await ask(server, other.apiKey, 900_000)).toMatchObject({ status: 200 });
    await server.clock.advance(heldMs);
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
      const longest = await stretchMs(server, async () => {
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

  test("messages sent after the close are not executed, even if the client does not answer the close", async () => {
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
