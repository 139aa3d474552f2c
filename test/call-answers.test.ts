/** The language over the wire: what a call reads from an answer, when it asks again, and for how long it waits. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { start } from "./agents.ts";
import { startEndpoint, type Endpoint } from "./endpoint.ts";
import { eventually, type Data } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { eventTriggerOf } from "./published-events.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { firingsOf } from "./webhooks.ts";
import { agentOf, ENDED, readRun, runOf, until } from "./runs.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let server: MovedServer;
let endpoint: Endpoint;
beforeAll(async () => {
  endpoint = await startEndpoint();
  server = await movedServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});
beforeEach(() => endpoint.reset());

const get = (more = ""): string => `{get: {call: http, with: {method: get, endpoint: '${endpoint.url}'${more}}}}`;
/** The output of a call, wrapped because a run's output is an object. */
const outputOf = async (more = ""): Promise<Data> =>
  (await runOf(server, `do: [${get(more)}]\noutput: {as: '\${ {it: .} }'}`)).output?.it;
const errorOf = async (more = ""): Promise<Data> => (await runOf(server, `do: [${get(more)}]`)).error;

describe("the text of an answer", () => {
  const bytes = (...values: number[]): Buffer => Buffer.from(values);

  test.each<[string, string | undefined, Buffer, unknown]>([
    ["Latin-1", "text/html; charset=ISO-8859-1", Buffer.from("Região grátis", "latin1"), "Região grátis"],
    ["a label in quotes and capitals", 'Text/Plain;Charset="WINDOWS-1252"', bytes(0x80, 0x93), "€“"],
    ["a parameter before it", 'text/plain; x="; charset=gbk"; charset=latin1', bytes(0xe9), "é"],
    ["JSON in Latin-9", "application/json;charset=ISO-8859-15", bytes(0x22, 0xa4, 0x22), "€"],
    ["GBK", "text/plain; charset=gbk", bytes(0xc4, 0xe3, 0xba, 0xc3), "你好"],
    ["Shift_JIS", "text/plain; charset=Shift_JIS", bytes(0x93, 0xfa, 0x96, 0x7b), "日本"],
    ["KOI8-R", "text/csv; header=present; charset=koi8-r", bytes(0xc4, 0xc1), "да"],
    ["JSON in UTF-16", "application/json; charset=utf-16le", Buffer.from('{"t":"ü"}', "utf16le"), { t: "ü" }],
    ["a byte order mark before the label", "text/plain; charset=latin1", Buffer.from("\ufeffKüçük"), "Küçük"],
    ["JSON after a byte order mark", "application/json", Buffer.from('\ufeff{"a":1}'), { a: 1 }],
    ["UTF-16 by its mark", "text/plain", Buffer.from("\ufeffü", "utf16le"), "ü"],
    ["UTF-8 without a label", "text/plain", Buffer.from("Küçük"), "Küçük"],
    ["UTF-8 without a type", undefined, Buffer.from("Küçük"), "Küçük"],
    ["a name in Turkish of UTF-8", "application/json; charset=utf8", Buffer.from('"ğ"'), "ğ"],
    ["an unknown label before UTF-8", "text/plain; charset=utf8mb4", Buffer.from("ğ"), "ğ"],
  ])("%s", async (_, type, body, expected) => {
    endpoint.answer = { ...(type && { headers: { "content-type": type } }), body };
    expect(await outputOf()).toEqual(expected);
  });

  test.each([
    ["klingon", bytes(0xe9)],
    ["iso-2022-kr", Buffer.from("\u000eGQ\u000f")],
    ["utf-7", Buffer.from("+AOQ-")],
  ])("in a charset that can't be read is an error that names it: %s", async (label, body) => {
    endpoint.answer = { headers: { "content-type": `text/plain; charset=${label}` }, body };
    expect(await errorOf()).toMatchObject({
      type: expect.stringMatching(/\/communication$/),
      detail: `the answer is text in the charset "${label}", which can't be read; \`output: raw\` yields its bytes`,
    });
    expect(await outputOf(", output: raw")).toBe(body.toString("base64"));
  });

  test.each([
    ["text/json", { a: 1 }],
    ["application/vnd.api+json; version=1", { a: 1 }],
    ["model/gltf+JSON", { a: 1 }],
    ["application/json charset=utf-8", { a: 1 }],
    ["application/json, application/json", { a: 1 }],
    ["application/json-seq", '{"a":1}'],
    ["text/plain; a=application/json", '{"a":1}'],
  ])("is parsed if the type is JSON: %s", async (type, expected) => {
    endpoint.answer = { headers: { "content-type": type }, body: '{"a":1}' };
    expect(await outputOf()).toEqual(expected);
  });

  test.each([200, 204, 205])("an empty body is null, of a JSON type too: %s", async (status) => {
    endpoint.answer = { status, headers: { "content-type": "application/json" } };
    expect(await outputOf()).toBeNull();
    expect(await outputOf(", output: response")).toMatchObject({ statusCode: status, content: null });
  });

  test("attempts and errors show it decoded, too", async () => {
    const body = Buffer.from("não encontrado", "latin1");
    endpoint.answer = { status: 404, headers: { "content-type": "text/plain; charset=latin1" }, body };
    const { id, error } = await runOf(server, `do: [${get()}]`);
    expect(error.detail).toMatch(/answered 404 Not Found: não encontrado$/);
    const { run } = await server.data(`{ run(id: "${id}") { steps { attempts { response { body } } } } }`);
    expect(run.steps[0].attempts[0].response.body).toBe("não encontrado");
  });
});

