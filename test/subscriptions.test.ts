/** Subscriptions over WebSocket (graphql-transport-ws) and Server-Sent Events, with the same authentication and limits. */
import { once } from "node:events";
import net from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { expectInTime } from "./in-time.ts";
import { makeApiKey } from "../server/src/auth/api-key.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish, start, type AgentName } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { acknowledged } from "./web-socket.ts";
import { agentOf, readRun } from "./runs.ts";
import { talk, type Talk } from "./web-socket.ts";

const UPDATED = "subscription($id: ID!) { runUpdated(runId: $id) { id status currentStep progress } }";
const EVENTS =
  "subscription($id: ID!, $after: Int) { runEvents(runId: $id, after: $after) { revision run { status revision } step { number status } } }";

let server: TestServer;
let agents: Record<"three" | "slow" | "quick" | "patient" | "approve", string>;
beforeAll(async () => {
  server = await startTestServer();
  const names: AgentName[] = ["three", "slow", "quick", "patient", "approve"];
  agents = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await publish(server, name)])));
});
afterAll(() => server[Symbol.asyncDispose]());

const until = (id: string, status: string): Promise<unknown> =>
  eventually(async () => (await server.data(`{ run(id: "${id}") { status } }`)).run.status === status);

type Event = { data: Data; errors?: { message: string; extensions: { code: string } }[] };

async function collect(source: AsyncIterable<Event>): Promise<Data[]> {
  const found: Data[] = [];
  for await (const { data, errors } of source) {
    if (errors) throw new Error(JSON.stringify(errors));
    found.push(data);
  }
  return found;
}

/** Both transports as one: results in order, ended by the server. */
const TRANSPORTS = {
  WebSocket: (query: string, variables: object) => server.watch(query, variables as Record<string, unknown>),
  async *SSE(query: string, variables: object): AsyncGenerator<Event> {
    let isComplete = false;
    for await (const { event, data } of server.events(query, variables as Record<string, unknown>)) {
      if (event === "next") yield data;
      isComplete = event === "complete";
    }
    if (!isComplete) throw new Error("the stream ended without `complete`");
  },
};

describe.for(Object.entries(TRANSPORTS))("over %s", ([, subscribe]) => {
  test("runUpdated sends the present state first, then only newer ones, the final one, and completes", async () => {
    const id = await start(server, agents.slow);
    const updates = (await collect(subscribe(UPDATED, { id }))).map(({ runUpdated }) => runUpdated);
    expect(updates.length).toBeGreaterThan(5);
    expect(updates[0]).toMatchObject({ id, status: expect.stringMatching(/pending|running/) });
    expect(updates.at(-1)).toMatchObject({ status: "completed", progress: 100 });
    const progress = updates.map((update) => update.progress);
    expect(progress).toEqual(progress.toSorted((a: number, b: number) => a - b));
    expect(updates.filter(({ status }) => status === "completed")).toHaveLength(1);
  });

  test("one subscriber gets at most one update of a run in 50 ms", async () => {
    const began = performance.now();
    const id = await start(server, agents.quick);
    const updates = await collect(subscribe(UPDATED, { id }));
    const places = Math.ceil((performance.now() - began) / 50);
    // The first, the newest after each pause, and the last.
    expect(updates.length).toBeLessThanOrEqual(places + 2);
    expect(updates.at(-1)!.runUpdated).toMatchObject({ status: "completed", currentStep: 81 });
  });

  test("of a run that has ended: its final state, and the end", async () => {
    const id = await start(server, agents.three, { n: 1 });
    await until(id, "completed");
    expect(await collect(subscribe(UPDATED, { id }))).toEqual([
      { runUpdated: { id, status: "completed", currentStep: 3, progress: 100 } },
    ]);
  });

  test("a pause is seen, and the decision", async () => {
    const id = await start(server, agents.approve);
    await until(id, "paused");
    const seen: string[] = [];
    for await (const { data } of subscribe(UPDATED, { id })) {
      seen.push(data.runUpdated.status);
      if (data.runUpdated.status !== "paused" || seen.length > 1) continue;
      const { approvals } = await server.data(`{ approvals(filter: {runId: "${id}"}) { nodes { id } } }`);
      await server.data("mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", {
        input: { approvalId: approvals.nodes[0].id, decision: "approve", answer: { costCentre: "office" } },
      });
    }
    expect(seen[0]).toBe("paused");
    expect(seen.at(-1)).toBe("completed");
  });

  test("it lasts longer than a request may take", async () => {
    const id = await start(server, agents.patient);
    const updates = subscribe(UPDATED, { id });
    await updates.next();
    await server.clock.advance((LIMITS.requestSeconds + 5) * 1_000);
    await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    expect((await collect(updates)).at(-1)).toMatchObject({ runUpdated: { status: "cancelled" } });
  });

  test("a cancel is the end", async () => {
    const id = await start(server, agents.patient);
    const seen: string[] = [];
    for await (const { data } of subscribe(UPDATED, { id })) {
      seen.push(data.runUpdated.status);
      if (seen.length === 1) await server.data(`mutation { cancelRun(runId: "${id}") { id } }`);
    }
    expect(seen.at(-1)).toBe("cancelled");
  });

  test("runEvents sends every change in order; reconnecting with `after` misses and repeats nothing", async () => {
    const id = await start(server, agents.three, { n: 1 });
    await until(id, "completed");
    const all = (await collect(subscribe(EVENTS, { id, after: 0 }))).map(({ runEvents }) => runEvents);
    const revisions = all.map(({ revision }) => revision);
    expect(revisions).toEqual(revisions.toSorted((a: number, b: number) => a - b));
    expect(new Set(revisions).size).toBe(revisions.length);
    expect(all.filter(({ step }) => step).map(({ step }) => step)).toEqual(
      [1, 2, 3].map((number) => ({ number, status: "completed" })),
    );
    expect(all.at(-1)).toMatchObject({ run: { status: "completed" } });
    for (const after of revisions) {
      const rest = await collect(subscribe(EVENTS, { id, after }));
      expect(rest.map(({ runEvents }) => runEvents)).toEqual(all.filter(({ revision }) => revision > after));
    }
  });

  test("an unknown run is NOT_FOUND", async () => {
    const results: Event[] = [];
    for await (const result of subscribe(UPDATED, { id: "run_01kb3v0000e00000000000000x" })) results.push(result);
    expect(results).toEqual([
      {
        data: null,
        errors: [expect.objectContaining({ message: "Run not found", extensions: { code: "NOT_FOUND" } })],
      },
    ]);
  });
});

