/** Every kind of answer tells browsers the same: whatever it says, and whoever writes it (ours, Hono, `ws`, Node). */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { connect } from "./raw.ts";

const ORIGIN = "https://app.example.org";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    env: { PUBLIC_URL: "https://agents.example.org/autograph", CORS_ORIGINS: ORIGIN },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const API = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000",
  "x-content-type-options": "nosniff",
};

type Got = { status: number; headers: Record<string, string>; all: string };

/** The first answer to these bytes, however its connection goes on. */
async function answerTo(bytes: string): Promise<Got> {
  using raw = await connect(server);
  raw.write(bytes);
  await eventually(() => raw.got().includes("\r\n\r\n"));
  const [first = "", ...lines] = raw.got().split("\r\n\r\n", 1)[0]!.split("\r\n");
  const pairs = lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.replace(/^[^:]*: */, "")]);
  expect(pairs.map(([name]) => name)).toHaveLength(new Set(pairs.map(([name]) => name)).size);
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(pairs), all: raw.got() };
}

const lines = (...all: string[]): string => `${all.join("\r\n")}\r\n\r\n`;
const get = (path: string, ...more: string[]): string => lines(`GET ${path} HTTP/1.1`, "host: localhost", ...more);
const ask = (query: string, ...more: string[]): string => {
  const body = JSON.stringify({ query });
  const length = `content-length: ${body.length}`;
  return `${lines("POST /graphql HTTP/1.1", "host: localhost", "content-type: application/json", length, ...more)}${body}`;
};
const key = (): string => `authorization: Bearer ${server.world.apiKey}`;
const UPGRADE = [
  "connection: upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-protocol: graphql-transport-ws",
];
const FIELDS = Array.from({ length: LIMITS.headersPerRequest }, (_, index) => `a${index}: b`);

const KINDS: [name: string, status: number, bytes: () => string][] = [
  ["a result", 200, () => ask("{ me { name } }", key())],
  [
    "a result as graphql-response",
    200,
    () => ask("{ me { name } }", key(), "accept: application/graphql-response+json"),
  ],
  ["a result for another origin's page", 200, () => ask("{ me { name } }", key(), `origin: ${ORIGIN}`)],
  ["a stream of events", 200, () => ask("{ me { name } }", key(), "accept: text/event-stream")],
  ["a refusal within a 200", 200, () => ask("{ me { name } }")],
  ["a document that does not parse", 400, () => ask("{", "accept: application/graphql-response+json")],
  ["a body that is no request", 400, () => ask("").replace("query", "quer1")],
  ["a wrong credential", 401, () => ask("{ me { name } }", "authorization: Bearer nonsense")],
  ["another method", 405, () => get("/graphql")],
  ["a preflight", 204, () => lines("OPTIONS /graphql HTTP/1.1", "host: localhost", `origin: ${ORIGIN}`)],
  ["a body that is too large", 413, () => ask("", `x: y`).replace(/content-length: \d+/, "content-length: 99999999")],
  ["another content type", 415, () => ask("").replace("application/json", "text/plain")],
  ["no Host", 400, () => lines("GET / HTTP/1.1")],
  ["another Host", 421, () => lines("GET / HTTP/1.1", "host: evil.example")],
  ["too many header fields", 431, () => get("/", ...FIELDS)],
  ["header fields that are too large", 431, () => get("/", `a: ${"b".repeat(20_000)}`)],
  ["what is not HTTP", 400, () => "NONSENSE\r\n\r\n"],
  ["nothing at a path", 404, () => get("/nothing")],
  ["the public URL without its slash", 308, () => get("/autograph")],
  ["health", 200, () => get("/healthz")],
  ["readiness", 200, () => get("/readyz")],
  ["a session's end", 200, () => lines("DELETE /auth/session HTTP/1.1", "host: localhost", "origin: http://localhost")],
  ["a session's end for another page", 403, () => lines("DELETE /auth/session HTTP/1.1", "host: localhost")],
  ["a WebSocket", 101, () => get("/graphql", ...UPGRADE)],
  ["an upgrade elsewhere", 404, () => get("/", ...UPGRADE)],
  ["an upgrade from another page", 403, () => get("/graphql", ...UPGRADE, "origin: https://evil.example")],
  ["an upgrade for another Host", 421, () => get("/graphql", ...UPGRADE).replace("localhost", "evil.example")],
  ["an upgrade with too many header fields", 431, () => get("/graphql", ...UPGRADE, ...FIELDS)],
  ["a handshake of another version", 400, () => get("/graphql", ...UPGRADE).replace("version: 13", "version: 7")],
  ["a handshake by another method", 405, () => get("/graphql", ...UPGRADE).replace("GET", "PUT")],
];

test.for(KINDS)("%s: %i", async ([, status, bytes]) => {
  const got = await answerTo(bytes());
  expect(got.status, got.all).toBe(status);
  expect(got.headers).toMatchObject(API);
});

test("a body that does not come: 408", async () => {
  using raw = await connect(server);
  raw.write(ask("{ me { name } }").slice(0, -1));
  await eventually(async () => {
    await server.clock.advance(LIMITS.bodyProgressSeconds * 1_000);
    await sleep(20);
    return raw.got().includes("\r\n\r\n");
  });
  expect(raw.got()).toMatch(/^HTTP\/1\.1 408 /);
  for (const [name, value] of Object.entries(API)) expect(raw.got()).toContain(`${name}: ${value}\r\n`);
});

test("the public keys of access tokens may be kept", async () => {
  const { status, headers } = await answerTo(get("/autograph/.well-known/jwks.json"));
  expect({ status, headers }).toMatchObject({
    status: 200,
    headers: { ...API, "cache-control": "public, max-age=30" },
  });
});

test("the page and its files have a policy of their own, and scripts of its own server alone", async () => {
  const page = await answerTo(get("/"));
  const asset = /assets\/[\w.-]+\.js/.exec(page.all)![0];
  const own =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  const policy = { ...API, "content-security-policy": own, "cross-origin-opener-policy": "same-origin" };
  expect(page).toMatchObject({ status: 200, headers: { ...policy, "cache-control": "no-cache" } });
  const kept = { ...policy, "cache-control": "public, max-age=31536000, immutable" };
  expect(await answerTo(get(`/${asset}`))).toMatchObject({ status: 200, headers: kept });
});

test("answers with a limit of their own have all of it, too: 429", async () => {
  const { organizationId, apiKey } = await server.organization("free");
  await server.setPlan(organizationId, "free");
  await eventually(async () => {
    const got = await answerTo(ask("{ me { name } }", `authorization: Bearer ${apiKey}`));
    expect(got.headers).toMatchObject(API);
    return got.status === 429 && got.headers["ratelimit"] !== undefined;
  });
});
