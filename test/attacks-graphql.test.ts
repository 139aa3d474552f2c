/**
 * The table of attacks by what a GraphQL request says (hostile/graphql-attacks.ts), over HTTP in both media types, Server-Sent
 * Events and WebSocket alike, by a caller and by a stranger, while another organization goes on with its work.
 */
import http from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, type Data } from "./client.ts";
import { sayHowLong, startNeighbour } from "./hostile/canary.ts";
import { ATTACKS, NO_JSON, type Attack, type Outcome } from "./hostile/graphql-attacks.ts";
import { jsonHeaders, send, type Received } from "./hostile/send.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";
import { acknowledged } from "./web-socket.ts";

const MEDIA_TYPES = ["application/json", "application/graphql-response+json", "text/event-stream"] as const;
type MediaType = (typeof MEDIA_TYPES)[number];
/** A refusal's form, whatever is asked for. */
const ANSWER_CHARACTERS = 30_000;
const STREAM_MS = 120_000;
const TRIES = 5;

let server: SharedServer;
let neighbour: Awaited<ReturnType<typeof startNeighbour>>;
const agent = new http.Agent({ keepAlive: true });
beforeAll(async () => {
  server = await sharedServer();
  neighbour = await startNeighbour(server);
});
afterAll(async () => {
  await neighbour.stop();
  agent.destroy();
  await server[Symbol.asyncDispose]();
});

/** Who was refused before the body had been read may lose the answer with the connection. */
async function sent(body: string | Buffer, token: string | null, accept: MediaType): Promise<Received> {
  const request = { headers: { ...jsonHeaders(token), accept }, body };
  for (let left = TRIES; ; left--) {
    const received = await send({ url: server.url, agent, streamMs: STREAM_MS }, request);
    if (received.status !== 0 || left === 0) return received;
  }
}

const codesIn = (text: string): string[] => [...new Set(text.matchAll(/"code":"([A-Z_]+)"/g).map(([, code]) => code!))];

async function overHttp(body: string | Buffer, token: string | null, accept: MediaType): Promise<string> {
  const { status, text, isWhole } = await sent(body, token, accept);
  expect(isWhole).toBe(true);
  const codes = codesIn(text);
  if (codes.length > 0) expect(text.length).toBeLessThan(ANSWER_CHARACTERS);
  return `${status} ${codes.join(", ") || "answered"}`;
}

/** As it is over a WebSocket of its own. */
async function overWebSocket(body: string, token: string | null): Promise<string> {
  using socket = await acknowledged(server, token);
  const closed = socket.closed.then(({ code }) => `closed ${code}`);
  socket.send(`{"id":"1","type":"subscribe","payload":${body}}`);
  const answer = eventually(() => socket.messages.find(({ id }: Data) => id === "1")).then(
    ({ payload }: Data) => codesIn(JSON.stringify(payload)).join(", ") || "answered",
  );
  // When the other has won.
  answer.catch(() => {});
  return await Promise.race([closed, answer]);
}

const WHOLE: Partial<Record<Outcome, number>> = {
  BAD_REQUEST: 400,
  REQUEST_ENTITY_TOO_LARGE: 413,
  unread: 401,
};
/** Refused before the operation began; `application/json` says so with 200. */
const EARLY: readonly Outcome[] = [
  "GRAPHQL_PARSE_FAILED",
  "GRAPHQL_VALIDATION_FAILED",
  "QUERY_TOO_COMPLEX",
  "PERSISTED_QUERY_NOT_SUPPORTED",
  "BAD_USER_INPUT",
];

const statusOf = (outcome: Outcome, accept: MediaType): number =>
  WHOLE[outcome] ?? (EARLY.includes(outcome) && accept !== "application/json" ? 400 : 200);

const codeOf = (outcome: Outcome): string =>
  outcome === "unread" ? "UNAUTHENTICATED" : outcome.replace(" of a field", "");

