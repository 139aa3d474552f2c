/** Connections that ask for much and read nothing, and such as begin to send and do not end. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { randomFrom, type Random } from "../faults/random.ts";
import { ask } from "./runs.ts";
import type { Kind } from "./trial.ts";
import type { As, HostileWorld } from "./world.ts";

/** How long they hang on before the server is looked at. */
const HELD_MS = 400;

const LARGE = "{ runs(first: 200) { nodes { id input output steps { input output attempts { number } } } } }";
const MANY = "{ agentsConnection(first: 200) { nodes { definition versions(first: 40) { nodes { definition } } } } }";
const WATCH = "subscription { runsChanged { id input output steps { input output } } }";
const APPROVALS = "subscription { approvalsChanged { id run { input output } } }";
const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";

async function connect({ server }: HostileWorld): Promise<net.Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = net.connect(Number(port), hostname);
  socket.on("error", () => {});
  await once(socket, "connect");
  // A response that is not read stays in the kernel, and then in the server.
  socket.pause();
  return socket;
}

/** Opens `count` of them, looks what is held when they have done their worst, and leaves. */
async function hold(
  world: HostileWorld,
  count: number,
  work: (socket: net.Socket, number: number) => unknown,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<number> {
  const { heapBytes } = await world.server.measure(true);
  const sockets = await Promise.all(Array.from({ length: count }, () => connect(world)));
  sockets.forEach((socket, number) => work(socket, number));
  await meanwhile();
  await sleep(HELD_MS);
  const held = (await world.server.measure(true)).heapBytes - heapBytes;
  for (const socket of sockets) socket.destroy();
  return held;
}

const requestOf = (token: string | null, body: string, accept = "application/json"): string =>
  `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: ${accept}\r\n${
    token === null ? "" : `authorization: Bearer ${token}\r\n`
  }content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** A client's frame of text: masked with zeros, so that it can be written as it is. */
function frame(text: string, lengthSaid = Buffer.byteLength(text)): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x81;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(lengthSaid), 2);
  return Buffer.concat([head, Buffer.from(text)]);
}

const UPGRADE = `GET /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString("base64")}\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n`;

function subscribeAll(socket: net.Socket, token: string | null, query: string, times: number): void {
  socket.write(UPGRADE);
  socket.write(frame(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${token}` } })));
  for (let id = 0; id < times; id++) {
    socket.write(frame(JSON.stringify({ type: "subscribe", id: `${id}`, payload: { query } })));
  }
}

const byChance = (random: Random, shares: [number, As][]): As => {
  const dice = random.next();
  return shares.find(([share]) => dice < share)?.[1] ?? "owner";
};

export const connectionReaders: Kind = {
  name: "reader",
  limit: "stretch",
  make(seed) {
    const random = randomFrom(seed);
    const as = byChance(random, [[0.1, "viewer"]]);
    const count = random.pick([1, 5, 20]);
    const query = random.pick([LARGE, LARGE, MANY]);
    const watched = random.pick([WATCH, APPROVALS]);
    const ways: Record<string, (socket: net.Socket, token: string | null) => void> = {
      http: (socket, token) => void socket.write(requestOf(token, JSON.stringify({ query }))),
      pipelined: (socket, token) => void socket.write(requestOf(token, JSON.stringify({ query })).repeat(10)),
      once: (socket, token) => void socket.write(requestOf(token, JSON.stringify({ query }), "text/event-stream")),
      events: (socket, token) =>
        void socket.write(requestOf(token, JSON.stringify({ query: watched }), "text/event-stream")),
      webSocket: (socket, token) => subscribeAll(socket, token, watched, random.pick([1, 20, 110])),
      webSocketQueries: (socket, token) => subscribeAll(socket, token, query, random.pick([1, 20])),
      left: (socket, token) => {
        socket.write(requestOf(token, JSON.stringify({ query })));
        setTimeout(() => socket.destroy(), random.between(0, 50));
      },
    };
    const way = random.pick(Object.keys(ways));
    // Something to be told of: runs with large inputs.
    const changes = /events|webSocket$/.test(way) ? random.pick([5, 20]) : 0;
    return {
      about: `${as}: ${count} × ${way} ${changes > 0 ? `${watched} and ${changes} runs` : query}`,
      run: async (world) => {
        const start = { input: { agentId: world.agents.echo, input: { text: "0123456789".repeat(60_000) } } };
        const held = await hold(
          world,
          count,
          (socket) => ways[way]!(socket, world.token(as)),
          async () => {
            for (let run = 0; run < changes; run++) await ask(world, START, start);
          },
        );
        return { answers: [], heldBytes: held };
      },
    };
  },
};

