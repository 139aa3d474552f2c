/** `POST /events`: CloudEvents 1.0 over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { type Data } from "./client.ts";
import { eventTriggerOf, firingsOfEvent } from "./published-events.ts";
import { sharedServer, type SharedServer } from "./shared-server.ts";

let server: SharedServer;
let echo: string;
beforeAll(async () => {
  server = await sharedServer();
  echo = await publish(server, "echo");
});
afterAll(() => server[Symbol.asyncDispose]());

const STRUCTURED = "application/cloudevents+json";
const BATCH = "application/cloudevents-batch+json";
let last = 0;
const one = (more: object = {}) => ({
  specversion: "1.0",
  source: "shop",
  type: "paid",
  id: `id ${++last}`,
  data: { a: 1 },
  ...more,
});

type Sent = { status: number; headers: Headers; body: Data };
async function send(
  body: unknown,
  headers: Record<string, string> = { "content-type": STRUCTURED },
  { token = server.world.apiKey, method = "POST" }: { token?: string | null; method?: string } = {},
): Promise<Sent> {
  const response = await fetch(`${server.url}/events`, {
    method,
    headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers },
    ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) };
}
const refusalOf = ({ status, body }: Sent): Data => ({
  status,
  message: body.errors?.[0].message,
  ...body.errors?.[0].extensions,
});
const eventOf = async ({ body }: Sent): Promise<Data> =>
  (await server.data(`{ event(id: "${body.events[0].id}") { source event sourceId time data } }`)).event;

describe("an event", () => {
  test("is taken in the structured mode, and fires", async () => {
    const trigger = await eventTriggerOf(server, echo, { source: "structured", event: "paid" });
    const given = one({ source: "structured", time: "2026-11-20T11:00:00+01:00", subject: "x", extension: 1 });
    const sent = await send(given);
    expect(sent).toMatchObject({
      status: 202,
      body: { events: [{ id: expect.stringMatching(/^event_/), sourceId: given.id, isRepeat: false }] },
    });
    expect(await eventOf(sent)).toEqual({
      source: "structured",
      event: "paid",
      sourceId: given.id,
      time: "2026-11-20T10:00:00.000Z",
      data: { a: 1 },
    });
    expect(await firingsOfEvent(server, sent.body.events[0].id)).toMatchObject([
      { outcome: "started", trigger: { id: trigger.id }, payload: { a: 1 } },
    ]);
    expect((await send(given)).body.events).toEqual([{ ...sent.body.events[0], isRepeat: true }]);
    expect(refusalOf(await send({ ...given, data: {} }))).toMatchObject({ status: 409, reason: "key_reused" });
  });

  test("is taken in the binary mode, its headers percent-encoded", async () => {
    const sent = await send(
      { b: 2 },
      {
        "content-type": "application/json; charset=utf-8",
        "ce-specversion": "1.0",
        "ce-source": "caf%C3%A9%20one",
        "ce-type": "paid",
        "ce-id": "1",
      },
    );
    expect(await eventOf(sent)).toMatchObject({ source: "café one", event: "paid", sourceId: "1", data: { b: 2 } });
  });

  test("with a key that is there twice has the last one", async () => {
    const text = JSON.stringify(one({ data: 1 })).replace('"data":1', '"source":"twice","data":{"a":1,"a":2}');
    expect(await eventOf(await send(text))).toMatchObject({ source: "twice", data: { a: 2 } });
  });

  test("without data has none", async () => {
    const { data: _data, ...rest } = one();
    expect((await eventOf(await send(rest))).data).toEqual({});
  });
});

describe("a batch", () => {
  const batch = (events: unknown[]) => send(events, { "content-type": BATCH });

  test("has at most 100 events, and counts as one request", async () => {
    const { events } = (await batch(Array.from({ length: 100 }, () => one()))).body;
    expect(new Set(events.map(({ id }: Data) => id)).size).toBe(100);
    expect(refusalOf(await batch(Array.from({ length: 101 }, () => one())))).toMatchObject({
      status: 400,
      code: "BAD_USER_INPUT",
      message: expect.stringContaining("100"),
    });
    const other = await server.organization("counted");
    await server.setPlan(other.organizationId, "free");
    const sent = await send(
      Array.from({ length: 20 }, () => one()),
      { "content-type": BATCH },
      { token: other.apiKey },
    );
    expect(sent.status).toBe(202);
    expect(sent.headers.get("ratelimit")).toMatch(/^"plan";r=9;/);
    for (let count = 0; count < 9; count++) await send("{", { "content-type": "text/plain" }, { token: other.apiKey });
    const refused = await send(one(), undefined, { token: other.apiKey });
    expect(refusalOf(refused)).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("is accepted as a whole or not at all, but for what was published before with another body", async () => {
    const good = one();
    const wrong = refusalOf(await batch([good, one({ type: 1 })]));
    expect(wrong).toMatchObject({ status: 400, fields: [{ path: "1.type", code: "wrong_type" }] });
    const before = one({ data: { before: true } });
    await send(before);
    expect(refusalOf(await batch([good, { ...before, data: {} }]))).toMatchObject({
      status: 409,
      reason: "key_reused",
      fields: [{ path: "1.id" }],
    });
    // The first of the two was accepted now, and not before.
    expect((await batch([good, before, good])).body.events.map(({ isRepeat }: Data) => isRepeat)).toEqual([
      true,
      true,
      true,
    ]);
    expect((await batch([])).body).toEqual({ events: [] });
  });
});

test.each<[string, number, string, unknown, (Record<string, string> | undefined)?, object?]>([
  ["broken JSON", 400, "BAD_REQUEST", '{"a":'],
  ["a list", 400, "BAD_REQUEST", []],
  ["a text", 400, "BAD_REQUEST", '"a"'],
  ["a forbidden key", 400, "BAD_REQUEST", '{"__proto__": {}}'],
  ["no batch", 400, "BAD_REQUEST", {}, { "content-type": BATCH }],
  ["a batch of texts", 400, "BAD_REQUEST", ["a"], { "content-type": BATCH }],
  ["no specversion", 400, "BAD_USER_INPUT", one({ specversion: undefined }), undefined, { path: "specversion" }],
  ["another specversion", 400, "BAD_USER_INPUT", one({ specversion: "0.3" }), undefined, { path: "specversion" }],
  ["no id", 400, "BAD_USER_INPUT", one({ id: null }), undefined, { path: "id", code: "required" }],
  ["an empty source", 400, "BAD_USER_INPUT", one({ source: "" }), undefined, { path: "source", code: "required" }],
  ["a number as its type", 400, "BAD_USER_INPUT", one({ type: 1 }), undefined, { path: "type", code: "wrong_type" }],
  ["no time", 400, "BAD_USER_INPUT", one({ time: "yesterday" }), undefined, { path: "time", code: "invalid" }],
  ["the service's source", 400, "BAD_USER_INPUT", one({ source: "autograph" }), undefined, { path: "source" }],
  ["bytes", 400, "BAD_USER_INPUT", one({ data_base64: "AA==" }), undefined, { path: "data_base64", code: "unknown" }],
  ["XML", 400, "BAD_USER_INPUT", one({ datacontenttype: "text/xml" }), undefined, { path: "datacontenttype" }],
  ["data that is a text", 400, "BAD_USER_INPUT", one({ data: "a" }), undefined, { path: "data", code: "wrong_type" }],
  ["no ce- headers", 400, "BAD_USER_INPUT", {}, { "content-type": "application/json" }, { path: "ce-specversion" }],
  [
    "a ce- header that is not encoded",
    400,
    "BAD_USER_INPUT",
    {},
    {
      "content-type": "application/json",
      "ce-specversion": "1.0",
      "ce-id": "%zz",
      "ce-source": "a",
      "ce-type": "b",
    },
    { path: "ce-id", code: "invalid" },
  ],
  ["more than 1 MiB", 413, "REQUEST_ENTITY_TOO_LARGE", "x".repeat(1024 * 1024 + 1)],
  ["another content type", 415, "BAD_REQUEST", one(), { "content-type": "text/plain" }],
  ["another charset", 415, "BAD_REQUEST", one(), { "content-type": `${STRUCTURED}; charset=latin1` }],
  ["a compressed body", 415, "BAD_REQUEST", one(), { "content-type": STRUCTURED, "content-encoding": "gzip" }],
])("a request with %s is %i", async (_, status, code, body, headers, field) => {
  const refused = refusalOf(await send(body, headers));
  expect(refused).toMatchObject({ status, code });
  if (field) expect(refused.fields[0]).toMatchObject(field);
});

test("a request without a credential, with a wrong one or without the scope is refused", async () => {
  for (const token of [null, "ag_live_wrong"]) {
    const refused = await send(one(), undefined, { token });
    expect(refusalOf(refused)).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
  }
  const refused = await send(one(), undefined, { token: await server.key(["runs:start"]) });
  expect(refusalOf(refused)).toMatchObject({ status: 403, code: "FORBIDDEN", scope: "events:write" });
  const token = await server.key(["events:write"]);
  expect((await send(one(), undefined, { token })).status).toBe(202);
  const byGet = await send(undefined, {}, { method: "GET" });
  expect([byGet.status, byGet.headers.get("allow")]).toEqual([405, "POST"]);
});

test("a POST is an event, even if the client accepts HTML; a GET returns the UI's page", async () => {
  expect((await send(one(), { "content-type": STRUCTURED, accept: "text/html" })).status).toBe(202);
  const looked = await fetch(`${server.url}/events`, { headers: { accept: "text/html" } });
  expect([looked.status, looked.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
});