test("several Set-Cookie stay apart; other headers of one name are joined", async () => {
  const cookies = ["a=1; Expires=Thu, 26 Nov 2026 12:00:00 GMT", "b=2"];
  endpoint.answer = { headers: { "set-cookie": cookies, "x-two": ["one", "two"] } };
  expect((await outputOf(", output: response")).headers).toMatchObject({ "set-cookie": cookies, "x-two": "one, two" });
  endpoint.answer = { headers: { "set-cookie": "c=3" } };
  expect((await outputOf(", output: response")).headers["set-cookie"]).toEqual(["c=3"]);
});

describe("which statuses are errors", () => {
  test.each([300, 301, 304, 399])("%s is none with redirect: true, if it leads nowhere", async (status) => {
    endpoint.answer = { status, headers: { etag: '"a"' } };
    expect(await outputOf(", redirect: true, output: response")).toMatchObject({ statusCode: status });
    expect(await errorOf()).toMatchObject({ status });
  });

  test("those of 400 and above are, whatever redirect says", async () => {
    endpoint.answer = { status: 400 };
    expect(await errorOf(", redirect: true")).toMatchObject({ status: 400 });
  });

  test("303 turns a request with a body into a GET without one", async () => {
    endpoint.answers = [{ status: 303, headers: { location: `${endpoint.url}/there` } }, { body: "there" }];
    expect(await outputOf(", redirect: true, body: {q: 1}")).toBe("there");
    expect(endpoint.seen).toMatchObject([
      { method: "GET", body: '{"q":1}' },
      { method: "GET", url: "/there", body: "" },
    ]);
  });
});

/** The output that a `catch` makes of a call's error: jq on `$error`. */
const caught = async (made: string, policy = ""): Promise<Data> =>
  (await runOf(server, `do: [{t: {try: [${get()}], catch: {${policy}do: [{out: {set: {it: '\${ ${made} }'}}}]}}}]`))
    .output.it;

