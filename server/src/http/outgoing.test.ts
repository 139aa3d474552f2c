/** Over a real WebSocket whose client does not read. */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { ByteBudget } from "../lib/byte-budget.ts";
import { realClock } from "../lib/clock.ts";
import { LIMITS } from "../lib/limits.ts";
import { createArrivals } from "./arrivals.ts";
import { createDelivery } from "./delivery.ts";
import { Outgoing } from "./outgoing.ts";
import { Unanswered } from "./unanswered.ts";

const MESSAGE = "x".repeat(60_000);

/** Sends until the connection is closed; answers what then waited at most. */
async function flood(budget: ByteBudget): Promise<{ waitedBytes: number; takenBytes: number }> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  using arrivals = createArrivals(budget, realClock);
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket] = (await once(server, "connection")) as [WebSocket];
  client.on("error", () => {});
  await once(client, "open");
  client.pause();
  const stream = (socket as unknown as { _socket: Socket })._socket;
  const unanswered = new Unanswered(arrivals, () => undefined);
  const outgoing = new Outgoing(socket, stream, createDelivery(realClock), unanswered);
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
  client.terminate();
  server.close();
  return { waitedBytes, takenBytes };
}

test("1 MiB of messages waits for a client that does not read, charged to the budget of what arrives; then it is closed", async () => {
  const { waitedBytes, takenBytes } = await flood(new ByteBudget(LIMITS.arrivingBytes));
  expect(takenBytes).toBeGreaterThan(LIMITS.unansweredBytes * 0.9);
  expect(waitedBytes).toBeLessThan(LIMITS.unansweredBytes * 1.3);
});

test("less where the budget has less", async () => {
  const { waitedBytes } = await flood(new ByteBudget(800_000));
  expect(waitedBytes).toBeLessThan(600_000);
});
