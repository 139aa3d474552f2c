/**
 * Clients that send slowly, or begin and never end: each is let go of after a time, with 408 where it may still read, while another
 * organization goes on with its work. All of them side by side: the times are those of node:http, and real.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { calmMsByClock } from "../server/src/lib/processor-time.testsuite.ts";
import { startTestServer, type TestServer } from "./client.ts";
import { sayHowLong, startNeighbour } from "./hostile/canary.ts";
import { get, head, QUERY } from "./hostile/http-attacks.ts";
import { publish } from "./agents.ts";
import { scaled } from "./scale.ts";
import { chunk, connect, type Raw } from "./raw.ts";
import { webhookOf } from "./webhooks.ts";

/** 30 s for a whole request, looked at every 5 s, on a busy machine. */
const MAX_MS = 90_000;
const CONNECTIONS = scaled({ whole: 50, part: 10 });

let server: TestServer;
let neighbour: Awaited<ReturnType<typeof startNeighbour>>;
let webhookPath: string;
const outcomes = new Map<string, Promise<Outcome[]>>();
beforeAll(async () => {
  server = await startTestServer();
  neighbour = await startNeighbour(server);
  webhookPath = new URL((await webhookOf(server, await publish(server, "echo"))).url).pathname;
  for (const [what, slow] of Object.entries(SLOW))
    outcomes.set(what, Promise.all(Array.from({ length: CONNECTIONS }, () => outcomeOf(slow))));
});
afterAll(async () => {
  await neighbour.stop();
  await server[Symbol.asyncDispose]();
});

/** `first` is written at once, and then as much as `drip` gives for as long as it gives something. */
type Slow = { first?: () => string; drip?: (time: number) => string; statuses: string[] };
const EVERY_MS = 500;

const owned = (length: string): string => head(length, `authorization: Bearer ${server.world.apiKey}`);
const to = (path: string, written: string): string => written.replace("/graphql", path);
const SLOW: Record<string, Slow> = {
  "nothing at all": { statuses: ["408"] },
  "half a head": { first: () => head("content-length: 5").slice(0, 40), statuses: ["408"] },
  "a head letter by letter": { drip: (time) => head("content-length: 5")[time] ?? "", statuses: ["408"] },
  "a head line by line": {
    first: () => get("/healthz").slice(0, -2),
    drip: (time) => `x-${time}: y\r\n`,
    statuses: ["408"],
  },
  "a head line by line behind a request that was answered": {
    first: () => get("/healthz") + get("/healthz").slice(0, -2),
    drip: (time) => `x-${time}: y\r\n`,
    statuses: ["200", "408"],
  },
  "half a body": { first: () => head(`content-length: ${QUERY.length}`) + QUERY.slice(1), statuses: ["408"] },
  "a body letter by letter": {
    first: () => head("content-length: 1000"),
    drip: () => " ",
    statuses: ["408"],
  },
  "a caller's body letter by letter": {
    first: () => owned("content-length: 1000"),
    drip: () => " ",
    statuses: ["408"],
  },
  "chunks of one byte": {
    first: () => head("transfer-encoding: chunked"),
    drip: () => chunk(1),
    statuses: ["408"],
  },
  "a caller's body that brings just enough at a time": {
    first: () => owned("content-length: 1000000"),
    drip: () => " ".repeat(1_500),
    statuses: ["408"],
  },
  "a webhook's body letter by letter": {
    first: () => to(webhookPath, head("content-length: 1000")),
    drip: () => " ",
    statuses: ["408"],
  },
  "half an event": {
    first: () => `${to("/events", owned("content-length: 1000"))}{"specversion":"1.0",`,
    statuses: ["408"],
  },
  "a trailer line by line": {
    first: () => `${head("transfer-encoding: chunked")}${chunk(5)}0\r\n`,
    drip: (time) => `x-${time}: y\r\n`,
    statuses: ["408"],
  },
  "a WebSocket's head": {
    first: () => get("/graphql", "connection: upgrade", "upgrade: websocket").slice(0, -2),
    drip: (time) => `x-${time}: y\r\n`,
    statuses: ["408"],
  },
};

type Outcome = { statuses: string[]; isInTime: boolean };

async function outcomeOf({ first, drip }: Slow): Promise<Outcome> {
  using raw: Raw = await connect(server);
  if (first) raw.write(first());
  let time = 0;
  const timer = setInterval(() => {
    const more = drip?.(time++);
    if (more) raw.write(more);
  }, EVERY_MS);
  const since = performance.now();
  await raw.closed;
  clearInterval(timer);
  const statuses = [...raw.got().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status!);
  return { statuses, isInTime: calmMsByClock(performance.now() - since, MAX_MS) < MAX_MS };
}

test.for(Object.entries(SLOW))("%s: let go of", async ([what, { statuses }]) => {
  const all = await outcomes.get(what)!;
  expect(all).toEqual(Array.from({ length: CONNECTIONS }, () => ({ statuses, isInTime: true })));
});

test("none of them has started a run or published an event", async () => {
  await Promise.all(outcomes.values());
  expect(await server.data("{ runs { nodes { id } } events { nodes { id } } }")).toEqual({
    runs: { nodes: [] },
    events: { nodes: [] },
  });
});

test("meanwhile another organization was served, and the log has no error", async () => {
  await neighbour.stop();
  sayHowLong("slow-clients", neighbour);
  expect(neighbour.troubles).toEqual([]);
  expect(neighbour.count).toBeGreaterThan(10);
  expect(server.log()).not.toMatch(/"level":[56]0/);
});