describe("$error.response", () => {
  test("has status, headers and the parsed body, for conditions, for catch.do and in the API", async () => {
    endpoint.answer = {
      status: 422,
      headers: { "content-type": "application/problem+json", "x-reason": "stock", "set-cookie": ["a=1", "b=2"] },
      body: JSON.stringify({ code: "sold_out", left: 0 }),
    };
    const answer = {
      status: 422,
      headers: { "x-reason": "stock", "set-cookie": ["a=1", "b=2"] },
      body: { code: "sold_out", left: 0 },
    };
    expect(await caught("$error.response", "when: '${ $error.response.body.code == \"sold_out\" }', ")).toMatchObject(
      answer,
    );
    const { id } = await runOf(server, `do: [{all: {do: [${get()}]}}]`);
    const { run } = await server.data(
      `{ run(id: "${id}") { error { status response { status headers body } } steps { error { response { body } } } } }`,
    );
    expect(run.error).toMatchObject({ status: 422, response: answer });
    // The call's own timeout, and that of the task around it.
    expect(run.steps.map(({ error }: Data) => error.response.body)).toEqual([answer.body, answer.body]);
  });

  test("is not there if there was no answer, and its fields are known when a definition is validated", async () => {
    endpoint.answer = { status: 500 };
    expect(await caught('$error | has("response")')).toBe(true);
    const raise = "{raise: {raise: {error: {type: 'https://example.org/x', status: 400}}}}";
    const run = await runOf(
      server,
      `do: [{t: {try: [${raise}], catch: {do: [{out: {set: {it: '\${ $error | has("response") }'}}}]}}}]`,
    );
    expect(run.output).toEqual({ it: false });
    await expect(caught("$error.response.boddy")).rejects.toThrow(/boddy is not known here; did you mean .*body/);
  });

  test("a body of as many bytes as an error holds is parsed; a longer one is text, cut", async () => {
    const json = (length: number): string => JSON.stringify({ text: "x".repeat(length - '{"text":""}'.length) });
    endpoint.answer = {
      status: 500,
      headers: { "content-type": "application/json" },
      body: json(LIMITS.errorBodyBytes),
    };
    expect(await caught("$error.response.body.text | length")).toBe(LIMITS.errorBodyBytes - '{"text":""}'.length);
    const body = json(LIMITS.errorBodyBytes + 1);
    endpoint.answer = { ...endpoint.answer, body };
    expect(await caught("$error.response.body")).toBe(`${body.slice(0, LIMITS.errorBodyBytes)}…`);
  });

  test.each([
    ["broken JSON", "application/json", "{", "{"],
    ["text", "text/plain", "no", "no"],
    ["nothing", "application/json", "", null],
    ["bytes", "image/png", Buffer.from([0x89, 0, 0xff]), null],
  ])("a body that is %s", async (_, type, body, expected) => {
    endpoint.answer = { status: 500, headers: { "content-type": type }, body };
    expect(await caught("$error.response.body")).toEqual(expected);
  });

  test("hides what authenticates the call", async () => {
    endpoint.answer = {
      status: 401,
      headers: { "content-type": "application/json", "x-echo": "Bearer token-of-mine" },
      body: JSON.stringify({ got: "token-of-mine", "token-of-mine": 1 }),
    };
    const call = `{call: http, with: {method: get, endpoint: {uri: '${endpoint.url}', authentication: {bearer: {token: token-of-mine}}}}}`;
    const run = await runOf(
      server,
      `do: [{t: {try: [{c: ${call}}], catch: {do: [{out: {set: {it: '\${ $error.response }'}}}]}}}]`,
    );
    expect(run.output.it).toMatchObject({
      headers: { "x-echo": "Bearer [redacted]" },
      body: { got: "[redacted]", "[redacted]": 1 },
    });
    expect(JSON.stringify(run)).not.toContain("token-of-mine");
  });

  test("is left out of a list of many errors, and of attempts that others followed", async () => {
    endpoint.answer = { status: 500, headers: { "content-type": "application/json" }, body: '{"a":1}' };
    const run = await runOf(
      server,
      `do: [{all: {call: each:1.0.0@default, with: {in: '\${ [1] }', onError: collect, do: [${get()}]}}}]\noutput: {as: '\${ {it: .} }'}`,
    );
    expect(run.output.it[0].error).toMatchObject({ status: 500 });
    expect(run.output.it[0].error).not.toHaveProperty("response");
    const { id } = await runOf(server, `do: [{t: {try: [${get()}], catch: {retry: {limit: {attempt: {count: 1}}}}}}]`);
    const attempts = (
      await server.data(
        `{ run(id: "${id}") { steps(first: 1) { attempts(first: 3) { error { response { status } } response { body } } } } }`,
      )
    ).run.steps[0].attempts;
    expect(attempts).toEqual([
      { error: { response: null }, response: { body: '{"a":1}' } },
      { error: { response: { status: 500 } }, response: { body: '{"a":1}' } },
    ]);
  });
});

test("the event of a run that failed tells its error without the answer, which may be larger than an event", async () => {
  const body = JSON.stringify("x".repeat(LIMITS.errorBodyBytes - 2));
  endpoint.answer = { status: 500, headers: { "content-type": "application/json" }, body };
  const listener = await agentOf(server, "do: [{done: {set: {done: true}}}]");
  const filter = { agent: ["failing-call"] };
  const trigger = await eventTriggerOf(server, listener, { source: "autograph", event: "run.failed", filter });
  await start(server, await agentOf(server, `do: [${get()}]`, "failing-call"));
  const { payload } = await eventually(async () => (await firingsOf(server, trigger))[0]);
  expect(payload.error).toMatchObject({ status: 500 });
  expect(payload.error).not.toHaveProperty("response");
});

