/** How a connection ends whose request is refused while its body comes, by sockets of this process. */
import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "../../../test/in-time.ts";
import { LIMITS } from "../lib/limits.ts";
import { sendError } from "./write-response.ts";
import { securityHeaders } from "./security-headers.ts";

const PIECE = Buffer.alloc(64 * 1024);
const SECURE = securityHeaders(undefined);

/** Answers each request when its head has come. */
const server = http.createServer((request, response) =>
  sendError({ request, response, requestId: "1", path: "/", secure: SECURE }, 413, "REQUEST_ENTITY_TOO_LARGE", "no"),
);
beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(() => server.closeAllConnections());

/** A client that sends a body of this length, and does not close its half by itself. `closed`: by the server. */
async function client(length: number) {
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, "connection") as Promise<[net.Socket]>;
  const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const [served] = await accepted;
  let got = "";
  const answered = new Promise<void>((resolve) =>
    socket.on("data", (chunk) => {
      got += String(chunk);
      if (got.includes("REQUEST_ENTITY_TOO_LARGE")) resolve();
    }),
  );
  const closed = new Promise<void>((resolve) => served.once("close", () => resolve()));
  socket.on("error", () => {});
  socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`);
  return {
    socket,
    answered,
    closed,
    isClosed: () => served.destroyed,
    /** All of it, as fast as it is taken. Whether it was. */
    send: async (bytes: number): Promise<boolean> => {
      for (let sent = 0; sent < bytes && !served.destroyed; sent += PIECE.length) {
        const piece = PIECE.subarray(0, Math.min(PIECE.length, bytes - sent));
        if (!socket.write(piece)) await Promise.race([once(socket, "drain").catch(() => {}), closed]);
      }
      return !served.destroyed;
    },
  };
}

test("so many bytes of a refused body, and not one more", async () => {
  const whole = await client(LIMITS.unreadBytes);
  await whole.answered;
  expect(await whole.send(LIMITS.unreadBytes)).toBe(true);
  await whole.closed;
  const more = await client(2 * LIMITS.unreadBytes);
  await more.answered;
  await more.send(LIMITS.unreadBytes + 1);
  const since = performance.now();
  await more.closed;
  // Not by the time that is left to it.
  expectInTime(performance.now() - since, LIMITS.unreadSeconds * 1_000);
});

test("for so long, and no longer", async () => {
  const since = performance.now();
  const slow = await client(1_000);
  await slow.answered;
  await slow.closed;
  expect(performance.now() - since).toBeGreaterThan(LIMITS.unreadSeconds * 990);
});

/** Answers a request when its client has gone away in the middle of the body. */
async function goneInTheMiddle(): Promise<void> {
  const answering = http.createServer((request, response) => {
    request.on("error", () =>
      sendError({ request, response, requestId: "1", path: "/", secure: SECURE }, 400, "BAD_REQUEST", "gone"),
    );
    request.resume();
  });
  await once(answering.listen(0, "127.0.0.1"), "listening");
  const { port } = answering.address() as AddressInfo;
  for (let count = 0; count < 20; count++) {
    const [socket, [request]] = await Promise.all([
      (async () => {
        const one = net.connect({ port, host: "127.0.0.1" });
        one.on("error", () => {});
        one.write("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nabc");
        return one;
      })(),
      once(answering, "request") as Promise<[http.IncomingMessage]>,
    ]);
    const failed = new Promise((resolve) => request.once("close", resolve));
    socket.destroy();
    await failed;
  }
  await new Promise((resolve) => answering.close(resolve));
}

/** Fills the places for lingering connections, and one more; undefined if the machine took longer than one may linger. */
async function fillUp() {
  const since = performance.now();
  const first = await client(1_000);
  await first.answered;
  const others = await Promise.all(Array.from({ length: LIMITS.unreadBodies - 1 }, () => client(1_000)));
  await Promise.all(others.map(({ answered }) => answered));
  const wasOpen = !first.isClosed();
  const last = await client(1_000);
  await last.answered;
  await first.closed;
  const isTelling = performance.now() - since < LIMITS.unreadSeconds * 900;
  const result = { wasOpen, isLastOpen: !last.isClosed() };
  for (const { socket } of [first, ...others, last]) socket.destroy();
  return isTelling ? result : undefined;
}

test("so many at a time, and one more cuts the oldest, also after clients that went away in the middle", async () => {
  await goneInTheMiddle();
  let result: Awaited<ReturnType<typeof fillUp>>;
  for (let tries = 0; !result && tries < 20; tries++) result = await fillUp();
  expect(result).toEqual({ wasOpen: true, isLastOpen: true });
});

test("a client that has sent all of it, or gives up, is done with at once, and nothing of it stays", async () => {
  const done = await client(10);
  await done.answered;
  await done.send(10);
  await done.closed;
  const gone = await client(1_000);
  await gone.answered;
  gone.socket.destroy();
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
});
