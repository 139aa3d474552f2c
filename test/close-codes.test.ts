/**
 * The messages that close a WebSocket, and the code of each: graphql-transport-ws as its document says (PROTOCOL.md of `graphql-ws`), RFC 6455
 * below it. Each is provoked by hand, and a bystander's connection stays open.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start } from "./agents.ts";
import { eventually } from "./client.ts";
import { connect } from "./raw.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { acknowledged, closeFrameIn, talk, upgrade, type Closed, type Talk } from "./web-socket.ts";

const ME = "{ me { name } }";
/** It sends nothing until something changes, and does not end. */
const WATCH = "subscription { approvalsChanged { id } }";
const subscribe = (id: unknown, payload: unknown = { query: ME }): object => ({ id, type: "subscribe", payload });

let server: SharedServer;
let bystander: Talk;
beforeAll(async () => {
  server = await sharedServer();
  bystander = await acknowledged(server, server.world.apiKey);
  bystander.send(subscribe("watch", { query: WATCH }));
});
afterAll(async () => {
  bystander[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const INVALID: Closed = { code: 4400, reason: "Invalid message received" };
const expectClosed = async ({ closed }: Talk, expected: Closed): Promise<void> =>
  expect(await closed).toEqual(expected);

/** Messages that no client may send. */
const NO_MESSAGES: [what: string, message: object | string][] = [
  ["nothing", ""],
  ["half a JSON text", '{"type":"ping"'],
  ["two JSON texts", '{"type":"ping"}{"type":"ping"}'],
  ["a list", '[{"type":"ping"}]'],
  ["a text", '"ping"'],
  ["null", "null"],
  ["a number", "1"],
  ["no type", {}],
  ["a type that is no text", { type: 1 }],
  ["an unknown type", { type: "start", id: "1", payload: { query: ME } }],
  ["a type in capitals", { type: "PING" }],
  ["a type that every object has", { type: "constructor" }],
  ["__proto__ as the type", { type: "__proto__" }],
  ["a server's connection_ack", { type: "connection_ack" }],
  ["a server's next", { type: "next", id: "1", payload: { data: {} } }],
  ["a server's error", { type: "error", id: "1", payload: [{ message: "x" }] }],
  ["a ping with a list", { type: "ping", payload: [] }],
  ["a pong with a text", { type: "pong", payload: "x" }],
  ["connection_init with a list", { type: "connection_init", payload: [] }],
  ["connection_init with a text", { type: "connection_init", payload: "Bearer x" }],
  ["subscribe without an id", { type: "subscribe", payload: { query: ME } }],
  ["subscribe with an empty id", subscribe("")],
  ["subscribe with a number as its id", subscribe(1)],
  ["subscribe without a payload", { type: "subscribe", id: "1" }],
  ["subscribe with a list: no batches", subscribe("1", [{ query: ME }, { query: ME }])],
  ["subscribe without a query", subscribe("1", { variables: {} })],
  ["a query that is no text", subscribe("1", { query: { kind: "Document" } })],
  ["variables that are a list", subscribe("1", { query: ME, variables: [] })],
  ["variables that are a text", subscribe("1", { query: ME, variables: "{}" })],
  ["an operationName that is a number", subscribe("1", { query: ME, operationName: 1 })],
  ["extensions that are a list", subscribe("1", { query: ME, extensions: [] })],
  ["complete without an id", { type: "complete" }],
  ["a key named __proto__", '{"type":"ping","payload":{"__proto__":{}}}'],
  ["constructor.prototype", '{"type":"ping","payload":{"constructor":{"prototype":{}}}}'],
  ["a number beyond all numbers", '{"type":"ping","payload":{"a":1e9999999}}'],
  [`${LIMITS.jsonNesting + 1} lists`, `{"type":"ping","payload":{"a":${"[".repeat(LIMITS.jsonNesting)}`],
  ["20,000 lists", `{"type":"ping","payload":${"[".repeat(20_000)}${"]".repeat(20_000)}}`],
];

describe("4400: what is no message of a client", () => {
  test.for(NO_MESSAGES)("%s", async ([, message]) => {
    using stranger = await talk(server);
    stranger.send(message);
    await expectClosed(stranger, INVALID);
    using caller = await acknowledged(server, server.world.apiKey);
    caller.send(message);
    await expectClosed(caller, INVALID);
    expect(caller.messages).toEqual([{ type: "connection_ack" }]);
  });

  test("a binary frame, whatever is in it", async () => {
    using rude = await talk(server);
    rude.socket.send(Buffer.from('{"type":"connection_init"}'));
    await expectClosed(rude, INVALID);
    using caller = await acknowledged(server, server.world.apiKey);
    caller.socket.send(Buffer.from(JSON.stringify(subscribe("1"))));
    await expectClosed(caller, INVALID);
    expect(caller.messages).toEqual([{ type: "connection_ack" }]);
  });
});

describe("4401", () => {
  const UNAUTHORIZED: Closed = { code: 4401, reason: "Unauthorized" };

  test("subscribe before connection_init", async () => {
    using early = await talk(server, { headers: { authorization: `Bearer ${server.world.apiKey}` } });
    early.send(subscribe("1"));
    await expectClosed(early, UNAUTHORIZED);
    expect(early.messages).toEqual([]);
  });

  test.for([
    ["an API key that there is not", "Bearer ag_live_nonsense", /API key/],
    ["an access token that is none", "Bearer a.b.c", /access token/],
    ["a scheme that there is not", `Basic ${"ü".repeat(500)}`, /Bearer/],
  ] as const)("connection_init with %s, and nothing is acknowledged", async ([, Authorization, why]) => {
    using wrong = await talk(server);
    wrong.send({ type: "connection_init", payload: { Authorization } });
    wrong.send(subscribe("1"));
    const { code, reason } = await wrong.closed;
    expect(code).toBe(4401);
    expect(reason).toMatch(why);
    expect(wrong.messages).toEqual([]);
  });
});

describe("4406", () => {
  /** `ws` gives up by itself when a server chooses none of its protocols. */
  async function closeOf(protocols: string | undefined): Promise<Closed | undefined> {
    using raw = await connect(server);
    const asked = upgrade();
    raw.write(
      protocols === undefined
        ? asked.replace(/sec-websocket-protocol: .*\r\n/, "")
        : asked.replace("graphql-transport-ws", protocols),
    );
    await eventually(() => closeFrameIn(raw.got()));
    expect(raw.got()).toMatch(/^HTTP\/1\.1 101 /);
    expect(raw.got()).not.toMatch(/sec-websocket-protocol/i);
    return closeFrameIn(raw.got());
  }
  test.for([undefined, "graphql-ws", "GraphQL-Transport-WS", "graphql-transport-ws2", "soap, mqtt"])(
    "the subprotocol %s",
    async (protocols) => {
      expect(await closeOf(protocols)).toEqual({ code: 4406, reason: "Subprotocol not acceptable" });
    },
  );
});

describe("4409", () => {
  test.for(["1", "__proto__", "constructor", "ü".repeat(LIMITS.operationIdCharacters), "\ud800"])(
    "the id %j twice",
    async (id) => {
      using caller = await acknowledged(server, server.world.apiKey);
      caller.send(subscribe(id, { query: WATCH }));
      caller.send(subscribe(id));
      const { code, reason } = await caller.closed;
      expect(code).toBe(4409);
      expect(`Subscriber for ${id.toWellFormed()} already exists`).toContain(reason);
      expect(caller.messages).toEqual([{ type: "connection_ack" }]);
    },
  );

  test("an id may be used again once its operation has ended", async () => {
    using caller = await acknowledged(server, server.world.apiKey);
    for (const id of ["1", "__proto__", "toString"]) {
      for (let time = 0; time < 2; time++) {
        caller.messages.length = 0;
        caller.send(subscribe(id));
        expect(await caller.next("complete")).toEqual({ id, type: "complete" });
        expect(caller.messages[0]).toEqual({ id, type: "next", payload: { data: { me: { name: "first" } } } });
      }
    }
  });
});

describe("4429: a second connection_init", () => {
  const TOO_MANY: Closed = { code: 4429, reason: "Too many initialisation requests" };

  test("after the acknowledgement", async () => {
    using caller = await acknowledged(server, server.world.apiKey);
    caller.send({ type: "connection_init" });
    await expectClosed(caller, TOO_MANY);
  });

  test("before it", async () => {
    using hasty = await talk(server);
    const payload = { Authorization: `Bearer ${server.world.apiKey}` };
    for (let time = 0; time < 3; time++) hasty.send({ type: "connection_init", payload });
    await expectClosed(hasty, TOO_MANY);
  });
});

describe("what takes its time", () => {
  test.concurrent("4408: no connection_init within 10 s, pings or not", async () => {
    using silent = await talk(server);
    using pinging = await talk(server);
    const pings = setInterval(() => pinging.send({ type: "ping" }), 500);
    const expected = { code: 4408, reason: "Connection initialisation timeout" };
    expect(await Promise.all([silent.closed, pinging.closed])).toEqual([expected, expected]);
    clearInterval(pings);
    expect(pinging.messages.length).toBeGreaterThan(0);
  });

  test.concurrent("4403: the credential is revoked", async () => {
    const create = 'mutation { createApiKey(input: {name: "short", scopes: ["runs:read"]}) { id secret } }';
    const { id, secret } = (await server.data(create)).createApiKey;
    using caller = await acknowledged(server, secret);
    await server.data(`mutation { revokeApiKey(input: {apiKeyId: "${id}"}) { id } }`);
    await expectClosed(caller, { code: 4403, reason: "Forbidden" });
  });
});

test(`a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time, and one more does not close it`, async () => {
  const agent = await publish(server, "patient");
  const id = await start(server, agent);
  const query = "subscription($id: ID!) { runUpdated(runId: $id) { id } }";
  using caller = await acknowledged(server, server.world.apiKey);
  const watch = (count: number): void => caller.send(subscribe(`s${count}`, { query, variables: { id } }));
  for (let count = 1; count <= LIMITS.subscriptionsPerConnection; count++) watch(count);
  // The run may change meanwhile: then an operation is answered again.
  const answered = (): number =>
    new Set(caller.messages.filter(({ type }) => type === "next").map(({ id: one }) => one)).size;
  await eventually(() => answered() === LIMITS.subscriptionsPerConnection);
  watch(101);
  const refused = await caller.next("error");
  const message = `a connection has at most ${LIMITS.subscriptionsPerConnection} operations at a time`;
  expect(refused).toMatchObject({ id: "s101", payload: [{ message, extensions: { code: "BAD_REQUEST" } }] });
  caller.send({ type: "complete", id: "s1" });
  // Messages are taken in their order, and a pong comes behind them.
  caller.send({ type: "ping" });
  await caller.next("pong");
  watch(102);
  await eventually(() => answered() === LIMITS.subscriptionsPerConnection + 1);
});

describe("1009: too large", () => {
  const large = "x".repeat(LIMITS.bodyBytes);

  test("a message over 1 MiB", async () => {
    using caller = await acknowledged(server, server.world.apiKey);
    caller.send({ type: "ping", payload: { text: large } });
    expect((await caller.closed).code).toBe(1009);
  });

  test("one that comes in pieces", async () => {
    using caller = await acknowledged(server, server.world.apiKey);
    for (let piece = 0; piece < 3; piece++) caller.socket.send("x".repeat(LIMITS.bodyBytes / 2), { fin: false });
    expect((await caller.closed).code).toBe(1009);
  });
});

test("1008: a message in more than 64 pieces", async () => {
  using caller = await acknowledged(server, server.world.apiKey);
  for (let piece = 0; piece <= LIMITS.fragmentsPerMessage; piece++) caller.socket.send("x", { fin: false });
  expect((await caller.closed).code).toBe(1008);
});

/** A client's frame: masked with zeros, so that it is written as it is. */
function frame(first: number, payload: Buffer | string = "", lengthSaid?: bigint): Buffer {
  const body = Buffer.from(payload);
  const long = Buffer.alloc(lengthSaid === undefined ? 0 : 8);
  if (lengthSaid !== undefined) long.writeBigUInt64BE(lengthSaid);
  const length = lengthSaid === undefined ? body.length : 127;
  return Buffer.concat([Buffer.from([first, 0x80 | length]), long, Buffer.alloc(4), body]);
}

describe("what RFC 6455 refuses", () => {
  test.for<[what: string, code: number, frames: Buffer]>([
    ["a frame that is not masked", 1002, Buffer.from('\x81\x0f{"type":"ping"}')],
    ["a reserved bit", 1002, frame(0xc1, "{}")],
    ["a reserved kind of frame", 1002, frame(0x83, "{}")],
    ["a ping in pieces", 1002, frame(0x09, "x")],
    ["a ping of 126 bytes", 1002, Buffer.concat([Buffer.from([0x89, 0xfe, 0, 126, 0, 0, 0, 0]), Buffer.alloc(126)])],
    ["the rest of what never began", 1002, frame(0x80, "x")],
    ["a message within another", 1002, Buffer.concat([frame(0x01, "x"), frame(0x81, "x")])],
    ["a close with one byte", 1002, frame(0x88, "x")],
    ["a close with a code that there is not", 1002, frame(0x88, Buffer.from([0x03, 0xed]))],
    ["text that is not UTF-8", 1007, frame(0x81, Buffer.from([0x7b, 0xff, 0xfe]))],
    ["a length of 2^62", 1009, frame(0x81, "x", 2n ** 62n)],
    ["a length of 1 MiB and a byte", 1009, frame(0x81, "x", BigInt(LIMITS.bodyBytes) + 1n)],
    ["nothing, politely", 1000, frame(0x88, Buffer.from([0x03, 0xe8]))],
  ])("%s: %i", async ([, code, frames]) => {
    using raw = await connect(server);
    raw.write(upgrade());
    await eventually(() => raw.got().includes("\r\n\r\n"));
    raw.write(frames);
    await raw.closed;
    expect(closeFrameIn(raw.got())?.code).toBe(code);
  });
});

test("a ping is answered by a pong without its payload, at any time; a pong and the end of what never began by nothing", async () => {
  using polite = await talk(server);
  polite.send({ type: "pong" });
  polite.send({ type: "complete", id: "nothing" });
  polite.send({ type: "ping", payload: { at: 1 } });
  expect(await polite.next("pong")).toEqual({ type: "pong" });
  expect(polite.messages).toHaveLength(1);
});

test("the bystander is connected, and the log has no error", async () => {
  bystander.send(subscribe("1"));
  expect(await bystander.next("next")).toMatchObject({ id: "1", payload: { data: { me: { name: "first" } } } });
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
