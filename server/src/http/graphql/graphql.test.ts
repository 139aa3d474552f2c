import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import type { Auth } from "../../auth/handle/auth.ts";
import { makeApiKey } from "../../auth/api-key.ts";
import type { Graphql } from "../../graphql/graphql.ts";
import { FairShare } from "../../fairness/fair-share.ts";
import { newId } from "../../lib/ids.ts";
import { createAdmission } from "../admission/admission.ts";
import { createArrivals } from "../connections/arrivals.ts";
import { limitConnections } from "../connections/connections.ts";
import { STATUSES } from "../http-refusal.ts";
import { handleGraphql, type GraphqlEdge } from "./graphql.ts";
import { securityHeaders } from "../security-headers.ts";

test("a connection whose caller is remembered is no stranger's: it does not give way", async () => {
  const caller = { organizationId: newId<"organization">(), credential: { kind: "key" } };
  const keys = { recall: () => caller, bySecret: async () => caller, noteUse: () => {} };
  const graphql: Pick<Graphql, "answer"> = {
    answer: async (request) => {
      expect(await request.caller()).toBe(caller);
      return { kind: "refused", code: "NOT_FOUND", result: { data: null } };
    },
  };
  const server = http.createServer();
  const connections = limitConnections(server, {
    strangers: { all: 1, perAddress: 1 },
    isProxy: () => false,
  });
  await using admission = createAdmission({ keys, clock: testClock() } as unknown as Auth, connections);
  const edge = {
    graphql,
    admission,
    cors: new Set<string>(),
    arrivals: createArrivals(new FairShare(1), testClock()),
    connections,
    writer: { taken: async () => {} },
  } as unknown as GraphqlEdge;
  server.on("request", (request, response) => {
    void handleGraphql(edge, {
      request,
      response,
      requestId: "1",
      path: "/graphql",
      secure: securityHeaders(undefined),
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const open = async (): Promise<net.Socket> => {
    const socket = net.connect(port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    return socket;
  };
  const known = await open();
  let isClosed = false;
  known.on("close", () => (isClosed = true));
  const head = `POST / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${makeApiKey()}\r\ncontent-type: application/json\r\n`;
  known.write(`${head}content-length: 12\r\n\r\n{"query":""}`);
  await once(known, "data");
  const [first] = [await open(), await open()];
  await once(first.resume(), "close");
  await sleep(50);
  expect(isClosed).toBe(false);
  server.closeAllConnections();
  server.close();
});

test("docs/errors.md names the HTTP status of every code that refuses a request as a whole", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../../docs/errors.md"), "utf8");
  const rows = Array.from(page.matchAll(/^\| (\d{3}) \| `([A-Z_]+)` \|/gm), ([, status, code]) => `${status} ${code}`);
  for (const [code, status] of Object.entries(STATUSES)) expect(rows).toContain(`${status} ${code}`);
});
