/**
 * The table of attacks by how HTTP is written (hostile/http-attacks.ts), byte by byte over bare connections, while another
 * organization goes on with its work. Clients that are slow: slow-clients.test.ts.
 */
import net from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "./client.ts";
import { sayHowLong, startNeighbour } from "./hostile/canary.ts";
import { get, head, HTTP_ATTACKS, QUERY, type HttpAttack } from "./hostile/http-attacks.ts";
import { publish } from "./agents.ts";
import { connect } from "./raw.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { webhookOf } from "./webhooks.ts";

let server: SharedServer;
let neighbour: Awaited<ReturnType<typeof startNeighbour>>;
beforeAll(async () => {
  server = await sharedServer();
  neighbour = await startNeighbour(server);
});
afterAll(async () => {
  await neighbour.stop();
  await server[Symbol.asyncDispose]();
});

const LAST = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-request-id: last\r\nconnection: close\r\n\r\n";

/** All that comes until the server closes the connection. */
async function answerTo({ bytes, ends }: HttpAttack): Promise<string> {
  // Half open: the server alone says when it is over.
  const socket = net.connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", allowHalfOpen: true });
  let got = "";
  socket.on("data", (chunk) => (got += chunk.toString("latin1"))).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("end", resolve).once("close", () => resolve()));
  // In one piece, as one write of a proxy.
  const all = Buffer.concat([Buffer.from(bytes as string, "latin1"), Buffer.from(ends ? "" : LAST)]);
  if (ends) socket.end(all);
  else socket.write(all);
  await closed;
  socket.destroy();
  return got;
}

/** The statuses of all answers, and `last` for the one to the request behind. */
const answersIn = (got: string): string =>
  [...got.matchAll(/HTTP\/1\.1 (\d{3}) (?:[^]*?)\r\n\r\n/g)]
    .map(([head, status]) => (/x-request-id: last/i.test(head) ? "last" : status))
    .join(" ");

describe("each is refused with its status, and nothing within it is answered", () => {
  test.for(HTTP_ATTACKS.map((attack) => [attack.what, attack] as const))(
    "%s",
    async ([, attack]: readonly [string, HttpAttack]) => {
      const got = await answerTo(attack);
      expect(attack.answers, got.slice(0, 2_000)).toContain(answersIn(got));
      expect(got).not.toMatch(/x-request-id: smuggled/i);
      expect(got).not.toContain("secret");
      if (String(attack.bytes).startsWith("HEAD ")) expect(got).toMatch(/^[^{]*\r\n\r\n$/);
    },
  );
});

describe("so is each at the other doors", () => {
  const AS_GRAPHQL = "POST /graphql HTTP/1.1";
  // Only /graphql has WebSockets: an upgrade elsewhere is 404 (headers.test.ts).
  const rows = HTTP_ATTACKS.filter(
    ({ what, bytes }) => String(bytes).startsWith(AS_GRAPHQL) && what !== "a WebSocket by POST",
  );
  /** A webhook is looked up first: by then all of such a body may have come, and the connection goes on behind it. */
  const MAY_GO_ON = "one within a body that is refused";
  const doors: [door: string, open: () => Promise<string>][] = [
    [
      "a webhook",
      async () => {
        const { url } = await webhookOf(server, await publish(server, "echo"));
        return `POST ${new URL(url).pathname} HTTP/1.1`;
      },
    ],
    [
      "events",
      async () =>
        `POST /events HTTP/1.1\r\nauthorization: Bearer ${server.world.apiKey}\r\nce-specversion: 1.0\r\nce-source: s\r\nce-type: t\r\nce-id: 1`,
    ],
  ];

  test.for(doors)("%s", async ([, open]) => {
    const start = await open();
    const troubles: string[] = [];
    const tryRow = async ({ what, bytes, answers, ends }: HttpAttack): Promise<void> => {
      const there = Buffer.concat([
        Buffer.from(start, "latin1"),
        Buffer.from(bytes as string, "latin1").subarray(AS_GRAPHQL.length),
      ]);
      const got = await answerTo({ what, bytes: there, answers, ...(ends && { ends }) });
      // The allowed ones are accepted.
      const said = answersIn(got).replaceAll("202", "200");
      const isFit = answers.includes(said) || (what === MAY_GO_ON && said === `${answers[0]} last`);
      if (!isFit || /x-request-id: smuggled/i.test(got)) troubles.push(`${what}: ${said}`);
    };
    expect(rows.length).toBeGreaterThan(50);
    for (let next = 0; next < rows.length; next += 10) await Promise.all(rows.slice(next, next + 10).map(tryRow));
    expect(troubles).toEqual([]);
  });
});

test.for<[protocol: string, bytes: string]>([
  [
    "HTTP/2",
    head(
      `content-length: ${QUERY.length}`,
      "connection: upgrade, http2-settings",
      "upgrade: h2c",
      "http2-settings: AAMAAABkAARAAAAAAAIAAAAA",
    ) + QUERY,
  ],
  ["TLS", get("/healthz", "connection: upgrade", "upgrade: TLS/1.0")],
])("who would rather speak %s is answered in HTTP/1.1, and so is the next request", async ([, bytes]) => {
  using raw = await connect(server);
  raw.write(bytes);
  await eventually(() => raw.got().endsWith("}"));
  raw.write(LAST);
  await raw.closed;
  expect(answersIn(raw.got())).toBe("200 last");
});

test("meanwhile another organization was served, and the log has no error", async () => {
  await neighbour.stop();
  sayHowLong("attacks-http", neighbour);
  expect(neighbour.troubles).toEqual([]);
  expect(neighbour.count).toBeGreaterThan(0);
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
