/** How often an organization may ask, over every way in. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeApiKey } from "../server/src/auth/api-key.ts";
import { eventually, type Data } from "./client.ts";
import { publish } from "./agents.ts";
import type { World } from "./server.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";

const MINUTE_MS = 60_000;
const ME = "{ me { id } }";
const RATE = "{ rateLimit { plan limit remaining resetAt } }";

let server: MovedServer;
beforeAll(async () => {
  server = await movedServer();
});
afterAll(() => server[Symbol.asyncDispose]());

let made = 0;
/** A new organization that may send ten requests in any 60 s. */
async function freeOrganization(): Promise<World> {
  const world = await server.organization(`rates${++made}`);
  await server.setPlan(world.organizationId, "free");
  return world;
}

type Sent = { status: number; headers: Record<string, unknown>; body: Data };

/** A request as it is, valid or not. */
const send = (
  token: string | null,
  { method = "POST", body = JSON.stringify({ query: ME }), headers = {} }: Request = {},
): Promise<Sent> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest(`${server.url}/graphql`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: bodyOf(text) }),
      );
    });
    sent.end(body);
  });
type Request = { method?: string; body?: string; headers?: Record<string, string> };

const bodyOf = (text: string): Data => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

test("of 100 requests at once on Free exactly 10 pass; the others get 429 with all that a client needs", async () => {
  const { apiKey } = await freeOrganization();
  const since = performance.now();
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(apiKey)));
  // The remaining number counts down while they are answered.
  const least = 60 - Math.ceil((performance.now() - since) / 1_000);
  const [passed, refused] = [200, 429].map((wanted) => answers.filter(({ status }) => status === wanted));
  expect([passed!.length, refused!.length]).toEqual([10, 90]);
  const expectSeconds = (seconds: number): void => {
    expect(seconds).toBeGreaterThanOrEqual(least);
    expect(seconds).toBeLessThanOrEqual(60);
  };
  const left = passed!.map(({ headers }) => /^"plan";r=(\d);t=(\d+)$/.exec(String(headers["ratelimit"]))!);
  expect(left.map(([, remaining]) => Number(remaining)).toSorted((x, y) => x - y)).toEqual(
    Array.from({ length: 10 }, (_, index) => index),
  );
  for (const [, , seconds] of left) expectSeconds(Number(seconds));
  for (const { headers, body } of refused!) {
    const retryAfter = Number(headers["retry-after"]);
    expectSeconds(retryAfter);
    expect(headers["ratelimit-policy"]).toBe('"plan";q=10;w=60');
    expect(headers["ratelimit"]).toBe(`"plan";r=0;t=${retryAfter}`);
    expect(body).toEqual({
      errors: [
        {
          message: `the organization's plan (free) allows 10 requests in any 60 s: try again in ${retryAfter} s`,
          extensions: { code: "RATE_LIMITED", retryAfter },
        },
      ],
    });
  }
});

test("refused requests do not extend the window: after Retry-After there is room again", async () => {
  const { apiKey } = await freeOrganization();
  for (let count = 0; count < 10; count++) await send(apiKey);
  let last = await send(apiKey);
  for (let seconds = 0; seconds < 50; seconds += 10) {
    await server.clock.advance(10_000);
    last = await send(apiKey);
    expect(last.status).toBe(429);
  }
  await server.clock.advance(Number(last.headers["retry-after"]) * 1_000);
  expect((await send(apiKey)).status).toBe(200);
});

