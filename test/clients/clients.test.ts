/**
 * The clients that people use, as they come from npm and with nothing but an address and a key: a list, a run's page
 * and the live run share what they know in the cache.
 */
import { createHash } from "node:crypto";
import { ApolloClient, ApolloLink, gql as apollo, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { createClient as createUrql, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { OperationTypeNode } from "graphql";
import { ClientError, GraphQLClient } from "graphql-request";
import { createClient as createSse } from "graphql-sse";
import { createClient as createWs } from "graphql-ws";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { publish, start } from "../agents.ts";
import { eventually, type Data } from "../client.ts";
import { decide, until } from "../runs.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";

let server: SharedServer;
let agentId: string;
let url: string;
let headers: { authorization: string };

beforeAll(async () => {
  server = await sharedServer();
  agentId = await publish(server, "approve");
  url = `${server.url}/graphql`;
  headers = { authorization: `Bearer ${server.world.apiKey}` };
});

afterAll(() => server[Symbol.asyncDispose]());

const LIST = "query List { runs(first: 10) { nodes { id status } } }";
const DETAIL = "query Detail($id: ID!) { run(id: $id) { id status progress steps { id number status } } }";
const LIVE = "subscription Live($id: ID!) { runUpdated(runId: $id) { id status progress steps { id number status } } }";

/** Counts what goes over the wire. */
function countingFetch(): { fetch: typeof fetch; asked: () => number } {
  let asked = 0;
  return {
    fetch: (...request) => {
      asked++;
      return fetch(...request);
    },
    asked: () => asked,
  };
}

/** A run that waits for a person. */
async function pausedRun(): Promise<string> {
  const id = await start(server, agentId);
  await until(server, id, "paused");
  return id;
}

const approve = (id: string): Promise<unknown> => decide(server, id, "approve", { answer: { costCentre: "office" } });

/** The final contents of both caches. */
const IS_OVER = {
  listed: "completed",
  run: expect.objectContaining({
    status: "completed",
    progress: 100,
    steps: [
      expect.objectContaining({ number: 1, status: "completed" }),
      expect.objectContaining({ number: 2, status: "completed" }),
    ],
  }),
};

test("Apollo's normalised cache", async () => {
  const { fetch, asked } = countingFetch();
  const socket = createWs({ url: url.replace("http", "ws"), connectionParams: headers, webSocketImpl: WebSocket });
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new GraphQLWsLink(socket),
      new HttpLink({ uri: url, headers, fetch }),
    ),
  });
  const id = await pausedRun();
  const shown: { list?: Data; detail?: Data } = {};
  client.watchQuery<Data>({ query: apollo(LIST) }).subscribe(({ data }) => (shown.list = data));
  client.watchQuery<Data>({ query: apollo(DETAIL), variables: { id } }).subscribe(({ data }) => (shown.detail = data));
  const listed = () => shown.list?.runs?.nodes.find((run: Data) => run.id === id)?.status;
  await eventually(() => listed() === "paused" && shown.detail?.run?.steps[0].status === "paused");
  const before = asked();

  const live = client.subscribe<Data>({ query: apollo(LIVE), variables: { id } }).subscribe(() => {});
  await approve(id);
  // Each query is notified in a tick of its own.
  await expect.poll(() => ({ listed: listed(), run: shown.detail?.run })).toEqual(IS_OVER);
  expect(asked()).toBe(before);
  live.unsubscribe();
  client.stop();
  await socket.dispose();
});

/** Requests by method: whole, or a hash alone. */
const wireOf = (sent: { url: string; init: RequestInit | undefined }[]): string[] =>
  sent.map(({ url: to, init }) => {
    const { query, extensions } = JSON.parse(String(init?.body ?? "{}"));
    const isHash = (extensions ?? to.includes("persistedQuery")) !== undefined && query === undefined;
    return `${init?.method} ${isHash ? "hash" : "query"}`;
  });

test.each([
  ["POST", false],
  ["GET", true],
])(
  "Apollo's persisted queries: after a hash by %s that is not supported, each query is sent whole",
  async (method, byGet) => {
    const sent: Parameters<typeof wireOf>[0] = [];
    const counting: typeof fetch = (to, init) => {
      sent.push({ url: String(to), init });
      return fetch(to, init);
    };
    const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: new PersistedQueryLink({ sha256, useGETForHashedQueries: byGet }).concat(
        new HttpLink({ uri: url, headers, fetch: counting }),
      ),
    });
    const names = [];
    for (const query of ["{ me { name } }", "{ me { name id } }"])
      names.push((await client.query<Data>({ query: apollo(query), fetchPolicy: "network-only" })).data.me.name);
    expect(names).toEqual(["first", "first"]);
    expect(wireOf(sent)).toEqual([`${method} hash`, "POST query", "POST query"]);
    client.stop();
  },
);

