/**
 * One organization sends more than the server can answer, from hundreds of connections that ask again when they are answered. The flood
 * lasts until the test has seen what it waits for.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { publish } from "./agents.ts";
import { eventually, post, startTestServer, type Data, type TestServer } from "./client.ts";
import { ask, type Sent } from "./mcp-client.ts";
import { connect, head, type Raw } from "./raw.ts";
import { scaled } from "./scale.ts";
import type { World } from "./server.ts";
import { acknowledged, type Talk } from "./web-socket.ts";
import { webhookOf } from "./webhooks.ts";

/** More than `requestsWaiting` in any case. */
const CONNECTIONS = scaled({ whole: 1_500, part: 300 });
const LOOKS = scaled({ whole: 20, part: 2 });
/** For work of 250 ms at most: this machine may be busy, and the order of turns has tests of its own. */
const DEADLINE_MS = 10_000;
/** Seconds: of so many connections 400 a second are read again. */
const TOLD = [1, 2, 3, 4];
/** So that the flood leaves the machine something. */
const AFTER_REFUSAL_MS = 50;
/** Milliseconds of the thread, and a short answer; in the part without a processor (test/server.ts). */
const HEAVY = JSON.stringify({
  query: scaled({
    whole: "{ __schema { types { fields { args { defaultValue } } } } }",
    part: "{ TAKES_TIME: __typename }",
  }),
});

/** Where a proxy that the server trusts sends from. */
const PROXY = "127.0.0.9";

let server: TestServer;
let flooding: World;
let neighbour: World;
beforeAll(async () => {
  server = await startTestServer({ env: { HANGS: "1", TRUSTED_PROXIES: PROXY } });
  flooding = await server.organization("flooding");
  neighbour = await server.organization("neighbour");
});
afterAll(() => server[Symbol.asyncDispose]());

type Flood = {
  counts: Map<number, number>;
  /** The heads of what was refused, and the last of it. */
  refusal(): string;
  refused(): number;
  /** All values of `Retry-After`, seconds. */
  told: Set<number>;
  stop(): Promise<void>;
} & AsyncDisposable;

/**
 * Some connections that the server itself has taken, and not only the kernel for it: where more than 511 wait for that, it drops some
 * that seem open, and what is sent on them is never answered.
 */
async function accepted(count: number, from: string | undefined): Promise<Raw[]> {
  const some = await Promise.all(Array.from({ length: count }, () => connect(server, from)));
  const last = some.at(-1)!;
  last.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  await eventually(() => last.got().endsWith('{"status":"ok"}'));
  last.take();
  return some;
}

type FloodOptions = { from?: string; connections?: number; afterRefusalMs?: number; request?: string };

async function flood(
  { apiKey }: World,
  {
    from,
    connections = CONNECTIONS,
    afterRefusalMs = AFTER_REFUSAL_MS,
    request = head(HEAVY.length, apiKey) + HEAVY,
  }: FloodOptions = {},
): Promise<Flood> {
  const told = new Set<number>();
  const counts = new Map<number, number>();
  const all: Raw[] = [];
  let isOver = false;
  let refusal = "";
  let open = 0;
  const answered = (text: string): void => {
    const status = Number(text.split(" ", 2)[1]);
    counts.set(status, (counts.get(status) ?? 0) + 1);
    if (status !== 503) return;
    refusal = text;
    told.add(Number(/\r\nretry-after: (\d+)/i.exec(text)![1]));
  };
  const drive = (raw: Raw): void => {
    let text = "";
    raw.onData(() => {
      text += raw.take();
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
      if (end < 0 || text.length < end + 4 + length) return;
      const isRefused = text.startsWith("HTTP/1.1 503");
      answered(text);
      text = "";
      const again = (): void => {
        if (isOver) open--;
        else raw.write(request);
      };
      if (isRefused) setTimeout(again, afterRefusalMs);
      else again();
    });
    open++;
    raw.write(request);
  };
  while (all.length < connections) {
    const some = await accepted(Math.min(250, connections - all.length), from);
    all.push(...some);
    // At once: an idle connection is closed after some seconds.
    some.forEach(drive);
  }
  const refused = (): number => counts.get(503) ?? 0;
  const stop = async (): Promise<void> => {
    isOver = true;
    await eventually(() => open === 0, 200_000);
  };
  return {
    counts,
    told,
    refusal: () => refusal,
    refused,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      for (const raw of all) raw[Symbol.dispose]();
    },
  };
}

const timed = async <Result>(work: Promise<Result>): Promise<Result> => {
  const since = performance.now();
  const result = await work;
  expectInTime(performance.now() - since, DEADLINE_MS);
  return result;
};