test("what is not valid counts too, and an operation that ignores its credential does not", async () => {
  const { apiKey, email } = await freeOrganization();
  const login = JSON.stringify({
    query: `mutation { login(email: "${email}", password: "wrong") { expiresAt } }`,
  });
  const strange: [Request, number][] = [
    [{ body: login }, 200],
    [{ body: "{" }, 400],
    [{ body: "[]" }, 400],
    [{ body: JSON.stringify({ query: "{" }) }, 200],
    [{ body: JSON.stringify({ query: "{ nothing }" }) }, 200],
    [{ body: JSON.stringify({ query: "query($id: ID!) { run(id: $id) { id } }" }) }, 200],
    [{ body: JSON.stringify({ query: 'subscription { runUpdated(runId: "x") { id } }' }) }, 400],
    [{ headers: { "content-type": "text/plain" } }, 415],
    [{ method: "GET", body: "" }, 405],
    // Nothing of the body is sent: the server refuses by its length, and closes while a client would still be writing.
    [{ headers: { "content-length": String(2 ** 21) }, body: "" }, 413],
    [{ body: JSON.stringify({ query: 'mutation { createProject(input: {handle: "", name: ""}) { id } }' }) }, 200],
  ];
  for (const [request, status] of strange)
    expect({ request, ...(await send(apiKey, request)) }).toMatchObject({ request, status });
  const { rateLimit } = await server.data(RATE, {}, apiKey);
  expect(rateLimit).toMatchObject({ plan: "free", limit: 10, remaining: 0 });
  for (const [request] of strange.slice(1)) {
    const { status, body } = await send(apiKey, request);
    expect({ request, status, code: body.errors[0].extensions.code }).toEqual({
      request,
      status: 429,
      code: "RATE_LIMITED",
    });
  }
  expect((await send(apiKey, strange[0]![0])).status).toBe(200);
});

test("rateLimit says what is left and does not count, even when nothing is left; beside another field it counts", async () => {
  const { apiKey } = await freeOrganization();
  const ask = async (query = RATE): Promise<Data> => (await server.graphql(query, {}, apiKey)).data?.rateLimit;
  expect(await ask()).toEqual({ plan: "free", limit: 10, remaining: 10, resetAt: null });
  await server.data(ME, {}, apiKey);
  const at = await server.clock.now();
  const { resetAt, ...rest } = await ask(
    "query A { __typename ...F } fragment F on Query { a: rateLimit { plan } rateLimit { plan limit remaining resetAt } }",
  );
  expect(rest).toEqual({ plan: "free", limit: 10, remaining: 9 });
  expect(new Date(resetAt).getTime()).toBeGreaterThan(at + MINUTE_MS - 5_000);
  expect(new Date(resetAt).getTime()).toBeLessThanOrEqual(at + MINUTE_MS);
  for (let left = 8; left >= 0; left--)
    expect((await ask("{ me { id } rateLimit { remaining } }")).remaining).toBe(left);
  expect(await ask("{ me { id } rateLimit { remaining } }")).toBeUndefined();
  expect(await ask()).toMatchObject({ remaining: 0 });
  expect(await ask("mutation { __typename }")).toBeUndefined();
  const { rateLimit } = await server.data(RATE);
  expect(rateLimit).toEqual({ plan: "enterprise", limit: null, remaining: null, resetAt: null });
  expect((await server.graphql(RATE, {}, null)).errors![0]!.extensions.code).toBe("UNAUTHENTICATED");
});

test("each operation on a WebSocket counts, and a refused one leaves the others alone", async () => {
  const { apiKey } = await freeOrganization();
  const client = server.webSocket(apiKey);
  const ask = async (query: string): Promise<Data> => {
    for await (const result of client.iterate({ query })) return result;
  };
  const subscription = client.iterate({ query: "subscription { badgesChanged { openRuns } }" });
  expect((await subscription.next()).value).toMatchObject({ data: { badgesChanged: { openRuns: 0 } } });
  for (let count = 0; count < 9; count++) expect(await ask(ME)).toMatchObject({ data: { me: {} } });
  const refusal = [
    { message: expect.any(String), extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) } },
  ];
  await expect(ask(ME)).rejects.toEqual(refusal);
  await expect(ask("{")).rejects.toEqual(refusal);
  await expect(ask("subscription { badgesChanged { openRuns } }")).rejects.toEqual(refusal);
  expect(await ask("{ rateLimit { remaining } }")).toMatchObject({ data: { rateLimit: { remaining: 0 } } });
  await subscription.return!();
  await client.dispose();
});