describe("Retry-After", () => {
  const retried = (policy: string, more = ""): string =>
    `do: [{t: {try: [${get()}], catch: {retry: {${policy}}}${more}}}]`;
  const FEW = "limit: {attempt: {count: 3}}";

  /** The pause before the second try, as it is written down; undefined once the run has ended instead. */
  async function pauseOf(body: string): Promise<number | undefined> {
    const id = await start(server, await agentOf(server, body));
    const client = await connectTo(server);
    try {
      const row = await eventually(async () => {
        const { rows } = await client.query(
          `select extract(epoch from wake_at - (select max(finished_at) from attempts a where a.run_id = r.id)) * 1000 as ms, status
             from runs r where r.id = $1 and (status = 'failed' or (owner is null and wake_at is not null and exists
               (select from attempts a where a.run_id = r.id)))`,
          [decodeId("run", id)],
        );
        return rows[0];
      });
      return row.status === "failed" ? undefined : Number(row.ms);
    } finally {
      await client.end();
    }
  }

  const inDate = (ms: number): string => new Date(Date.now() + ms).toUTCString();
  test.each<[string, number, Record<string, string | string[]>, string, number | undefined]>([
    ["of 429 in seconds", 429, { "retry-after": "120" }, `delay: PT1M, ${FEW}`, 2 * MINUTE_MS],
    ["of 503 in seconds", 503, { "retry-after": "120" }, `delay: PT1M, ${FEW}`, 2 * MINUTE_MS],
    ["is the least wait alone", 429, { "retry-after": "60" }, `delay: PT5M, ${FEW}`, 5 * MINUTE_MS],
    [
      "counts beyond the longest delay of a policy",
      429,
      { "retry-after": "600" },
      `delay: PT1M, backoff: {exponential: {maxDelay: PT2M}}, ${FEW}`,
      10 * MINUTE_MS,
    ],
    [
      "as a date, by the service's own clock",
      429,
      { date: "Thu, 26 Nov 2020 12:00:00 GMT", "retry-after": "Thu, 26 Nov 2020 12:10:00 GMT" },
      `delay: PT1M, ${FEW}`,
      10 * MINUTE_MS,
    ],
    ["that asks for more than an hour", 503, { "retry-after": "7200" }, `delay: PT1M, ${FEW}`, HOUR_MS],
    ["that asks for ages", 503, { "retry-after": "9".repeat(400) }, `delay: PT1M, ${FEW}`, HOUR_MS],
    ["in fractions", 429, { "retry-after": "90.5" }, `delay: PT1M, ${FEW}`, 90_500],
    ["several times: the longest", 429, { "retry-after": ["90", "150"] }, `delay: PT1M, ${FEW}`, 150_000],
    ["below zero", 429, { "retry-after": "-120" }, `delay: PT1M, ${FEW}`, MINUTE_MS],
    ["that is nonsense", 429, { "retry-after": "tomorrow" }, `delay: PT1M, ${FEW}`, MINUTE_MS],
    ["of a time that has passed", 429, { "retry-after": inDate(-HOUR_MS) }, `delay: PT1M, ${FEW}`, MINUTE_MS],
    ["of another status", 500, { "retry-after": "600" }, `delay: PT1M, ${FEW}`, MINUTE_MS],
    [
      "beyond the policy's limit: there is no further try",
      429,
      { "retry-after": "600" },
      "delay: PT1M, limit: {duration: PT5M}",
      undefined,
    ],
  ])("%s", async (_, status, headers, policy, expected) => {
    endpoint.answer = { status, headers };
    expect(await pauseOf(retried(policy))).toBe(expected);
    expect(endpoint.seen).toHaveLength(1);
  });

  test("of a call deep in a try, and of the request for a token", async () => {
    endpoint.answer = { status: 429, headers: { "retry-after": "120" } };
    expect(await pauseOf(`do: [{t: {try: [{all: {do: [${get()}]}}], catch: {retry: {delay: PT1M, ${FEW}}}}}]`)).toBe(
      2 * MINUTE_MS,
    );
    const oauth2 = `{authority: '${endpoint.url}', grant: client_credentials, client: {id: i, secret: s-of-client}}`;
    const call = `{call: http, with: {method: get, endpoint: {uri: '${endpoint.url}', authentication: {oauth2: ${oauth2}}}}}`;
    expect(await pauseOf(`do: [{t: {try: [{c: ${call}}], catch: {retry: {delay: PT1M, ${FEW}}}}}]`)).toBe(
      2 * MINUTE_MS,
    );
  });

  test("survives kill -9, and the next try comes when it is over", async () => {
    endpoint.answers = [{ status: 429, headers: { "retry-after": "600" } }, { body: "done" }];
    const id = await start(server, await agentOf(server, `${retried(FEW)}\noutput: {as: '\${ {it: .} }'}`));
    await eventually(async () => (await readRun(server, id)).steps[0]?.attempts[0]?.status === "failed");
    await server.kill();
    await server.restart();
    await server.clock.advance(9 * MINUTE_MS);
    expect((await readRun(server, id)).status).toBe("running");
    expect(endpoint.seen).toHaveLength(1);
    await server.clock.advance(MINUTE_MS);
    expect((await until(server, id, ...ENDED)).output).toEqual({ it: "done" });
    expect(endpoint.seen).toHaveLength(2);
  });

  test("within a timeout, the timeout comes first", async () => {
    endpoint.answer = { status: 429, headers: { "retry-after": "600" } };
    const id = await start(
      server,
      await agentOf(server, `do: [{t: {timeout: {after: PT5M}, try: [${get()}], catch: {retry: {${FEW}}}}}]`),
    );
    await eventually(async () => (await readRun(server, id)).steps[0]?.attempts[0]?.status === "failed");
    await server.clock.advance(5 * MINUTE_MS);
    expect((await until(server, id, ...ENDED)).error).toMatchObject({ detail: "t took longer than its timeout" });
  });
});