const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id approvals { nodes { id } } } }";

test("a flood is refused in part with 503 and Retry-After; what is urgent, health and a neighbour's requests are answered", async () => {
  const input = { agentId: await publish(server, "approve", flooding), wait: 30 };
  const start = async () => (await server.data(START, { input }, flooding.apiKey)).runAgent;
  const [decided, cancelled] = [await start(), await start()];
  await using all = await flood(flooding);
  await eventually(() => all.refused() > 20, 60_000);

  // Its own, from new connections, while it is refused.
  const url = `${server.url}/graphql`;
  const urgent = async (query: string, variables: object) => {
    const { status, data, errors } = await post(url, query, variables as Record<string, unknown>, flooding.apiKey);
    expect({ status, errors }).toEqual({ status: 200 });
    return data;
  };
  const decision = { approvalId: decided.approvals.nodes[0].id, decision: "approve", answer: { costCentre: "office" } };
  await urgent("mutation($input: DecideApprovalInput!) { decideApproval(input: $input) { status } }", {
    input: decision,
  });
  const cancelOne = "mutation($id: ID!) { cancelRun(runId: $id) { status } }";
  expect((await urgent(cancelOne, { id: cancelled.id })).cancelRun.status).toBe("cancelled");
  expect(
    (await urgent("mutation { cancelRuns(input: {runs: {all: true}}) { cancelledCount } }", {})).cancelRuns,
  ).toBeDefined();
  expect((await urgent("{ rateLimit { plan } }", {})).rateLimit).toBeDefined();

  // Another's, each asked alone.
  for (let count = 0; count < LOOKS; count++) {
    const health = await timed(fetch(`${server.url}/healthz`));
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    const { status, data } = await timed(post(url, "{ me { name } }", {}, neighbour.apiKey));
    expect([status, data.me.name]).toEqual([200, "neighbour"]);
  }

  // A word of what is urgent in something else opens nothing.
  const before = all.refused();
  await eventually(async () => {
    const { status, errors } = await post(url, "{ me { cancelRun: name } }", {}, flooding.apiKey);
    return status === 503 && errors![0]!.extensions.code === "UNAVAILABLE";
  }, 60_000);

  // Over MCP.
  const call = (name: string, given: object, key: string | null = flooding.apiKey): Promise<Sent> =>
    ask(server, key, "tools/call", { name, arguments: given });
  const { status: called, body } = await call("cancel_run", { runId: cancelled.id });
  expect([called, body.result.structuredContent.status]).toEqual([200, "cancelled"]);
  expect((await call("cancel_run", { runId: cancelled.id }, null)).status).toBe(401);
  await eventually(async () => (await call("get_run", { runId: "cancel_run" })).status === 503, 60_000);

  // Over a WebSocket, where there is no status.
  const socket = server.webSocket(flooding.apiKey);
  const asked = async (query: string): Promise<Data> => {
    try {
      for await (const result of socket.iterate({ query })) return result;
    } catch (errors) {
      return { errors };
    }
  };
  await eventually(async () => {
    const { errors } = await asked("{ me { name } }");
    if (errors) expect(errors[0].extensions).toEqual({ code: "UNAVAILABLE", retryAfter: expect.toBeOneOf(TOLD) });
    return errors;
  }, 60_000);
  expect(await asked("{ rateLimit { plan } }")).toEqual({ data: { rateLimit: { plan: "enterprise" } } });
  await socket.dispose();

  await eventually(() => all.refused() > before && (all.counts.get(200) ?? 0) > 100, 60_000);
  const [, retryAfter] = /^HTTP\/1\.1 503 [^]*\r\nretry-after: ([1-4])\r\n/i.exec(all.refusal())!;
  expect(all.refusal()).toMatch(/\r\nconnection: keep-alive\r\n/i);
  expect(JSON.parse(all.refusal().split("\r\n\r\n")[1]!).errors[0].extensions).toEqual({
    code: "UNAVAILABLE",
    retryAfter: Number(retryAfter),
  });
  expect(new Set(all.counts.keys())).toEqual(new Set([200, 503]));

  await all.stop();
  // At once: what waited has been answered or refused.
  expect(await server.data("{ me { name } }", {}, flooding.apiKey)).toEqual({ me: { name: "flooding" } });
});

/** More than `requestsWaiting` and one second's worth of those that are read again. */
const IMPATIENT = { connections: scaled({ whole: 1_000, part: 700 }), afterRefusalMs: 0 };
const READ_AGAIN_PER_SECOND = 400;
/** The counts of each connection, while it is watched. */
const REFUSALS = scaled({ whole: 3, part: 1.7 });

