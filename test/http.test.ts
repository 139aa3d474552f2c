/** The HTTP server around GraphQL: health, hosts, bodies, origins, the page. What is no HTTP: attacks-http.test.ts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { webhookOf } from "./webhooks.ts";

const ORIGIN = "https://app.example.org";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    env: { PUBLIC_URL: "https://agents.example.org/autograph", CORS_ORIGINS: ORIGIN, TRUSTED_PROXIES: "127.0.0.1" },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

type Got = { status: number; headers: http.IncomingHttpHeaders; body: string };

/** fetch does not let a Host header through. */
function send(path: string, options: http.RequestOptions = {}, body?: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${server.url}${path}`, { ...options, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body: text }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

const ME = JSON.stringify({ query: "{ me { name } }" });
const asMe = (headers: http.OutgoingHttpHeaders = {}): http.RequestOptions => ({
  method: "POST",
  headers: { "content-type": "application/json", authorization: `Bearer ${server.world.apiKey}`, ...headers },
});

/** The response over a bare connection until it is closed or contains `until`. */
async function raw(text: string, until?: string): Promise<string> {
  const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
  let got = "";
  const end = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      got += String(chunk);
      if (until !== undefined && got.includes(until)) resolve();
    });
    socket.once("close", () => resolve());
    socket.on("error", () => resolve());
  });
  socket.write(text);
  await end;
  socket.destroy();
  return got;
}

describe("health", () => {
  test.for(["/healthz", "/readyz", "/autograph/healthz"])(
    "%s answers 200 without a credential, for any Host",
    async (path) => {
      for (const host of ["localhost", "10.1.2.3:4400"]) {
        expect(await send(path, { headers: { host } })).toMatchObject({ status: 200, body: '{"status":"ok"}' });
      }
    },
  );
});

describe("the Host header", () => {
  test.for(["localhost", "localhost:1234", "127.0.0.1", "[::1]:4400", "agents.example.org", "AGENTS.example.org:443"])(
    "%s is this server",
    async (host) => {
      expect((await send("/graphql", asMe({ host }), ME)).status).toBe(200);
    },
  );
  test.for([
    "evil.example.org",
    "127.0.0.1.example.org",
    "localhost.example.org",
    "example.org",
    "10.0.0.1",
    "localhost:x",
  ])("%s is another: 421", async (host) => {
    for (const path of ["/graphql", "/", "/nothing"]) {
      const { status, body } = await send(path, asMe({ host }), ME);
      expect({ status, code: JSON.parse(body).errors[0].extensions.code }, path).toEqual({
        status: 421,
        code: "BAD_REQUEST",
      });
    }
  });
  test("with a port that is none is 400, on every path", async () => {
    for (const path of ["/graphql", "/", "/nothing"]) {
      const { status, body } = await send(path, asMe({ host: "localhost:65536" }), ME);
      const message = "the Host header's port is larger than 65535";
      expect([status, JSON.parse(body).errors[0].message], path).toEqual([400, message]);
    }
  });
});

test("an empty Host header names no server", async () => {
  expect(await raw("GET / HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n")).toMatch(/^HTTP\/1\.1 421 /);
});

describe("the public URL's path", () => {
  test("may be left in or taken off by the proxy", async () => {
    for (const path of ["/autograph/graphql", "/graphql", "/autograph/graphql?a=1"]) {
      expect((await send(path, asMe(), ME)).body).toBe('{"data":{"me":{"name":"first"}}}');
    }
    expect((await send("/autographgraphql", asMe(), ME)).status).toBe(404);
  });
  test("without its slash leads to the page with it", async () => {
    for (const query of ["", "?a=/b"]) {
      const location = `/autograph/${query}`;
      expect(await send(`/autograph${query}`)).toMatchObject({ status: 308, headers: { location } });
    }
  });
});

describe("bodies", () => {
  const large = "x".repeat(LIMITS.bodyBytes + 1);

  test("over the limit are 413, with a length and in chunks, and the answer arrives", async () => {
    const withLength = await send("/graphql", asMe({ "content-length": large.length }), large);
    const chunked = await send("/graphql", asMe({ "transfer-encoding": "chunked" }), large);
    for (const { status, headers, body } of [withLength, chunked]) {
      expect({ status, connection: headers.connection }).toEqual({ status: 413, connection: "close" });
      expect(JSON.parse(body).errors[0].extensions.code).toBe("REQUEST_ENTITY_TOO_LARGE");
    }
  });

  /** More than a connection's buffers take, so the client is still sending when the answer comes. */
  const huge = "x".repeat(8 * LIMITS.bodyBytes);

  /** Sends everything at once, as a program with the body at hand does. */
  async function fast(path: string, how: "length" | "chunked", connection: string): Promise<string> {
    const caller = path.includes("/webhook/") ? "" : `authorization: Bearer ${server.world.apiKey}\r\n`;
    const framing = how === "length" ? `content-length: ${huge.length}` : "transfer-encoding: chunked";
    const body = how === "length" ? huge : `${huge.length.toString(16)}\r\n${huge}\r\n0\r\n\r\n`;
    return raw(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: ${connection}\r\norigin: https://agents.example.org\r\n${caller}content-type: application/json\r\n${framing}\r\n\r\n${body}`,
      "REQUEST_ENTITY_TOO_LARGE",
    );
  }

  test("over the limit are 413 at every door however fast they come: 40 of 40", async () => {
    const agentId = await publish(server, "echo");
    const hook = new URL((await webhookOf(server, agentId)).url).pathname;
    const doors = ["/graphql", "/auth/session", "/events", hook];
    const answers = [];
    for (const how of ["length", "chunked"] as const)
      for (const connection of ["keep-alive", "close"])
        for (let time = 0; time < 10; time++) answers.push(await fast(doors[time % doors.length]!, how, connection));
    expect(answers.map((text) => text.slice(0, 12))).toEqual(Array(40).fill("HTTP/1.1 413"));
  });

  test("over the limit are 413 for Node's fetch and curl too: 40 of 40", async () => {
    const headers = { "content-type": "application/json", ...asMe().headers } as Record<string, string>;
    for (let time = 0; time < 20; time++) {
      const response = await fetch(`${server.url}/graphql`, { method: "POST", headers, body: huge });
      expect(response.status).toBe(413);
      expect((await response.json()).errors[0].extensions.code).toBe("REQUEST_ENTITY_TOO_LARGE");
    }
    const form = ["-s", "-H", "content-type: application/json", "--data-binary", "@-", `${server.url}/graphql`];
    for (let time = 0; time < 20; time++) {
      const chunked = time % 2 === 0 ? ["-H", "transfer-encoding: chunked"] : [];
      const curl = spawn("curl", ["-H", "expect:", ...chunked, ...form]);
      curl.stdin.on("error", () => {}).end(huge);
      expect(await textOf(curl.stdout)).toContain("REQUEST_ENTITY_TOO_LARGE");
    }
  });

  test("of exactly the limit are taken", async () => {
    const rest = LIMITS.bodyBytes - ME.length;
    expect((await send("/graphql", asMe(), ME.slice(0, -1) + " ".repeat(rest) + "}")).status).toBe(200);
  });

  test("announced with Expect: 100-continue are refused before they are sent", async () => {
    const head = (length: number): string =>
      `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`;
    const refused = await raw(head(LIMITS.bodyBytes + 1), "errors");
    expect(refused).toMatch(/^HTTP\/1\.1 413 /);
    expect(await raw(head(10), "\r\n\r\n")).toMatch(/^HTTP\/1\.1 100 Continue/);
  });

  test("in many small chunks are put together, also in the middle of a character", async () => {
    const body = Buffer.from(JSON.stringify({ query: "query A { me { name } } # äöü€😀" }));
    const request = http.request(`${server.url}/graphql`, { ...asMe(), agent: false });
    for (const byte of body) request.write(Buffer.from([byte]));
    request.end();
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
  });

  test("that never end do not keep others waiting for 250 ms", async () => {
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(
      "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    );
    const started = performance.now();
    expect((await send("/graphql", asMe(), ME)).status).toBe(200);
    expectInTime(performance.now() - started, 10 * 250);
    socket.destroy();
  });

  test("several requests on one connection are answered in order", async () => {
    const one = `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 27\r\n\r\n{"query":"{ __typename }"} `;
    const got = await raw(one + one + one.replace("host: localhost", "host: localhost\r\nconnection: close"));
    expect(got.match(/"__typename":"Query"/g)).toHaveLength(3);
  });

  test("a connection takes any number of requests one after another", async () => {
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
    const ask = (): void => void socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let answered = 0;
    socket.on("data", (chunk) => {
      answered += String(chunk).split("HTTP/1.1 200").length - 1;
      ask();
    });
    ask();
    await eventually(() => answered > 2 * LIMITS.requestsPerConnection);
    socket.destroy();
  });

  test("a connection goes on after a refusal whose request was read to its end, and only then", async () => {
    const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`;
    const got = await raw(
      get("/healthz") + get("/graphql") + get("/nothing") + get("/readyz", "connection: close\r\n"),
    );
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 405", "HTTP/1.1 404", "HTTP/1.1 200"]);
    const head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nab";
    const preflight = head.replace("POST", "OPTIONS").replace("host", `origin: ${ORIGIN}\r\nhost`);
    for (const [unread, status] of [
      [head, 415],
      [head.replace("/graphql", "/autograph"), 308],
      [preflight, 204],
    ] as const) {
      const [answer] = (await raw(unread)).split("\r\n\r\n");
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nconnection: close(\r\n|$)`, "i"));
    }
  });
});