test("Apollo's persisted queries over a WebSocket, which sends each hash with its query", async () => {
  const socket = createWs({ url: url.replace("http", "ws"), connectionParams: headers, webSocketImpl: WebSocket });
  const link = new PersistedQueryLink({ sha256: () => "0".repeat(64) }).concat(new GraphQLWsLink(socket));
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  expect((await client.query<Data>({ query: apollo("{ me { name } }") })).data.me.name).toBe("first");
  client.stop();
  await socket.dispose();
});

test("urql with graphcache, which finds an id wherever it needs one", async () => {
  using warned = vi.spyOn(console, "warn");
  const { fetch, asked } = countingFetch();
  const socket = createWs({ url: url.replace("http", "ws"), connectionParams: headers, webSocketImpl: WebSocket });
  const client = createUrql({
    url,
    fetch,
    fetchOptions: { headers },
    preferGetMethod: false,
    exchanges: [
      cacheExchange({}),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: socket.subscribe({ query: query!, variables: variables ?? {} }, sink as never),
          }),
        }),
      }),
    ],
  });
  const id = await pausedRun();
  const shown: { list?: Data; detail?: Data } = {};
  const watching = [
    client.query(LIST, {}).subscribe(({ data }) => (shown.list = data)),
    client.query(DETAIL, { id }).subscribe(({ data }) => (shown.detail = data)),
  ];
  const listed = () => shown.list?.runs?.nodes.find((run: Data) => run.id === id)?.status;
  await eventually(() => listed() === "paused" && shown.detail?.run?.steps[0].status === "paused");
  const before = asked();

  watching.push(client.subscription(LIVE, { id }).subscribe(() => {}));
  await approve(id);
  // Each query is notified in a tick of its own.
  await expect.poll(() => ({ listed: listed(), run: shown.detail?.run })).toEqual(IS_OVER);
  expect(asked()).toBe(before);
  expect(warned.mock.calls.map(([text]) => String(text).split("\n")[0])).toEqual([]);
  for (const one of watching) one.unsubscribe();
  await socket.dispose();
});

test("graphql-request: data, and a refusal with its code", async () => {
  const client = new GraphQLClient(url, { headers });
  const { runAgent } = await client.request(
    "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }",
    { input: { agentId, input: {}, wait: 30 } },
  );
  expect(runAgent.status).toBe("paused");
  const refused = await client.request(DETAIL, { id: "run_00000000000000000000000000" }).catch((error) => error);
  expect(refused).toBeInstanceOf(ClientError);
  expect(refused.response).toMatchObject({ data: { run: null }, errors: [{ extensions: { code: "NOT_FOUND" } }] });
  const wrong = await new GraphQLClient(url, { headers: { authorization: "Bearer no" } })
    .request(LIST)
    .catch((error) => error);
  expect(wrong.response).toMatchObject({ status: 401, errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
});

test("graphql-sse: every state until the final one, then the end", async () => {
  const client = createSse({ url, headers });
  const id = await pausedRun();
  const seen: string[] = [];
  for await (const { data } of client.iterate<Data>({ query: LIVE, variables: { id } })) {
    if (seen.length === 0) await approve(id);
    seen.push(data!.runUpdated.status);
  }
  expect(seen[0]).toBe("paused");
  expect(seen.at(-1)).toBe("completed");
  client.dispose();
});

test("graphql-ws: every state until the final one, then the end; a wrong key is an error at once", async () => {
  const options = { url: url.replace("http", "ws"), webSocketImpl: WebSocket };
  const client = createWs({ ...options, connectionParams: headers });
  const id = await pausedRun();
  const seen: string[] = [];
  for await (const { data } of client.iterate<Data>({ query: LIVE, variables: { id } })) {
    if (seen.length === 0) await approve(id);
    seen.push(data!["runUpdated"].status);
  }
  expect(seen[0]).toBe("paused");
  expect(seen.at(-1)).toBe("completed");
  await client.dispose();

  const wrong = createWs({ ...options, connectionParams: { authorization: "Bearer ag_live_wrong" } });
  const closed = await wrong
    .iterate({ query: LIVE, variables: { id } })
    .next()
    .catch((event) => event);
  expect(closed).toMatchObject({ code: 4401, reason: expect.stringContaining("API key") });
  await wrong.dispose();
});