test("Server-Sent Events have the headers too, and are refused before they begin", async () => {
  const { apiKey } = await freeOrganization();
  const accept = { headers: { accept: "text/event-stream" } };
  for (let count = 0; count < 10; count++) {
    const { status, headers } = await send(apiKey, accept);
    expect([status, headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(headers["ratelimit"]).toMatch(`"plan";r=${9 - count};`);
  }
  expect((await send(apiKey, accept)).status).toBe(429);
});

test("keys and tokens of an organization share its limit; another organization, and one without a limit, have their own", async () => {
  const [one, other] = [await freeOrganization(), await freeOrganization()];
  const { login } = await server.data(
    `mutation { login(email: "${one.email}", password: "${one.password}") { accessToken } }`,
    {},
    null,
  );
  for (let count = 0; count < 10; count++) await send(count % 2 === 0 ? one.apiKey : login.accessToken);
  expect((await send(login.accessToken)).status).toBe(429);
  expect((await send(one.apiKey)).status).toBe(429);
  expect((await send(other.apiKey)).status).toBe(200);
  const { status, headers } = await send(server.world.apiKey);
  expect([status, headers["ratelimit"], headers["ratelimit-policy"]]).toEqual([200, undefined, undefined]);
});

test("a user of the web UI has one limit for all sessions, and is not counted against the plan", async () => {
  const { email, password, apiKey } = await freeOrganization();
  const signIn = async (): Promise<string> => {
    const query = `mutation { login(email: "${email}", password: "${password}") { accessToken } }`;
    const { login } = await server.data(query, {}, null);
    return server.uiToken(login.accessToken);
  };
  const tokens = [await signIn(), await signIn(), await signIn()];
  const answers: Awaited<ReturnType<typeof send>>[] = [];
  // All at once would be an overload on a slow machine.
  while (answers.length < 620)
    answers.push(...(await Promise.all(Array.from({ length: 31 }, (_, index) => send(tokens[index % 3]!)))));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(600);
  const { headers, body } = answers.find(({ status }) => status === 429)!;
  expect(headers["ratelimit-policy"]).toBe('"user";q=600;w=60');
  expect(body.errors[0]).toMatchObject({
    message: expect.stringMatching(/^a user of the web UI may send 600 requests in any 60 s: try again in \d+ s$/),
    extensions: { code: "RATE_LIMITED", retryAfter: expect.any(Number) },
  });
  expect((await server.data(RATE, {}, apiKey)).rateLimit.remaining).toBe(10);
});

test("a plan that is set is in force within 10 s; above 1,000 a minute a second's worth passes at once", async () => {
  const { apiKey, organizationId } = await freeOrganization();
  for (let count = 0; count < 10; count++) await send(apiKey);
  expect((await send(apiKey)).status).toBe(429);
  await server.setPlan(organizationId, "enterprise", 6_000);
  await server.clock.advance(10_000);
  const answers = await Promise.all(Array.from({ length: 100 }, () => send(apiKey)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(answers[0]!.headers["ratelimit-policy"]).toBe('"plan";q=6000;w=60');
  await server.setPlan(organizationId, "enterprise");
  await server.clock.advance(10_000);
  expect((await send(apiKey)).headers["ratelimit"]).toBeUndefined();
});

test("usage by day: requests, refused, runs and steps; today first, zeros where there was nothing", async () => {
  // A day has just begun: none ends between what is counted.
  const day = 86_400_000;
  await server.clock.advance(day - ((await server.clock.now()) % day));
  const world = await freeOrganization();
  const { apiKey, organizationId } = world;
  await server.setPlan(organizationId, "starter");
  const data = (query: string, variables = {}): Promise<Data> => server.data(query, variables, apiKey);
  const three = await publish({ world, data }, "three");
  const START = "mutation($id: ID!) { runAgent(input: {agentId: $id, input: {n: 1}, wait: 20}) { status } }";
  expect((await data(START, { id: three })).runAgent.status).toBe("completed");
  expect((await data(START, { id: three })).runAgent.status).toBe("completed");
  for (let count = 0; count < 110; count++) await send(apiKey);
  const at = await server.clock.now();
  const date = (ago: number): string => new Date(at - ago * day).toISOString().slice(0, 10);
  await server.clock.advance(day);
  const { usage } = await eventually(() => data("{ usage(days: 3) { date requests refused runs steps } }"));
  expect(usage).toEqual([
    { date: date(-1), requests: 1, refused: 0, runs: 0, steps: 0 },
    { date: date(0), requests: 100, refused: 13, runs: 2, steps: 6 },
    { date: date(1), requests: 0, refused: 0, runs: 0, steps: 0 },
  ]);
  expect((await data("{ usage { date } }")).usage).toHaveLength(30);
  expect((await data("{ usage(days: 366) { date } }")).usage).toHaveLength(366);
  for (const days of [0, 367, -1]) {
    const { errors } = await server.graphql(`{ usage(days: ${days}) { date } }`, {}, apiKey);
    expect(errors![0]).toMatchObject({
      message: "days must be between 1 and 366",
      extensions: { code: "BAD_USER_INPUT", fields: [{ path: "days", code: "out_of_range" }] },
    });
  }
});

test("wrong credentials from one address are limited; a good one from there passes, and so does another address", async () => {
  const { email, password, apiKey } = await freeOrganization();
  const from = (address: string, token: string): Promise<Sent> =>
    send(token, { headers: { "x-forwarded-for": address } });
  const wrong = [
    "nonsense",
    `ag_live_${"x".repeat(30)}`,
    makeApiKey(),
    "eyJhbGciOiJub25lIn0.e30.",
    "key_01h455vb4pex5vsknk084sn02q",
  ];
  const statuses = [];
  const since = performance.now();
  for (let count = 0; count < 70; count++) {
    // A subscriber has a whole /64.
    const { status } = await from(`2001:db8:0:1::${count.toString(16)}`, wrong[count % wrong.length]!);
    statuses.push(status);
  }
  expect(statuses.slice(0, 60).every((status) => status === 401)).toBe(true);
  // One more is looked at each second.
  const most = 60 + Math.ceil((performance.now() - since) / 1_000);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(most);
  const limited = await eventually(async () => {
    const sent = await from("2001:db8:0:1::ffff", "nonsense");
    return sent.status === 429 ? sent : undefined;
  });
  expect(limited.headers["retry-after"]).toMatch(/^[1-9]$/);
  expect(limited.body.errors[0]).toMatchObject({
    message: expect.stringMatching(
      /^too many wrong credentials from this address \(60 at once, then one a second\): try again in \d s; this is neither an API key/,
    ),
    extensions: { code: "RATE_LIMITED", retryAfter: Number(limited.headers["retry-after"]) },
  });
  for (const token of [apiKey, server.world.apiKey]) expect((await from("2001:db8:0:1::1", token)).status).toBe(200);
  expect((await from("2001:db8:0:2::1", "nonsense")).status).toBe(401);
  await server.clock.advance(60_000);
  expect((await from("2001:db8:0:1::1", "nonsense")).status).toBe(401);

  const { login } = await server.data(
    `mutation { login(email: "${email}", password: "${password}") { accessToken } }`,
    {},
    null,
  );
  await server.clock.advance(600_000);
  for (let count = 0; count < 70; count++) expect((await from("192.0.2.1", login.accessToken)).status).toBe(401);
});

test("a WebSocket with a wrong credential closes with 4401 and the sentence, also beyond that limit", async () => {
  const closed = async (): Promise<{ code: number; reason: string }> => {
    const client = server.webSocket("nonsense");
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    client.on("closed", (event) => resolve(event as { code: number; reason: string }));
    void client
      .iterate({ query: ME })
      .next()
      .catch(() => {});
    const { code, reason } = await promise;
    await client.dispose();
    return { code, reason };
  };
  const since = performance.now();
  let last = await closed();
  expect(last).toEqual({ code: 4401, reason: expect.stringContaining("this is neither an API key") });
  for (let count = 1; !last.reason.startsWith("too many"); count++) {
    expect(count).toBeLessThanOrEqual(61 + Math.ceil((performance.now() - since) / 1_000));
    last = await closed();
  }
  expect(last).toEqual({ code: 4401, reason: expect.stringContaining("too many wrong credentials from this address") });
});