/** The protocol itself, message by message (its close codes: close-codes.test.ts). */
const rawSocket = (headers: Record<string, string> = {}): Promise<Talk> => talk(server, { headers });

describe("the WebSocket", () => {
  test("the credential comes in connection_init or in the upgrade header", async () => {
    const authorization = `Bearer ${server.world.apiKey}`;
    for (const [headers, payload] of [
      [{}, { Authorization: authorization }],
      [{ authorization }, undefined],
    ] as const) {
      const { send, next, socket } = await rawSocket(headers);
      send({ type: "connection_init", payload });
      await next("connection_ack");
      send({ type: "subscribe", id: "1", payload: { query: "{ me { name } }" } });
      expect(await next("next")).toEqual({ id: "1", type: "next", payload: { data: { me: { name: "first" } } } });
      await next("complete");
      socket.close();
    }
  });

  test("a bad credential closes with 4401 and says why, none leaves what needs none", async () => {
    for (const [credential, why] of [
      ["Bearer ag_live_nonsense", /API key/],
      [`Bearer ${makeApiKey()}`, /unknown, revoked or expired/],
      ["Bearer a.b.c", /access token/],
      [`Basic ${"ü".repeat(500)}`, /Bearer/],
    ] as const) {
      const bad = await rawSocket();
      bad.send({ type: "connection_init", payload: { Authorization: credential } });
      expect(await bad.closed).toEqual({ code: 4401, reason: expect.stringMatching(why) });
    }
    const none = await rawSocket();
    none.send({ type: "connection_init" });
    await none.next("connection_ack");
    none.send({ type: "subscribe", id: "1", payload: { query: "{ me { name } }" } });
    expect((await none.next("next")).payload.errors[0].extensions.code).toBe("UNAUTHENTICATED");
    none.socket.close();
  });

  test("the limits of a query hold, and errors have their codes", async () => {
    const { send, messages, socket, next } = await rawSocket({ authorization: `Bearer ${server.world.apiKey}` });
    send({ type: "connection_init" });
    await next("connection_ack");
    const queries = {
      GRAPHQL_PARSE_FAILED: "{",
      GRAPHQL_VALIDATION_FAILED: "{ nothing }",
      QUERY_TOO_COMPLEX: "{ runs(first: 200) { nodes { steps { number } } } }",
      BAD_USER_INPUT: "query($id: ID!) { run(id: $id) { id } }",
    };
    for (const [id, query] of Object.entries(queries)) send({ type: "subscribe", id, payload: { query } });
    for (const code of Object.keys(queries)) {
      const error = await eventually(() => messages.find(({ id, type }) => id === code && type === "error"));
      expect(error.payload[0]).toMatchObject({ message: expect.any(String), extensions: { code } });
    }
    socket.close();
  });

  test("another path is refused, another Host too", async () => {
    const statusOf = async (url: string, headers = {}): Promise<string> => {
      const socket = new WebSocket(url, "graphql-transport-ws", { headers });
      const [error] = (await once(socket, "error")) as [Error];
      return error.message;
    };
    const url = server.url.replace("http", "ws");
    expect(await statusOf(`${url}/other`)).toContain("404");
    expect(await statusOf(`${url}/graphql`, { host: "evil.example.org" })).toContain("421");
  });
});

