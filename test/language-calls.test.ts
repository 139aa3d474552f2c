/** The language over the wire: `call: http`, against real servers on loopback. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { ERROR_KINDS, type ErrorKind } from "../server/src/definition/workflow-error.ts";
import {
  ERROR,
  RESPONSE,
  RUNTIME,
  shapeOfDecision,
  shapeOfWorkflow,
  TASK,
  type Fields,
  type Shape,
} from "../server/src/definition/flow/shape.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { eventually, type Data } from "./client.ts";
import { agentOf, CANCEL, decide, ENDED, ran, runOf, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { startSink, type Sink } from "./sink.ts";

const HOUR_MS = 3_600_000;

type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

let server: MovedServer;
let sink: Sink;
let echo: Server;
let url: string;
const seen: Seen[] = [];

beforeAll(async () => {
  sink = await startSink();
  echo = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  server = await movedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  echo.close();
  echo.closeAllConnections();
  await sink[Symbol.asyncDispose]();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
  const path = request.url!.split("?")[0]!;
  const status = Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200);
  if (path === "/redirect") return void response.writeHead(302, { location: "/end" }).end();
  if (path === "/metadata") return void response.writeHead(302, { location: "http://169.254.169.254/" }).end();
  if (path === "/text") return void response.writeHead(200, { "content-type": "text/plain" }).end("plain");
  if (path === "/bad") return void response.writeHead(200, { "content-type": "application/json" }).end("{");
  if (path === "/large") return void response.end("x".repeat(1_100_000));
  if (path === "/empty") return void response.writeHead(204).end();
  response.writeHead(status, { "content-type": "application/json", "x-seen": "yes" }).end(JSON.stringify({ path }));
}

const call = (values: string): string => `do: [{send: {call: http, with: {${values}}}}]`;
const last = (): Seen => seen.at(-1)!;

test("method, endpoint with names and query, headers and body", async () => {
  const run = await runOf(
    server,
    call(
      `method: post, endpoint: '${url}/customers/{id}/orders', headers: {X-One: '\${ .one }'}, query: {dry: 'yes', q: '\${ .q }'}, body: {items: '\${ .items }'}`,
    ),
    { id: "a/b", one: "1", q: "ä&b", items: [1, "\ud800"] },
  );
  expect(run.output).toEqual({ path: "/customers/a%2Fb/orders" });
  expect(last()).toMatchObject({ method: "POST", url: "/customers/a%2Fb/orders?dry=yes&q=%C3%A4%26b" });
  expect(last().headers).toMatchObject({ "x-one": "1", "content-type": "application/json" });
  expect(JSON.parse(last().body)).toEqual({ items: [1, "\ud800"] });
  expect(run.steps[0]).toMatchObject({
    kind: "http",
    input: {
      method: "POST",
      endpoint: `${url}/customers/a%2Fb/orders?dry=yes&q=%C3%A4%26b`,
      headers: { "X-One": "1" },
    },
  });
});

test("authentication goes out and is shown nowhere", async () => {
  const run = await runOf(
    server,
    `
use: {authentications: {shop: {bearer: {token: very-secret}}}}
do:
  - bearer: {call: http, with: {method: get, endpoint: {uri: '${url}/a', authentication: {use: shop}}}}
  - basic: {call: http, with: {method: get, endpoint: {uri: '${url}/b', authentication: {basic: {username: u, password: other-secret}}}}}
`,
  );
  expect(seen.slice(-2).map(({ headers }) => headers.authorization)).toEqual([
    "Bearer very-secret",
    `Basic ${btoa("u:other-secret")}`,
  ]);
  expect(JSON.stringify(run)).not.toMatch(/very-secret|other-secret/);
});

describe("nothing is sent when a value is missing", () => {
  test.each([
    [
      "{orderID}",
      `endpoint: '@/orders/{orderID}'`,
      /^the task's input has no "orderID" for \{orderID\} in \/do\/0\/send\/with\/endpoint, so nothing was sent; did you mean "orderId"\?$/,
    ],
    ["null", `endpoint: '@/orders/{none}'`, /^\{none\} in \/do\/0\/send\/with\/endpoint is null/],
    [
      "an empty text",
      `endpoint: {uri: '@/orders/{empty}/x'}`,
      /^\{empty\} in \/do\/0\/send\/with\/endpoint\/uri is an empty text/,
    ],
    ["a list", `endpoint: '@/orders/{list}'`, /is a list, so nothing was sent$/],
    ["an object", `endpoint: '@/orders/{object}'`, /is an object, so nothing was sent$/],
    ["..", `endpoint: '@/orders/{up}'`, /the path in \S+ has the segment \. or \.\./],
    [". and .", `endpoint: '@/orders/{dot}{dot}/x'`, /has the segment \. or \.\./],
    ["%2e by an expression", `endpoint: '\${ "@/orders/%2E." }'`, /has the segment \. or \.\./],
    ["a value of .. and a space", `endpoint: '\${ "@/orders/\\(.up) " }'`, /has the segment \. or \.\./],
    ["a value of .. and a control", `endpoint: '\${ "@/orders/\\(.up)\\(.control)" }'`, /has the segment \. or \.\./],
    ["%2e%2e and a space", `endpoint: '\${ "@/orders/%2e%2e\\(.space)" }'`, /has the segment \. or \.\./],
    ["a tab in ..", `endpoint: '\${ "@/orders/.\t\\(.dot)/x" }'`, /has the segment \. or \.\./],
    [
      "a backslash",
      `endpoint: '\${ "@/orders/a\\\\b" }'`,
      /^the path in \S+ has a backslash, which is read as a slash, so/,
    ],
    [
      "a space at the end",
      `endpoint: '\${ "@/orders/7\\(.space)" }'`,
      /has a tab, a line break, or a space or control char/,
    ],
    [
      "a # in a value",
      `endpoint: '\${ "@/orders/\\(.hash)/items" }'`,
      /^the URL in \S+ has a #, after which nothing is sent/,
    ],
    [
      "a host of other characters",
      `endpoint: '\${ "http://1２7.0.0.1/" }'`,
      /^the host in \S+ has characters that are read as/,
    ],
    ["an expression that yields null", `endpoint: '\${ .nosuch }'`, /^\$\{ \.nosuch \} in \S+endpoint is null/],
    ["an expression that yields nothing", `endpoint: '\${ empty }'`, /is null, so nothing was sent$/],
    ["an expression that yields a list", `endpoint: '\${ .list }'`, /is a list, so nothing was sent$/],
    ["an expression that yields a number", `endpoint: '\${ 7 }'`, /is the number 7, so nothing was sent$/],
    [
      "a part of an expression",
      `endpoint: '\${ "@/orders/\\(.nosuch)" }'`,
      /^\.nosuch in \/do\/0\/send\/with\/endpoint is null, so nothing was sent/,
    ],
    ["an empty part", `endpoint: '\${ "@/\\(.empty)/x" }'`, /^\.empty in \S+ is an empty text, so nothing was sent/],
    ["a part that is an object", `endpoint: '\${ "@/\\(.object)" }'`, /^\.object in \S+ is an object/],
    [
      "a part that jq encodes",
      `endpoint: '\${ "@/\\(.none // .nosuch | @uri)" }'`,
      /^\.none \/\/ \.nosuch in \S+ is null/,
    ],
    ["a part of a sum", `endpoint: '\${ "@/orders/" + .nosuch + "/x" }'`, /^\.nosuch in \S+ is null/],
    [
      "a part of a header",
      `endpoint: '@', headers: {X-One: '\${ "Bearer \\(.nosuch)" }'}`,
      /^\.nosuch in \/do\/0\/send\/with\/headers\/X-One is null/,
    ],
    [
      "a part of a parameter",
      `endpoint: '@', query: {q: '\${ "a:\\(.nosuch)" }'}`,
      /^\.nosuch in \/do\/0\/send\/with\/query\/q is null/,
    ],
    [
      "a part of a credential",
      `endpoint: {uri: '@', authentication: {bearer: {token: '\${ "k-\\(.nosuch)" }'}}}`,
      /^\.nosuch in \/do\/0\/send\/with\/endpoint\/authentication\/bearer\/token is null/,
    ],
    [
      "a header of null",
      `endpoint: '@', headers: {X-One: '\${ .nosuch }'}`,
      /^\$\{ \.nosuch \} in \/do\/0\/send\/with\/headers\/X-One is null/,
    ],
    ["an empty header", `endpoint: '@', headers: {X-One: '\${ .empty }'}`, /headers\/X-One is an empty text/],
    ["a header of a list", `endpoint: '@', headers: {X-One: '\${ .list }'}`, /headers\/X-One is a list/],
    ["headers of null", `endpoint: '@', headers: '\${ .nosuch }'`, /with\/headers is null/],
    ["one of the headers", `endpoint: '@', headers: '\${ {"X-One": .none} }'`, /^X-One in \S+\/with\/headers is null/],
    ["a parameter of an object", `endpoint: '@', query: {q: '\${ .object }'}`, /with\/query\/q is an object/],
    ["parameters of a text", `endpoint: '@', query: '\${ "a=b" }'`, /with\/query is the string a=b/],
  ])("%s", async (_, values, detail) => {
    const before = seen.length;
    const input = {
      orderId: "7",
      none: null,
      empty: "",
      list: [1],
      object: { a: 1 },
      up: "..",
      dot: ".",
      space: " ",
      control: "\u0001",
      hash: "7#",
    };
    const run = await runOf(server, call(`method: delete, ${values.replaceAll(/@(?!uri)/g, url)}`), input);
    expect(run).toMatchObject({
      status: "failed",
      error: { type: expect.stringMatching(/\/expression$/), instance: "/do/0/send", stepNumber: 1 },
    });
    expect(run.error.detail).toMatch(detail);
    expect(seen.length).toBe(before);
  });

  test.each([
    ["bearer: {token: '${ .nosuch }'}", "the authentication's token is null, so nothing was sent"],
    ["bearer: {token: '${ \"\" }'}", "the authentication's token is empty, so nothing was sent"],
    ["basic: {username: '${ .nosuch }', password: p}", "the authentication's username is null, so nothing was sent"],
  ])("authentication with %s", async (scheme, detail) => {
    const before = seen.length;
    const values = `method: get, endpoint: {uri: '${url}', authentication: {${scheme}}}`;
    expect((await runOf(server, call(values))).error).toMatchObject({ status: 401, detail });
    expect(seen.length).toBe(before);
  });

  test("parts with values are sent, whether this process or jq puts them together", async () => {
    const input = { id: "a b", n: 7, empty: "" };
    const values = `method: get, endpoint: '\${ "${url}/\\(.id | @uri)/" + (.n | tostring) + "/\\(.nosuch // 0)" }', query: {q: '\${ "<\\(.empty)>" }'}`;
    expect((await runOf(server, call(values), input)).status).toBe("completed");
    expect(last().url).toBe("/a%20b/7/0?q=%3C%3E");
    const native = `method: get, endpoint: '\${ if .n > 1 then "${url}/\\(.n)" else empty end }'`;
    expect((await runOf(server, call(native), input)).output).toEqual({ path: "/7" });
  });

  test("a question that lacks a part is not asked", async () => {
    const ask = `{call: 'approval:1.0.0@default', with: {question: '\${ "Pay \\(.amuont) euros?" }'}}`;
    expect((await runOf(server, `do: [{ask: ${ask}}]`)).error).toMatchObject({
      type: expect.stringMatching(/\/expression$/),
      detail: expect.stringMatching(/^\.amuont in \/do\/0\/ask\/with\/question is null, so nobody was asked/),
    });
  });

  test("a parameter of null is left out, and what an author writes empty is sent", async () => {
    const values = `method: get, endpoint: '${url}/q', query: {a: '\${ .nosuch }', b: '', c: '\${ 0 }'}, headers: {X-One: ''}`;
    expect((await runOf(server, call(values))).status).toBe("completed");
    expect(last()).toMatchObject({ url: "/q?b=&c=0", headers: { "x-one": "" } });
  });

  test.each([
    ["a name in it", "endpoint: '{url}/{long}'"],
    ["the value of a parameter", "endpoint: '{url}/', query: {a: '${ .long }'}"],
    ["the name of a parameter", "endpoint: '{url}/', query: '${ {(.long): 1} }'"],
  ])("a URL that %s makes too long", async (_, values) => {
    const before = seen.length;
    const long = "x".repeat(LIMITS.outboundUrlCharacters);
    const run = await runOf(server, call(`method: get, ${values.replace("{url}", url)}`), { long });
    expect(run.error).toMatchObject({
      type: expect.stringMatching(/\/validation$/),
      detail: `a URL has at most ${LIMITS.outboundUrlCharacters} characters`,
    });
    expect(seen.length).toBe(before);
  });

  test("a URL may have as many characters as the limit says", async () => {
    const values = `method: get, endpoint: '${url}/', query: {a: '\${ .long }'}`;
    const long = "x".repeat(LIMITS.outboundUrlCharacters - `${url}/a`.length);
    // It was sent: the server takes none of more than 16 kB.
    expect((await runOf(server, call(values), { long })).error).toMatchObject({ status: 431 });
    expect((await runOf(server, call(values), { long: `${long}x` })).error.type).toMatch(/\/validation$/);
  });

  test("parameters come before a fragment, which is never sent", async () => {
    await runOf(server, call(`method: get, endpoint: '${url}/q?a=1#top', query: {b: '2'}`));
    expect(last().url).toBe("/q?a=1&b=2");
  });
});

test("the variables and outputs that validation knows are those of a run", async () => {
  const keep = (what: string): string => `export: {as: '\${ ($context // {}) + {${what}} }'}`;
  const agent = await agentOf(
    server,
    `
input: {schema: {document: {type: object, properties: {a: {type: string}}}}}
do:
  - variables: {set: {x: 1}, ${keep("task: ($task | keys), workflow: ($workflow | keys), runtime: ($runtime | keys), now: [($runtime.now | keys), ($runtime.now.epoch | keys)]")}}
  - error:
      try: [{fail: {call: http, with: {method: get, endpoint: '${url}/status/500'}}}]
      catch: {do: [{caught: {set: {x: 1}, ${keep("error: ($error | keys), answer: ($error.response | keys)")}}}]}
  - response: {call: http, with: {method: get, endpoint: '${url}', output: response}, ${keep("response: keys, request: (.request | keys)")}}
  - decision: {call: 'approval:1.0.0@default', with: {question: Q}, ${keep("decision: keys")}}
output: {as: $context}
`,
  );
  const { id } = await ran(server, agent);
  await decide(server, id, "approve");
  const keys = (shape: Shape): string[] => [...(shape as Fields).fields.keys()].toSorted();
  const of = (shape: Shape, name: string): Shape => (shape as Fields).fields.get(name)!;
  const now = of(RUNTIME, "now");
  expect((await until(server, id, ...ENDED)).output).toEqual({
    task: keys(TASK),
    workflow: keys(shapeOfWorkflow("any")),
    runtime: keys(RUNTIME),
    now: [keys(now), keys(of(now, "epoch"))],
    error: keys(ERROR),
    answer: keys(of(ERROR, "response")),
    response: keys(RESPONSE),
    request: keys(of(RESPONSE, "request")),
    decision: keys(shapeOfDecision("any")),
  });
});

test("output: the content by its type, the response, the raw bytes", async () => {
  const outputOf = async (path: string, output = ""): Promise<Data> =>
    (await runOf(server, `${call(`method: get, endpoint: '${url}${path}'${output}`)}\noutput: {as: '\${ {it: .} }'}`))
      .output.it;
  expect(await outputOf("/a")).toEqual({ path: "/a" });
  expect(await outputOf("/text")).toBe("plain");
  expect(await outputOf("/empty")).toBeNull();
  expect(await outputOf("/text", ", output: raw")).toBe(btoa("plain"));
  expect(await outputOf("/a", ", output: response")).toMatchObject({
    request: { method: "GET", uri: `${url}/a` },
    statusCode: 200,
    headers: { "x-seen": "yes" },
    content: { path: "/a" },
  });
  expect(await outputOf("/redirect", ", redirect: true")).toEqual({ path: "/end" });
});

test.each([
  ["/status/404", "", "communication", 404, /answered 404/],
  ["/status/503", "", "communication", 503, /answered 503/],
  ["/redirect", "", "communication", 302, /answered 302 Found \(set `redirect: true` to follow it\)/],
  ["/status/304", "", "communication", 304, /answered 304(?!.*redirect)/],
  ["/metadata", ", redirect: true", "authorization", 403, /169\.254/],
  ["/bad", "", "communication", 500, /not valid JSON/],
  ["/large", "", "communication", 500, /./],
])("an answer that is an error: %s%s", async (path, more, type, status, detail) => {
  const { error } = await runOf(server, call(`method: get, endpoint: '${url}${path}'${more}`));
  expect(error).toMatchObject({
    type: expect.stringMatching(new RegExp(`/${type}$`)),
    status,
    title: ERROR_KINDS[type as ErrorKind].title,
    detail: expect.stringMatching(detail),
    instance: "/do/0/send",
    stepNumber: 1,
  });
});

test.each([
  "http://10.0.0.1/",
  "http://2130706433:1/",
  "http://0177.0.0.2/",
  "http://0x7f.2/",
  "http://[::1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[fe80::1]/",
  "http://169.254.169.254/latest/meta-data",
  "http://metadata.google.internal/",
  "http://localhost:1/",
  "http://user:password@10.0.0.1/",
  "http://127.0.0.1@10.0.0.1/",
  "ftp://example.org/",
  "file:///etc/passwd",
  "nonsense",
  "http://",
])("a hostile URL fails its step with a clear error: %s", async (endpoint) => {
  const agent = await agentOf(server, call(`method: get, endpoint: '\${ .url }'`));
  const { status, error } = await ran(server, agent, { url: endpoint });
  expect(status).toBe("failed");
  expect(error.type).toMatch(/\/(authorization|validation|communication)$/);
  expect(error.detail.length).toBeGreaterThan(10);
});

test("attempts carry one key, visits one each; the author's own wins", async () => {
  await runOf(
    server,
    `
do:
  - first:
      for: {in: '\${ [1, 2] }'}
      do:
        - attempt:
            try: [{post: {call: http, with: {method: post, endpoint: '${sink.url}/refuse/1', query: {run: keys, step: '\${ "\\($item)" }'}}}}]
            catch: {retry: {limit: {attempt: {count: 2}}}}
  - own: {call: http, with: {method: post, endpoint: '${sink.url}?run=keys&step=own', headers: {idempotency-key: mine}}}
`,
  );
  const [one, two, own] = ["1", "2", "own"].map((step) => sink.count("keys", step)!);
  expect([one!.requests, two!.requests, own!.requests]).toEqual([2, 2, 1]);
  expect([one!.keys.length, two!.keys.length]).toEqual([1, 1]);
  expect(one!.keys).not.toEqual(two!.keys);
  expect(own!.keys).toEqual(["mine"]);
});

test("alone in a try, a call has its input checked and goes on where it says", async () => {
  const send = (step: string, more: string): string =>
    `{send: {call: http, with: {method: get, endpoint: '${sink.url}?run=alone&step=${step}'}, ${more}}}`;
  const schema = "{schema: {document: {type: object, required: [id]}}}";
  const checked = await runOf(server, `do: [{attempt: {try: [${send("checked", `input: ${schema}`)}], catch: {}}}]`);
  expect(checked).toMatchObject({ status: "completed", output: {}, steps: [{}, { error: { status: 400 } }] });
  expect(sink.count("alone", "checked")).toBeUndefined();
  // Less than a call's own 60 s, which `catch` would take when the clock moves while one is under way.
  const loop = `{attempt: {timeout: {after: PT50S}, try: [${send("loop", "then: send")}], catch: {}}}`;
  const id = await start(server, await agentOf(server, `do: [${loop}]`));
  await eventually(() => (sink.count("alone", "loop")?.requests ?? 0) > 1);
  await server.clock.advance(50_000);
  expect((await until(server, id, ...ENDED)).error).toMatchObject({ status: 408 });
});

test("a refused, a cut and an unanswered call, retried, show as attempts with their errors", async () => {
  const body = (path: string): string => `
do:
  - attempt:
      try: [{post: {call: http, with: {method: post, endpoint: '${sink.url}${path}?run=${path.slice(1)}&step=1'}}}]
      catch: {retry: {limit: {attempt: {count: 2, duration: PT1H}}}}
`;
  for (const [path, type, status] of [
    ["/refuse/2", "communication", 503],
    ["/drop/2", "communication", 500],
    ["/hang/2", "timeout", 408],
  ] as const) {
    const id = await start(server, await agentOf(server, body(path)));
    for (const tries of type === "timeout" ? [1, 2] : []) {
      await eventually(() => sink.count("hang/2", 1)?.requests === tries);
      await server.clock.advance(HOUR_MS);
    }
    const run = await until(server, id, ...ENDED);
    expect(run.status).toBe("completed");
    const [step] = run.steps;
    expect(step).toMatchObject({ name: "attempt", kind: "http", status: "completed", error: null });
    expect(step.attempts.map(({ error }: Data) => error?.status ?? null)).toEqual([status, status, null]);
    expect(step.attempts[0].error.type).toMatch(new RegExp(`/${type}$`));
  }
});

test("cancel during a call closes its socket within 10 s", async () => {
  const id = await start(
    server,
    await agentOf(server, call(`method: get, endpoint: '${sink.url}/delay/30000?run=c&step=1'`)),
  );
  await eventually(() => sink.count("c", 1)?.requests);
  const { waiting, abandoned } = sink.summary();
  const began = performance.now();
  const { cancelRun } = await server.data(CANCEL, { id });
  expect(cancelRun.status).toBe("cancelled");
  await eventually(() => sink.summary().waiting === waiting - 1);
  // Ten times the promise.
  expectInTime(performance.now() - began, 10_000);
  expect(sink.summary().abandoned).toBe(abandoned + 1);
  const run = await until(server, id, ...ENDED);
  expect(run.steps).toMatchObject([{ status: "cancelled", finishedAt: expect.any(String) }]);
});

test("a timeout closes the socket, too", async () => {
  const { abandoned } = sink.summary();
  const send = `timeout: {after: PT1H}, call: http, with: {method: get, endpoint: '${sink.url}/delay/30000?run=t&step=1'}`;
  const id = await start(server, await agentOf(server, `do: [{send: {${send}}}]`));
  await eventually(() => sink.count("t", 1)?.requests);
  await server.clock.advance(HOUR_MS);
  const run = await until(server, id, ...ENDED);
  expect(run.error).toMatchObject({ type: expect.stringMatching(/\/timeout$/), status: 408, stepNumber: 1 });
  await eventually(() => sink.summary().abandoned === abandoned + 1);
});

/** One that turns for ever, one that fills memory and one that fills the stack. */
const ENDLESS = ["last(repeat(.))", "[range(1000000000)] | length", "def f: 1 + f; f"];
const OTHERS_ENDLESS = [
  "[limit(1000000000; repeat(.))] | length",
  '"x" * 2000000000 | length',
  "reduce range(1000000000) as $i ([]; . + [$i])",
];

test("expressions that never end or fill memory fail their steps, and others are answered within 2.5 s meanwhile", async () => {
  const hostile = await Promise.all(
    scaled({ whole: [...ENDLESS, ...OTHERS_ENDLESS], part: ENDLESS }).map((text) =>
      agentOf(server, `do: [{think: {set: {a: '\${ ${text} }'}}}]`),
    ),
  );
  const runs = Promise.all(hostile.map((agent) => ran(server, agent)));
  const asked = { slowestMs: 0, count: 0, isOver: false };
  void runs.finally(() => (asked.isOver = true));
  while (!asked.isOver) {
    const began = performance.now();
    await server.data("{ me { id } }");
    asked.slowestMs = Math.max(asked.slowestMs, performance.now() - began);
    asked.count++;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  for (const run of await runs) {
    expect(run).toMatchObject({
      status: "failed",
      error: { type: expect.stringMatching(/\/(expression|runtime)$/), stepNumber: 1 },
    });
    expect(run.error.detail).toMatch(/longer than|memory|stack|larger/);
  }
  // Ten times the promise of 250 ms.
  expectInTime(asked.slowestMs, 2_500);
  expect(asked.count).toBeGreaterThan(10);
});