test("among connections that were refused and ask again at once, 400 a second are read, and each learns when", async () => {
  await using all = await flood(flooding, IMPATIENT);
  await eventually(() => all.told.has(2), 60_000);
  const answered = (): number => all.counts.get(200) ?? 0;
  const before = { refused: all.refused(), answered: answered(), at: performance.now() };
  await eventually(() => all.refused() - before.refused > REFUSALS * IMPATIENT.connections, 60_000);
  const seconds = (performance.now() - before.at) / 1_000;
  // Each was read again, or answered, or under way at first.
  const most = READ_AGAIN_PER_SECOND * seconds + answered() - before.answered + IMPATIENT.connections;
  expect(all.refused() - before.refused).toBeLessThan(most);
  // Sent on a connection that is held back, it is answered when its turn comes.
  await all.stop();
  expect(new Set(all.counts.keys())).toEqual(new Set([200, 503]));
});

/** At once over one WebSocket. */
const OPERATIONS = scaled({ whole: 1, part: 8 });

test("a WebSocket whose operations are refused is held back as well, and stays open", async () => {
  const sockets: Talk[] = [];
  while (sockets.length < IMPATIENT.connections / OPERATIONS)
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => acknowledged(server, flooding.apiKey)))));
  const told = new Set<number>();
  let [answered, refused, closed, open] = [0, 0, 0, sockets.length * OPERATIONS];
  let isOver = false;
  for (const { socket, send } of sockets) {
    let id = 0;
    const again = (): void => {
      if (isOver) open--;
      else send({ type: "subscribe", id: `${++id}`, payload: JSON.parse(HEAVY) as object });
    };
    socket.on("message", (data) => {
      const message: Data = JSON.parse(String(data));
      if (message.type === "next") answered++;
      if (message.type === "complete") again();
      if (message.type !== "error") return;
      refused++;
      expect(message.payload[0].extensions.code).toBe("UNAVAILABLE");
      told.add(message.payload[0].extensions.retryAfter);
      again();
    });
    socket.on("close", () => closed++);
    for (let operation = 0; operation < OPERATIONS; operation++) again();
  }
  await eventually(() => told.has(2), 60_000);
  const before = { refused, answered, at: performance.now() };
  await eventually(() => refused - before.refused > REFUSALS * IMPATIENT.connections, 60_000);
  const seconds = (performance.now() - before.at) / 1_000;
  const most = READ_AGAIN_PER_SECOND * seconds + answered - before.answered + IMPATIENT.connections;
  expect(refused - before.refused).toBeLessThan(most);
  isOver = true;
  await eventually(() => open === 0, 200_000);
  expect(closed).toBe(0);
  for (const socket of sockets) socket[Symbol.dispose]();
});

test("a trusted proxy's connections, which bring requests of many, are always read; webhooks wait in their organization's line, which another's calls do not fill", async () => {
  {
    await using all = await flood(await server.organization("impatient"), { from: PROXY, ...IMPATIENT });
    // Held back, some of the first would be told 2 s.
    await eventually(() => all.refused() > IMPATIENT.connections, 60_000);
    expect(all.told).toEqual(new Set([1]));
  }

  const hookOf = async (world: World): Promise<string> =>
    (await webhookOf(server, await publish(server, "echo", world), {}, world.apiKey)).url;
  const flooded = await server.organization("flooded");
  const busy = await server.organization("busy");
  const [hook, own] = [await hookOf(flooded), await hookOf(neighbour)];
  // On a new connection: one that `fetch` kept may have been another organization's, in whose line it would wait.
  const one = async (): Promise<string | undefined> => {
    using raw = await connect(server);
    const body = JSON.stringify({ message: "one" });
    raw.write(head(body.length, undefined, "", new URL(own).pathname) + body);
    await eventually(() => raw.got() !== "");
    return raw.got().split(" ")[1];
  };
  expect(await one()).toBe("202");

  const request = `${head(2, undefined, "", new URL(hook).pathname)}{}`;
  // Calls alone are answered too fast for as many connections to be too many.
  await using slow = await flood(busy, { from: PROXY });
  await using all = await flood(flooded, { from: PROXY, request });
  await eventually(() => all.refused() > 20, 60_000);
  for (let count = 0; count < LOOKS; count++) expect(await one()).toBe("202");
  // Together: one after the other, the one would go on while the other's last are answered.
  await Promise.all([slow.stop(), all.stop()]);
});