const expected = (outcome: Outcome, socket: Outcome): object => ({
  ...Object.fromEntries(MEDIA_TYPES.map((type) => [type, `${statusOf(outcome, type)} ${codeOf(outcome)}`])),
  WebSocket: socket === "cut" ? expect.stringMatching(/^closed \d+$|^UN[A-Z]+$/) : codeOf(socket),
});

async function observed(body: string, token: string | null): Promise<object> {
  const answers: Record<string, string> = {};
  for (const type of MEDIA_TYPES) answers[type] = await overHttp(body, token, type);
  answers["WebSocket"] = await overWebSocket(body, token);
  return answers;
}

describe("each is refused with its code, over every transport", () => {
  test.for(ATTACKS.map((attack) => [attack.what, attack] as const))(
    "%s",
    async ([, { body, caller, stranger, socket }]: readonly [string, Attack]) => {
      expect({
        caller: await observed(body, server.world.apiKey),
        stranger: await observed(body, null),
      }).toEqual({
        caller: expected(caller, socket.caller),
        stranger: expected(stranger, socket.stranger),
      });
    },
  );
});

describe("a body that is no JSON text is BAD_REQUEST", () => {
  test.for(NO_JSON)("%s", async ([, body]) => {
    for (const token of [server.world.apiKey, null])
      for (const type of MEDIA_TYPES) expect(await overHttp(body, token, type)).toBe("400 BAD_REQUEST");
  });
});

describe("what a page of another origin can make a browser send without asking is refused, and nothing is carried out", () => {
  const mutation = 'mutation { createProject(input: {handle: "foreign", name: "Foreign"}) { id } }';
  const body = JSON.stringify({ query: mutation });
  const form = new URLSearchParams({ query: mutation }).toString();
  const path = `/graphql?${form}`;
  const parts = `--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n${body}\r\n--x--\r\n`;
  const origin = "https://evil.example";

  test.for<[what: string, status: number, request: { method?: string; path?: string; type?: string; body?: string }]>([
    ["text/plain", 415, { type: "text/plain" }],
    ["text/plain that says JSON", 415, { type: "text/plain; application/json" }],
    ["text/plain with a charset", 415, { type: "text/plain;charset=UTF-8" }],
    ["a form", 415, { type: "application/x-www-form-urlencoded", body: form }],
    ["a form with JSON in it", 415, { type: "application/x-www-form-urlencoded" }],
    ["a multipart form", 415, { type: "multipart/form-data; boundary=x", body: parts }],
    ["no type", 415, {}],
    ["an empty type", 415, { type: "" }],
    ["two types", 415, { type: "text/plain, application/json" }],
    ["application/graphql", 415, { type: "application/graphql", body: mutation }],
    ["JSON in another charset", 415, { type: "application/json; charset=utf-7" }],
    ["GET", 405, { method: "GET", path, body: "" }],
    ["GET with JSON", 405, { method: "GET", path, type: "application/json", body: "" }],
    ["HEAD", 405, { method: "HEAD", path, body: "" }],
    ["POST with the operation in the URL", 415, { path, body: "" }],
    ["POST of JSON with another operation in the URL", 400, { path, type: "application/json", body: "{}" }],
  ])("%s: %i", async ([, status, { type, body: own = body, ...request }]) => {
    for (const token of [server.world.apiKey, null]) {
      const { authorization } = jsonHeaders(token);
      const headers = {
        origin,
        ...(authorization && { authorization }),
        ...(type !== undefined && { "content-type": type }),
      };
      const received = await send({ url: server.url, agent }, { ...request, headers, body: own });
      expect(received.status).toBe(status);
      if (request.method !== "HEAD") expect(codesIn(received.text)).toEqual(["BAD_REQUEST"]);
    }
    expect(await server.data("{ projects { nodes { handle } } }")).toEqual({
      projects: { nodes: [{ handle: "test" }] },
    });
  });
});

test("meanwhile another organization was served, and the log has no error", async () => {
  await neighbour.stop();
  sayHowLong("attacks-graphql", neighbour);
  expect(neighbour.troubles).toEqual([]);
  expect(neighbour.count).toBeGreaterThan(0);
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