describe("how long a call may take", () => {
  const begun = async (timeout = ""): Promise<string> => {
    endpoint.answer = "held";
    const call = `call: http, with: {method: get, endpoint: '${endpoint.url}'}`;
    const id = await start(
      server,
      await agentOf(server, `do: [{get: {${timeout}${call}}}]\noutput: {as: '\${ {it: .} }'}`),
    );
    await eventually(() => endpoint.held === 1);
    return id;
  };

  test("60 s without a timeout of its own", async () => {
    const id = await begun();
    await server.clock.advance(MINUTE_MS);
    expect((await until(server, id, ...ENDED)).error).toMatchObject({
      type: expect.stringMatching(/\/timeout$/),
      detail: `${new URL(endpoint.url).origin} did not answer in full within 60 s`,
    });
  });

  test("a call may take as long as its timeout says, an hour at most", async () => {
    const long = await begun("timeout: {after: PT59M}, ");
    await server.clock.advance(58 * MINUTE_MS);
    endpoint.letGo("late");
    expect((await until(server, long, ...ENDED)).output).toEqual({ it: "late" });
    const short = await begun("timeout: {after: PT2M}, ");
    await server.clock.advance(2 * MINUTE_MS);
    expect((await until(server, short, ...ENDED)).error.detail).toBe("get took longer than its timeout");
    endpoint.reset();
    const longer = await begun("timeout: {after: PT2H}, ");
    await server.clock.advance(LIMITS.callSeconds * SECOND_MS);
    expect((await until(server, longer, ...ENDED)).error).toMatchObject({
      type: expect.stringMatching(/\/timeout$/),
      detail: `${new URL(endpoint.url).origin} did not answer in full within ${LIMITS.callSeconds} s`,
    });
  });

  test("a longer timeout is a warning when the definition is validated", async () => {
    const warningsOf = async (after: string): Promise<string[]> => {
      const definition = `document: {dsl: 1.0.3, namespace: test, name: late, version: 1.0.0}\ndo: [{get: {timeout: {after: ${after}}, call: http, with: {method: get, endpoint: 'https://example.com'}}}]`;
      const { validateDefinition } = await server.data(
        "query($definition: String!) { validateDefinition(definition: $definition) { problems { message severity } } }",
        { definition },
      );
      return validateDefinition.problems.map(({ message, severity }: Data) => `${severity}: ${message}`);
    };
    expect(await warningsOf("PT1H")).toEqual([]);
    expect(await warningsOf("PT61M")).toEqual([
      `warning: a call is given up after ${LIMITS.callSeconds} s, whatever its timeout says; write PT1H or less`,
    ]);
  });
});