describe("other origins", () => {
  const preflight = (origin: string): http.RequestOptions => ({
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
  });

  test("that are listed may call, without cookies", async () => {
    const allowed = await send("/graphql", preflight(ORIGIN));
    expect(allowed).toMatchObject({
      status: 204,
      headers: { "access-control-allow-origin": ORIGIN, "access-control-allow-methods": "POST", vary: "origin" },
    });
    expect(allowed.headers["access-control-allow-headers"]).toContain("authorization");
    expect(allowed.headers["access-control-allow-credentials"]).toBeUndefined();
    expect((await send("/graphql", asMe({ origin: ORIGIN }), ME)).headers["access-control-allow-origin"]).toBe(ORIGIN);
  });

  const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

  test("that are listed may call /mcp, with its headers, and learn how to be admitted", async () => {
    const { status, headers } = await send("/mcp", preflight(ORIGIN));
    expect([status, headers["access-control-allow-methods"]]).toEqual([204, "POST"]);
    const allowed = headers["access-control-allow-headers"]!.split(", ");
    expect(allowed).toEqual(
      expect.arrayContaining(["authorization", "mcp-protocol-version", "mcp-method", "mcp-name"]),
    );
    expect(await send("/mcp", asMe({ origin: ORIGIN }), PING)).toMatchObject({
      status: 200,
      headers: { "access-control-allow-origin": ORIGIN },
    });
    const refused = await send("/mcp", asMe({ origin: ORIGIN, authorization: "Bearer ag_wrong" }), PING);
    expect(refused).toMatchObject({ status: 401, headers: { "access-control-allow-origin": ORIGIN } });
    expect(refused.headers["access-control-expose-headers"]).toContain("www-authenticate");
    expect(await send("/mcp", { method: "HEAD" })).toMatchObject({ status: 405, headers: { allow: "POST" }, body: "" });
  });

  test.for(["https://app.example.org.evil.example", "http://app.example.org", "null", "*"])(
    "%s may not",
    async (origin) => {
      const refused = await send("/graphql", preflight(origin));
      expect(refused.status).toBe(405);
      expect(refused.headers["access-control-allow-origin"]).toBeUndefined();
      expect((await send("/graphql", asMe({ origin }), ME)).headers["access-control-allow-origin"]).toBeUndefined();
      for (const { status, headers } of [
        await send("/mcp", preflight(origin)),
        await send("/mcp", asMe({ origin }), PING),
      ])
        expect([status, headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    },
  );

  test("a credential is in a header that a foreign page can't have sent along: what has one is answered, whatever its Origin", async () => {
    const { status, body } = await send("/graphql", asMe({ origin: "https://evil.example" }), ME);
    expect({ status, body }).toEqual({ status: 200, body: '{"data":{"me":{"name":"first"}}}' });
  });
});

describe("a WebSocket asked for by a page", () => {
  const upgrade = (headers: Record<string, string>, host = "localhost"): string =>
    [
      "GET /graphql HTTP/1.1",
      `host: ${host}`,
      "connection: upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol: graphql-transport-ws",
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      "\r\n",
    ].join("\r\n");
  const statusOf = async (origin: string | undefined): Promise<string> =>
    (await raw(upgrade(origin === undefined ? {} : { origin }), "\r\n\r\n")).split("\r\n")[0]!;

  test.for([undefined, "http://localhost", "https://agents.example.org", ORIGIN])("of %s opens", async (origin) => {
    expect(await statusOf(origin)).toBe("HTTP/1.1 101 Switching Protocols");
  });
  test.for([
    "https://evil.example",
    "http://localhost:3000",
    "http://app.example.org",
    "null",
    `${ORIGIN}.evil.example`,
  ])("of %s is refused: 403, and the connection is closed", async (origin) => {
    expect(await statusOf(origin)).toBe("HTTP/1.1 403 Forbidden");
    expect(await raw(upgrade({ origin }))).toMatch(/^HTTP\/1.1 403 [^]*connection: close/);
  });
});

test("the login throttle counts the client behind a trusted proxy, not the proxy", async () => {
  const attempt = async (client: string, email: string): Promise<string> => {
    const query = `mutation { login(email: "${email}", password: "wrong wrong wrong") { expiresAt } }`;
    const { body } = await send(
      "/graphql",
      { method: "POST", headers: { "content-type": "application/json", "x-forwarded-for": client } },
      JSON.stringify({ query }),
    );
    return JSON.parse(body).errors[0].extensions.code;
  };
  let code = "";
  for (let count = 0; count < 200 && code !== "RATE_LIMITED"; count++)
    code = await attempt("203.0.113.9", `nobody${count}@example.org`);
  expect(code).toBe("RATE_LIMITED");
  expect(await attempt("203.0.113.10", "somebody@example.org")).toBe("UNAUTHENTICATED");
});

test("an unknown path is a 404 in JSON, and no path leads out of the page's folder", async () => {
  for (const path of [
    "/nothing",
    "/graphql/",
    "/graphql/x",
    "/../package.json",
    "/%2e%2e/package.json",
    "/assets/..%2f..%2fpackage.json",
    "/.env",
    "/index.html/x",
  ]) {
    const { status, headers, body } = await getAsIs(path);
    expect({ path, status, type: headers }).toEqual({
      path,
      status: 404,
      type: expect.stringContaining("application/json"),
    });
    expect(body).toContain('"NOT_FOUND"');
  }
});

/** Node's client would tidy the path up. */
async function getAsIs(path: string): Promise<{ status: number; headers: string; body: string }> {
  const text = await raw(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  const [headers = "", body = ""] = text.split("\r\n\r\n", 2);
  return { status: Number(text.split(" ")[1]), headers, body };
}

test("no answer names what it was made with", async () => {
  for (const path of ["/", "/graphql", "/healthz"]) {
    const { headers } = await send(path);
    expect(headers["x-powered-by"]).toBeUndefined();
    expect(headers["server"]).toBeUndefined();
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["x-request-id"]).toMatch(/^[\w-]+$/);
  }
});
