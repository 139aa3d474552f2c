/** Every kind of answer has the same headers: whatever it says, and whether we, `ws` or Node write it. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { connect } from "./raw.ts";
import { webhookOf } from "./webhooks.ts";

const ORIGIN = "https://app.example.org";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    env: { PUBLIC_URL: "https://agents.example.org/autograph", CORS_ORIGINS: ORIGIN },
  });
  const agent = await publish(server, "echo");
  const pathOf = async (name: string, policy: object): Promise<string> =>
    new URL((await webhookOf(server, agent, { name, policy })).url).pathname.replace("/autograph", "");
  webhook = await pathOf("any", {});
  elsewhere = await pathOf("elsewhere", { allowedAddresses: ["192.0.2.1"] });
  reader = await server.key(["runs:read"]);
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

/** The first answer to these bytes, however its connection goes on: its head, and its body up to `end`. */
async function answerTo(bytes: string, end = ""): Promise<Got> {
  using raw = await connect(server);
  raw.write(bytes);
  await eventually(() => raw.got().split("\r\n\r\n")[1]?.includes(end));
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
/** A request to a webhook or to `/events`. */
const post = (path: string, ...more: string[]): string =>
  `${lines(`POST ${path} HTTP/1.1`, "host: localhost", "content-length: 2", ...more)}{}`;
const JSON_TYPE = "content-type: application/json";
const CLOUD_EVENT = [JSON_TYPE, "ce-specversion: 1.0", "ce-source: s", "ce-type: t", "ce-id: 1"];
let webhook: string;
let elsewhere: string;
let reader: string;
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
  ["a webhook", 202, () => post(webhook, JSON_TYPE)],
  ["a webhook from an address that is not allowed", 403, () => post(elsewhere, JSON_TYPE)],
  ["no webhook", 404, () => post(`${webhook}x`, JSON_TYPE)],
  ["a webhook's other content type", 415, () => post(webhook, "content-type: text/plain")],
  ["an event", 202, () => post("/events", key(), ...CLOUD_EVENT)],
  ["an event without a credential", 401, () => post("/events", ...CLOUD_EVENT)],
  ["an event without the scope", 403, () => post("/events", `authorization: Bearer ${reader}`, ...CLOUD_EVENT)],
  ["an event's other content type", 415, () => post("/events", key(), "content-type: text/plain")],
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
  const page = await answerTo(get("/"), "</html>");
  const asset = /assets\/[\w.-]+\.js/.exec(page.all)![0];
  const own = (nonce: string): string =>
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  const nonceOf = ({ headers }: Got): string => /'nonce-([\w+/=]{24})'/.exec(headers["content-security-policy"]!)![1]!;
  const policy = (got: Got) => ({
    ...API,
    "content-security-policy": own(nonceOf(got)),
    "cross-origin-opener-policy": "same-origin",
  });
  expect(page).toMatchObject({ status: 200, headers: { ...policy(page), "cache-control": "no-cache" } });
  expect(page.all).toContain(`nonce="${nonceOf(page)}"`);
  const file = await answerTo(get(`/${asset}`));
  const kept = { ...policy(file), "cache-control": "public, max-age=31536000, immutable" };
  expect(file).toMatchObject({ status: 200, headers: kept });
  expect(new Set([page, file, await answerTo(get("/"))].map(nonceOf)).size, "each answer has its own").toBe(3);
});

test("the page is at every address that a browser asks for as a page, and files come compressed to those who take them", async () => {
  const deep = await answerTo(get("/autograph/runs/run_1", "accept: text/html,*/*;q=0.8"), "</html>");
  expect(deep).toMatchObject({ status: 200, headers: { "content-type": "text/html; charset=utf-8" } });
  expect(deep.all, "its files are below the path of PUBLIC_URL").toContain('src="/autograph/assets/');
  expect((await answerTo(get("/autograph/runs/run_1"))).status).toBe(404);
  for (const path of ["/autograph/\\x", "/autograph\\..\\x"])
    expect(await answerTo(get(path, "accept: text/html"))).toMatchObject({ status: 400, headers: API });

  const asset = /assets\/[\w.-]+\.js/.exec(deep.all)![0];
  const encodingOf = async (...accepted: string[]): Promise<string | undefined> =>
    (await answerTo(get(`/${asset}`, ...accepted))).headers["content-encoding"];
  expect(await encodingOf("accept-encoding: gzip, deflate, br")).toBe("br");
  expect(await encodingOf("accept-encoding: gzip;q=0.5")).toBe("gzip");
  expect(await encodingOf("accept-encoding: br;q=0, gzip;q=0.0")).toBeUndefined();
  expect(await encodingOf()).toBeUndefined();
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
