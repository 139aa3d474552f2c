/** Over a real WebSocket whose client does not read. */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { FairShare } from "../../../fairness/fair-share.ts";
import { realClock } from "../../../lib/clock.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { createArrivals } from "../../connections/arrivals.ts";
import { createPieceWriter } from "../../write-pieces.ts";
import { Outgoing } from "./outgoing.ts";
import { Unanswered } from "./unanswered.ts";

const MESSAGE = "x".repeat(60_000);

async function open(budget: FairShare) {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(new WebSocketServer({ port: 0, host: "127.0.0.1" }), (one) => one.close());
  await once(server, "listening");
  const arrivals = stack.use(createArrivals(budget, realClock));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = stack.adopt(new WebSocket(url), (one) => one.terminate());
  const [socket] = (await once(server, "connection")) as [WebSocket];
  client.on("error", () => {});
  await once(client, "open");
  const stream = (socket as unknown as { _socket: Socket })._socket;
  const unanswered = new Unanswered(arrivals, () => undefined);
  const outgoing = new Outgoing(socket, stream, createPieceWriter(realClock), unanswered);
  const owned = stack.move();
  return { client, socket, stream, outgoing, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Sends until the connection is closed; answers what then waited at most. */
async function flood(budget: FairShare): Promise<{ waitedBytes: number; takenBytes: number }> {
  await using opened = await open(budget);
  const { client, socket, stream, outgoing } = opened;
  client.pause();
  const sent: Promise<void>[] = [];
  let [waitedBytes, takenBytes] = [0, 0];
  for (let count = 0; socket.readyState === WebSocket.OPEN && count < 900; count++) {
    sent.push(outgoing.send(MESSAGE));
    takenBytes = Math.max(takenBytes, budget.takenBy(undefined));
    await new Promise((resolve) => setImmediate(resolve));
    waitedBytes = (count + 1) * MESSAGE.length - (stream.bytesWritten - stream.writableLength);
  }
  expect(socket.readyState).not.toBe(WebSocket.OPEN);
  await Promise.all(sent);
  expect(budget.takenBy(undefined)).toBe(0);
  return { waitedBytes, takenBytes };
}

test("1 MiB of messages waits for a client that does not read, charged to the budget of what arrives; then it is closed", async () => {
  const { waitedBytes, takenBytes } = await flood(new FairShare(LIMITS.arrivingBytes));
  expect(takenBytes).toBeGreaterThan(LIMITS.unansweredBytes * 0.9);
  expect(waitedBytes).toBeLessThan(LIMITS.unansweredBytes * 1.3);
});

test("less where the budget has less", async () => {
  const { waitedBytes } = await flood(new FairShare(800_000));
  expect(waitedBytes).toBeLessThan(600_000);
});

test("no more of them in one turn of the event loop", async () => {
  await using opened = await open(new FairShare(LIMITS.arrivingBytes));
  const { client, socket, stream, outgoing } = opened;
  client.pause();
  for (let count = 0; socket.readyState === WebSocket.OPEN && count < 900; count++) {
    void outgoing.send(MESSAGE);
    // The rest is in the kernel.
    expect(stream.writableLength).toBeLessThan(3 * MESSAGE.length);
  }
  expect(socket.readyState).not.toBe(WebSocket.OPEN);
});

test("a thousand messages wait for a client that does not read; at one more it is closed", async () => {
  await using opened = await open(new FairShare(LIMITS.arrivingBytes));
  const { client, socket, outgoing } = opened;
  client.pause();
  const waiting = new Set<Promise<void>>();
  const send = async (text: string): Promise<void> => {
    const sent = outgoing.send(text);
    waiting.add(sent);
    void sent.finally(() => waiting.delete(sent));
    await new Promise((resolve) => setImmediate(resolve));
  };
  // The kernel takes the first ones.
  while (waiting.size < 10) await send(MESSAGE);
  while (waiting.size < LIMITS.messagesWaiting) await send("x");
  expect(socket.readyState).toBe(WebSocket.OPEN);
  await send("x");
  expect(socket.readyState).not.toBe(WebSocket.OPEN);
});

test("short messages of one tick of the event loop are one write, in order with a large one between them", async () => {
  await using opened = await open(new FairShare(LIMITS.arrivingBytes));
  const { client, stream, outgoing } = opened;
  const came: string[] = [];
  client.on("message", (data: Buffer) => came.push(String(data)));
  const messages = ["first", "second", "third", MESSAGE + MESSAGE, "last"];
  const before = stream.bytesWritten;
  const sent = messages.slice(0, 3).map((message) => outgoing.send(message));
  // The socket has them, and the kernel none.
  expect(stream.bytesWritten - stream.writableLength).toBe(before);
  sent.push(...messages.slice(3).map((message) => outgoing.send(message)));
  await Promise.all(sent);
  expect(stream.writableLength).toBe(0);
  while (came.length < messages.length) await once(client, "message");
  expect(came).toEqual(messages);
});
