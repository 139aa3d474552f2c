import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { acknowledged } from "../../../test/web-socket.ts";
import type { Graphql } from "../graphql/graphql.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { createLog } from "../lib/log.ts";
import type { Admission } from "./admission.ts";
import { createArrivals } from "./arrivals.ts";
import { limitConnections } from "./connections.ts";
import { createDelivery } from "./delivery.ts";
import type { Entrance, Whose } from "./entrance.ts";
import { securityHeaders } from "./security-headers.ts";
import { createWebSockets } from "./websocket.ts";

/** In whose line an operation of a stranger at `address` waits. */
async function lineOf({ isProxy, address }: { isProxy: boolean; address: string }): Promise<Whose | undefined> {
  await using stack = new AsyncDisposableStack();
  const clock = testClock();
  const server = http.createServer();
  const connections = limitConnections(server, { isProxy: () => isProxy });
  let whose: Whose | undefined;
  const webSockets = stack.use(
    createWebSockets({
      graphql: {
        answer: async () => ({
          kind: "refused",
          code: "NOT_FOUND",
          result: { errors: [{ message: "no", extensions: { code: "NOT_FOUND" } }] },
        }),
      } as Partial<Graphql> as Graphql,
      admission: { identify: () => undefined } as Partial<Admission> as Admission,
      delivery: createDelivery(clock),
      log: createLog("silent"),
      clock,
      arrivals: stack.use(createArrivals(new ByteBudget(1_000_000), clock)),
      secure: securityHeaders(undefined),
      entrance: {
        enter: (asked) => {
          whose = asked.whose();
          asked.go(undefined);
        },
      } as Partial<Entrance> as Entrance,
      connections,
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
  using talk = await acknowledged({ url: `http://127.0.0.1:${port}` }, null);
  talk.send({ type: "subscribe", id: "1", payload: { query: "{ __typename }" } });
  await talk.next("error");
  return whose;
}

test("a stranger's operation waits in the line of its own address, also behind a trusted proxy", async () => {
  expect(await lineOf({ isProxy: false, address: "192.0.2.1" })).toEqual({ line: "127.0.0.1", isStranger: true });
  expect(await lineOf({ isProxy: true, address: "192.0.2.1" })).toEqual({ line: "192.0.2.1", isStranger: true });
  expect(await lineOf({ isProxy: true, address: "2001:db8::1" })).toEqual({
    line: "2001:db8:0:0::/64",
    isStranger: true,
  });
});
