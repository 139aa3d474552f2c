import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../../../test/client.ts";
import { testClock } from "../../../../../test/clock.ts";
import { acknowledged, talk } from "../../../../../test/web-socket.ts";
import type { Graphql } from "../../../graphql/graphql.ts";
import { FairShare } from "../../../fairness/fair-share.ts";
import { createLog } from "../../../lib/log/log.ts";
import type { Admission } from "../../admission/admission.ts";
import { createArrivals } from "../../connections/arrivals.ts";
import { limitConnections } from "../../connections/connections.ts";
import { createPieceWriter } from "../../write-pieces.ts";
import type { Entrance, Line } from "../../connections/entrance.ts";
import { HeldBack } from "../../connections/held-back.ts";
import { securityHeaders } from "../../security-headers.ts";
import { createWebSockets } from "./websocket.ts";

type Options = { isProxy?: boolean; address?: string; isOverloaded?: boolean };

/** WebSockets whose operations are all refused. */
async function serve({ isProxy = false, address = "192.0.2.1", isOverloaded = false }: Options) {
  const stack = new AsyncDisposableStack();
  const clock = testClock();
  const server = http.createServer();
  const connections = limitConnections(server, { isProxy: () => isProxy });
  const heldBack = stack.use(new HeldBack(clock));
  const lines: Line[] = [];
  const webSockets = stack.use(
    createWebSockets({
      graphql: {
        answer: async () => ({
          kind: "refused",
          code: "UNAVAILABLE",
          result: { errors: [{ message: "no", extensions: { code: "UNAVAILABLE" } }] },
        }),
      } as Partial<Graphql> as Graphql,
      admission: { identify: () => undefined } as Partial<Admission> as Admission,
      writer: createPieceWriter(clock),
      log: createLog("silent"),
      clock,
      arrivals: stack.use(createArrivals(new FairShare(1_000_000), clock)),
      secure: securityHeaders(undefined),
      entrance: {
        enter: (entrant) => {
          lines.push(entrant.line());
          entrant.go(isOverloaded ? entrant.line() : undefined);
        },
      } as Partial<Entrance> as Entrance,
      connections,
      heldBack,
    }),
  );
  server.on("upgrade", (request, socket, head) =>
    webSockets.accept({ request, requestId: "r", path: "/graphql", secure: securityHeaders(undefined) }, socket, head, {
      address,
      userAgent: undefined,
    }),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  stack.defer(() => (server.closeAllConnections(), void server.close()));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    clock,
    heldBack,
    lines,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const subscribe = (id: string) => ({ type: "subscribe", id, payload: { query: "{ __typename }" } });

/** The line in which an operation of a stranger at `address` waits. */
async function lineOf(options: Options): Promise<Line | undefined> {
  await using server = await serve(options);
  using talk = await acknowledged(server, null);
  talk.send(subscribe("1"));
  await talk.next("error");
  return server.lines[0];
}

test("a stranger's operation waits in the line of its own address, also behind a trusted proxy", async () => {
  expect(await lineOf({ isProxy: false, address: "192.0.2.1" })).toEqual({ name: "127.0.0.1", isStranger: true });
  expect(await lineOf({ isProxy: true, address: "192.0.2.1" })).toEqual({ name: "192.0.2.1", isStranger: true });
  expect(await lineOf({ isProxy: true, address: "2001:db8::1" })).toEqual({
    name: "2001:db8:0:0::/64",
    isStranger: true,
  });
});

test("a client that answers no ping is gone within two of them; one that does stays", async () => {
  await using server = await serve({});
  using silent = await talk(server, { autoPong: false });
  using alive = await talk(server);
  const pinged = [silent, alive].map(({ socket }) => once(socket, "ping"));
  server.clock.pass(15_000);
  await Promise.all(pinged);
  // Already answered: what is sent later is answered behind it.
  for (const one of [silent, alive]) {
    one.send({ type: "connection_init" });
    await one.next("connection_ack");
  }
  server.clock.pass(15_000);
  expect((await silent.closed).code).toBe(1006);
  alive.send({ type: "ping" });
  await alive.next("pong");
});

test("one that is held back is neither cut for what it began to send nor for pings that it cannot answer", async () => {
  await using server = await serve({ isOverloaded: true });
  const { clock, heldBack } = server;
  using talk = await acknowledged(server, null);
  // More than 30 s of turns before its own: two pings.
  const other = () => ({ pause: () => {}, resume: () => {}, destroyed: false });
  for (let count = 0; count < 14_000; count++) heldBack.hold({ name: "127.0.0.1", isStranger: true }, other());
  talk.send(subscribe("1"));
  talk.socket.send('{"type":"subscribe",', { fin: false });
  const { payload } = await talk.next("error");
  const { retryAfter } = payload[0].extensions;
  expect(retryAfter).toBeGreaterThan(30);
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      clock.pass(1_000);
      await immediately();
    }
  };
  await pass(retryAfter - 1);
  expect(talk.socket.readyState).toBe(talk.socket.OPEN);
  talk.socket.send('"id":"2","payload":{"query":"{ a }"}}');
  await pass(retryAfter);
  await eventually(() => talk.messages.some(({ type, id }) => type === "error" && id === "2"));
});