const MEBIBYTE = 1024 * 1024;

export const connectionSenders: Kind = {
  name: "sender",
  limit: "stretch",
  make(seed) {
    const random = randomFrom(seed);
    const as = byChance(random, [
      [0.7, "stranger"],
      [0.8, "viewer"],
    ]);
    const count = random.pick([10, 50, 200]);
    const body = `{"query": "${"x".repeat(random.pick([10, 100_000, 1_000_000]))}`;
    const headers = (token: string | null): string =>
      `host: localhost\r\ncontent-type: application/json\r\n${token === null ? "" : `authorization: Bearer ${token}\r\n`}`;
    const ways: Record<string, (socket: net.Socket, token: string | null, number: number) => void> = {
      body: (socket, token) =>
        void socket.write(`POST /graphql HTTP/1.1\r\n${headers(token)}content-length: ${MEBIBYTE}\r\n\r\n${body}`),
      chunked: (socket, token) =>
        void socket.write(
          `POST /graphql HTTP/1.1\r\n${headers(token)}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
        ),
      smallChunks: (socket, token) =>
        void socket.write(
          `POST /graphql HTTP/1.1\r\n${headers(token)}transfer-encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(5_000)}`,
        ),
      head: (socket) => void socket.write(`POST /graphql HTTP/1.1\r\nhost: localhost\r\n${"x: y\r\n".repeat(1_000)}`),
      silent: () => {},
      garbage: (socket) =>
        void socket.write(random.pick(["\0".repeat(1_000), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01"])),
      lies: (socket, token) =>
        void socket.write(
          `POST /graphql HTTP/1.1\r\n${headers(token)}content-length: ${random.pick(["5", "-1", "1e9", "99999999999999999999", "5, 6"])}\r\ntransfer-encoding: chunked\r\n\r\n${body}`,
        ),
      upgraded: (socket) => void socket.write(UPGRADE),
      frame: (socket) => {
        socket.write(UPGRADE);
        socket.write(frame(body, random.pick([MEBIBYTE, MEBIBYTE + 1, 2 ** 40])));
      },
      fragments: (socket) => {
        socket.write(UPGRADE);
        const piece = Buffer.from([0x01, 0x80, 0, 0, 0, 0]);
        const next = Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x78]);
        socket.write(Buffer.concat([piece, ...Array.from({ length: 20_000 }, () => next)]));
      },
      pings: (socket) => {
        socket.write(UPGRADE);
        socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => Buffer.from([0x89, 0x80, 0, 0, 0, 0]))));
      },
      protocol: (socket, token) => {
        socket.write(UPGRADE);
        const message = random.pick([
          '{"type":"subscribe","id":"1"}',
          '{"type":"ping","payload":[]}',
          "[".repeat(50_000),
          '{"type":"complete","id":"constructor"}',
          '{"type":"__proto__"}',
        ]);
        if (random.next() < 0.5)
          socket.write(
            frame(JSON.stringify({ type: "connection_init", payload: { Authorization: `Bearer ${token}` } })),
          );
        for (let time = 0; time < 20; time++) socket.write(frame(message));
      },
    };
    const way = random.pick(Object.keys(ways));
    return {
      about: `${as}: ${count} × ${way} with ${body.length} bytes`,
      run: async (world) => {
        const held = await hold(world, count, (socket, number) => ways[way]!(socket, world.token(as), number));
        return { answers: [], heldBytes: held };
      },
    };
  },
};