describe("the end of a credential", () => {
  test("revoking a key ends its connections within 10 s: 4403 on WebSockets, a last error on SSE", async () => {
    const { createApiKey: key } = await server.data(
      'mutation { createApiKey(input: {name: "short", scopes: ["runs:read", "runs:start"]}) { id secret } }',
    );
    const id = await start(server, agents.patient);
    // From then on it does not change.
    await eventually(async () => (await readRun(server, id)).steps.length === 1);
    const webSocket = await rawSocket({ authorization: `Bearer ${key.secret}` });
    webSocket.send({ type: "connection_init" });
    await webSocket.next("connection_ack");
    webSocket.send({ type: "subscribe", id: "1", payload: { query: UPDATED, variables: { id } } });
    await webSocket.next("next");
    const bystander = await rawSocket({ authorization: `Bearer ${server.world.apiKey}` });
    bystander.send({ type: "connection_init" });
    const events = server.events(UPDATED, { id }, key.secret);
    await events.next();

    const started = performance.now();
    await server.data("mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { id } }", {
      input: { apiKeyId: key.id },
    });
    expect((await webSocket.closed).code).toBe(4403);
    expectInTime(performance.now() - started, 10_000);
    expect((await events.next()).value).toMatchObject({
      event: "next",
      data: { errors: [{ extensions: { code: "UNAUTHENTICATED" } }] },
    });
    expect((await events.next()).value).toMatchObject({ event: "complete" });
    expect(bystander.socket.readyState).toBe(WebSocket.OPEN);
    bystander.socket.close();
  });

  test("an access token that expires ends its connections", async () => {
    const { email, password } = server.world;
    const { login } = await server.data(
      "mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email, password },
      null,
    );
    const { send, next, closed } = await rawSocket({ authorization: `Bearer ${login.accessToken}` });
    send({ type: "connection_init" });
    await next("connection_ack");
    await server.clock.advance(LIMITS.accessTokenMinutes * 60_000 + 5_000);
    expect((await closed).code).toBe(4403);
  });
});

describe("clients that do not read or go away", () => {
  test("a slow reader of SSE gets the newest state when it reads on, the final one once", async () => {
    const id = await start(server, agents.slow);
    const body = JSON.stringify({ query: UPDATED, variables: { id } });
    const socket = net.connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.pause();
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\nauthorization: Bearer ${server.world.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await until(id, "completed");
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk)));
    socket.resume();
    await eventually(() => text.includes("event: complete"));
    expect(text.match(/"status":"completed"/g)).toHaveLength(1);
    socket.destroy();
  });

  test("a client that goes away ends its subscription", async () => {
    const id = await start(server, agents.patient);
    for (let count = 0; count < 20; count++) {
      const events = server.events(UPDATED, { id });
      await events.next();
      await events.return(undefined);
      const webSocket = await rawSocket({ authorization: `Bearer ${server.world.apiKey}` });
      webSocket.socket.terminate();
    }
    expect((await server.data(`mutation { cancelRun(runId: "${id}") { status } }`)).cancelRun.status).toBe("cancelled");
    expect(server.log()).not.toMatch(/"level":50/);
  });
});

/** The last: the server is not there any more. */
test("stopping the server closes WebSockets with 1001 and ends event streams", async () => {
  // Others have left runs of `patient`.
  const agentId = await agentOf(server, "do: [{pause: {wait: PT1H}}]");
  const id = await start(server, agentId);
  const { send, next, closed } = await rawSocket({ authorization: `Bearer ${server.world.apiKey}` });
  send({ type: "connection_init" });
  await next("connection_ack");
  // One that waits for a run is answered with it before its socket is closed.
  using waiting = await acknowledged(server, server.world.apiKey);
  waiting.send({ type: "subscribe", id: "1", payload: { query: UPDATED, variables: { id } } });
  await waiting.next("next");
  const wait = `mutation { runAgent(input: {agentId: "${agentId}", wait: 30}) { status } }`;
  waiting.send({ type: "subscribe", id: "2", payload: { query: wait } });
  const waitedOverHttp = server.data(wait);
  const running = `{ runCount(filter: {agentId: "${agentId}", status: running}) { value } }`;
  await eventually(async () => (await server.data(running)).runCount.value === 3);
  const events = server.events(UPDATED, { id });
  await events.next();
  const stopped = server.stop();
  expect((await closed).code).toBe(1001);
  expect((await waiting.closed).code).toBe(1001);
  expect(waiting.messages.filter(({ id: of }) => of === "2")).toEqual([
    { id: "2", type: "next", payload: { data: { runAgent: { status: "running" } } } },
    { id: "2", type: "complete" },
  ]);
  expect(waiting.messages.filter(({ type, id: of }) => type === "complete" && of === "1")).toEqual([]);
  expect(await waitedOverHttp).toEqual({ runAgent: { status: "running" } });
  await expect(async () => {
    for await (const _event of events);
  }).rejects.toThrow();
  expect(await stopped).toBe(0);
});
