/**
 * The memory that runs hold is bounded by the process's heap: beyond it they are unloaded or wait for their turn, all end,
 * and another organization is answered meanwhile.
 */
import { once } from "node:events";
import fs from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import net, { type AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectInTime } from "./in-time.ts";
import { publish, start } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { askWithTasks } from "./mcp-client.ts";
import { agentOf, until } from "./runs.ts";
import { scaled } from "./scale.ts";
import type { World } from "./server.ts";

/** Runs share 21 MB of it, and one that finds no room there has 18 MB to itself. No test's output would fit into it. */
const HEAP_MB = 200;
/** Those 39 MB and half as much again: what runs hold at most, without garbage. */
const HELD_MB = 60;
/** The limit of the whole process, however large its runs' outputs. */
const MAX_MB = 600;

let server: TestServer;
let neighbour: World;
beforeAll(async () => {
  const env = { OUTBOUND_ALLOW: "127.0.0.1/32", NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` };
  server = await startTestServer({ env });
  neighbour = await server.organization("neighbour");
});
afterAll(() => server[Symbol.asyncDispose]());

type Door = { url: string; waiting(): number; calls(): number; open(): void } & AsyncDisposable;

/** Answers nobody until it is opened. */
async function startDoor(answer = ""): Promise<Door> {
  const waiting: ServerResponse[] = [];
  let calls = 0;
  let isOpen = false;
  const end = (response: ServerResponse): void =>
    void response.setHeader("content-type", answer ? "application/json" : "text/plain").end(answer);
  const server = createServer((_, response) => {
    calls++;
    if (isOpen) end(response);
    else waiting.push(response);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting: () => waiting.length,
    calls: () => calls,
    open: () => {
      isOpen = true;
      for (const response of waiting) end(response);
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The most that the process has ever had in memory. */
const peakMegabytes = ({ pid }: TestServer): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;

/** The memory of the process without garbage. */
const heldMegabytes = async (): Promise<number> => (await server.measure(true)).heapBytes / 1e6;

/** Connections to a port of ours that their clients have closed, and the server has not. */
const halfClosed = (port: number): number => {
  const [FIN_WAIT1, FIN_WAIT2] = ["04", "05"];
  const rows = fs.readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
  return rows.filter((row) => {
    const [, , remote, state] = row.trim().split(/\s+/);
    return Number.parseInt(remote?.split(":")[1] ?? "", 16) === port && (state === FIN_WAIT1 || state === FIN_WAIT2);
  }).length;
};

/**
 * Another organization's query and run, again and again until it is told to stop: none takes ten times as long as is promised, 250 ms
 * and 1 s.
 */
async function startCanary(): Promise<{ stop(): Promise<void> }> {
  const agentId = await publish(server, "echo", neighbour);
  const longest = { query: 0, run: 0 };
  const timed = async (what: "query" | "run", query: string): Promise<void> => {
    const since = performance.now();
    const data = await server.data(query, {}, neighbour.apiKey);
    longest[what] = Math.max(longest[what], performance.now() - since);
    if (what === "run") expect(data.runAgent.status).toBe("completed");
  };
  const stopping = new AbortController();
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await timed("query", "{ agents { id } }");
      await timed("run", `mutation { runAgent(input: {agentId: "${agentId}", input: {a: 1}, wait: 30}) { status } }`);
      await sleep(200);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await loop;
      expectInTime(longest.query, 10 * 250);
      expectInTime(longest.run, 10 * 1_000);
    },
  };
}

async function untilAllEnd(agentId: string): Promise<Data[]> {
  const of = (status: string): string =>
    `{ runs(filter: {agentId: "${agentId}", status: [${status}]}, first: 200) { nodes { id status error { type detail } } } }`;
  await eventually(async () => {
    const { runs } = await server.data(of("pending, running, paused"));
    if (runs.nodes.length > 0) await sleep(200);
    return runs.nodes.length === 0;
  }, 240_000);
  return (await server.data(of("completed, failed, cancelled"))).runs.nodes;
}

/** A task that hangs at a door and needs nothing of what came before it. */
const holdAt = ({ url }: Door): string =>
  `hold: {input: {from: '\${ null }'}, call: http, with: {method: get, endpoint: '${url}'}, output: {as: {done: true}}}`;
/** Nobody else comes, as what comes next waits for memory: without a bound the process would have run out of it by then. */
async function untilStill(door: Door): Promise<void> {
  for (let before = -1, still = 0; still < 10; await sleep(100)) {
    still = door.waiting() === before ? still + 1 : 0;
    before = door.waiting();
  }
}

const HANGING = scaled({ whole: 400, part: 80 });

test(`${HANGING} runs of 1 MB each that hang in a call all complete within a heap of ${HEAP_MB} MB`, async () => {
  await using door = await startDoor();
  const canary = await startCanary();
  const agentId = await agentOf(
    server,
    `
do:
- result: {set: {x: '\${ .x + "y" }'}}
- ${holdAt(door)}
`,
  );
  const x = "x".repeat(500_000);
  let left = HANGING;
  const starter = async (): Promise<void> => {
    while (left-- > 0) await start(server, agentId, { x });
  };
  const before = await heldMegabytes();
  await Promise.all(Array.from({ length: 8 }, starter));
  await untilStill(door);
  expect((await heldMegabytes()) - before).toBeLessThan(HELD_MB);
  door.open();
  const ended = await untilAllEnd(agentId);
  expect(new Set(ended.map(({ status, error }) => error?.detail ?? status))).toEqual(new Set(["completed"]));
  await canary.stop();
  expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
});

/** In the part the items of the calls below stand for these. */
const SPREAD = scaled({ whole: [60], part: [] });

test.for(SPREAD)(
  "%i runs of an `each` with 36 items of 200 kB that then hang in calls all complete within that heap",
  async (runs) => {
    await using door = await startDoor();
    const canary = await startCanary();
    const agentId = await agentOf(
      server,
      `
do:
- spread:
    call: each:1.0.0@default
    with:
      in: '\${ [range(36)] }'
      item: number
      concurrency: 36
      do:
      - big: {set: {x: '\${ $workflow.input.x + "y" }'}}
      - ${holdAt(door)}
    output: {as: '\${ length }'}
`,
    );
    for (let count = 0; count < runs; count++) await start(server, agentId, { x: "x".repeat(200_000) });
    await untilStill(door);
    door.open();
    const ended = await untilAllEnd(agentId);
    expect(ended.map(({ status, error }) => error?.detail ?? status)).toEqual(Array(runs).fill("completed"));
    await canary.stop();
    expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
  },
);

const CALLING = scaled({ whole: 42, part: 20 });

test(`${CALLING} runs whose 6 calls each are answered at once, with 1.7 MB as values, all complete within it, and call once`, async () => {
  await using gate = await startDoor();
  await using door = await startDoor(JSON.stringify(Array.from({ length: 28_000 }, () => ({}))));
  const canary = await startCanary();
  const agentId = await agentOf(
    server,
    `
do:
- spread:
    call: each:1.0.0@default
    with:
      in: '\${ [range(6)] }'
      item: number
      concurrency: 6
      do:
      - ask: {call: http, with: {method: get, endpoint: '${door.url}'}}
      - ${holdAt(gate)}
    output: {as: '\${ length }'}
`,
  );
  for (let count = 0; count < CALLING; count++) await start(server, agentId, {});
  await eventually(() => door.waiting() === 6 * CALLING, 60_000);
  door.open();
  await untilStill(gate);
  gate.open();
  const ended = await untilAllEnd(agentId);
  expect(ended.map(({ status, error }) => error?.detail ?? status)).toEqual(Array(CALLING).fill("completed"));
  await canary.stop();
  expect(door.calls()).toBe(6 * CALLING);
  expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
});

/** Few of them are green without a bound too. */
const EVALUATED = scaled({ whole: [100], part: [] });

test.for(EVALUATED)("2 runs of %i items each that jq evaluates on 1.2 MB both complete within it", async (items) => {
  const canary = await startCanary();
  const agentId = await agentOf(
    server,
    `
do:
- spread:
    call: each:1.0.0@default
    with:
      in: '\${ [range(${items})] }'
      item: number
      concurrency: ${items}
      do: [{ask: {input: {from: '\${ $workflow.input }'}, set: {x: '\${ [$workflow.input.x, .x] | map(utf8bytelength) }'}}}]
    output: {as: '\${ length }'}
`,
  );
  for (let count = 0; count < 2; count++) await start(server, agentId, { x: "x".repeat(600_000) });
  const ended = await untilAllEnd(agentId);
  expect(ended.map(({ status, error }) => error?.detail ?? status)).toEqual(Array(2).fill("completed"));
  await canary.stop();
});

/** The same. */
const PARENTS = scaled({ whole: [20], part: [] });

test.for(PARENTS)(
  "%i runs of 30 children with inputs and outputs of 200 kB all complete within it",
  async (parents) => {
    const canary = await startCanary();
    const child = await agentOf(
      server,
      "do: [{pause: {wait: PT0.9S}}, {done: {set: {x: '${ $workflow.input.x + \"z\" }'}}}]",
      "child",
    );
    const parent = await agentOf(
      server,
      `
do:
- spread:
    call: each:1.0.0@default
    with:
      in: '\${ [range(30)] }'
      item: number
      concurrency: 100
      do: [{one: {run: {workflow: {namespace: test, name: child, version: '1.0.0', input: {x: '\${ $workflow.input.x + "y" }'}}}}}]
    output: {as: '\${ length }'}
`,
    );
    for (let count = 0; count < parents; count++) await start(server, parent, { x: "x".repeat(200_000) });
    const ended = await untilAllEnd(parent);
    expect(ended.map(({ status, error }) => error?.detail ?? status)).toEqual(Array(parents).fill("completed"));
    await canary.stop();
    expect(await untilAllEnd(child)).toHaveLength(Math.min(200, 30 * parents));
    expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
  },
);

describe("starts of 600 kB that wait for the database, 5 MB each as values,", () => {
  const LOCK = "begin; lock table runs in access exclusive mode";
  const STARTS = 60;
  let body: string;
  beforeAll(async () => {
    const agentId = await agentOf(server, "do: [{one: {set: {a: 1}}}]");
    const input = { list: Array.from({ length: 70_000 }, () => ({})), text: "x".repeat(390_000) };
    const query = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id } }";
    body = JSON.stringify({ query, variables: { input: { agentId, input } } });
  });

  const post = async () => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${server.world.apiKey}` };
    const response = await fetch(`${server.url}/graphql`, { method: "POST", headers, body });
    return { status: response.status, ...(await response.json()) };
  };

  test(`${STARTS} at once, are taken as there is room for them`, async () => {
    const database = await connectTo(server);
    await database.query(LOCK);
    const answers = Array.from({ length: STARTS }, post);
    await eventually(async () => {
      const settled = await Promise.all(answers.map((answer) => Promise.race([answer, sleep(1)])));
      return settled.filter((answer) => answer?.status === 503).length > STARTS - 10;
    }, 60_000);
    expect(await server.data("{ me { id } }", {}, neighbour.apiKey)).toMatchObject({ me: {} });
    await database.end();
    const all = await Promise.all(answers);
    for (const { status, data, errors } of all) {
      if (status === 200) expect(data.runAgent.id).toMatch(/^run_/);
      else expect(errors).toMatchObject([{ extensions: { code: "UNAVAILABLE", retryAfter: 1 } }]);
    }
    expect(all.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
  });

  test("hold their room also when their clients have gone, until they have run", async () => {
    const database = await connectTo(server);
    const count = async (): Promise<number> =>
      Number((await database.query("select count(*) from runs")).rows[0].count);
    const before = await count();
    await database.query(LOCK);
    const { port } = new URL(server.url);
    for (let sent = 0; sent < STARTS; sent++) {
      const socket = net.connect(Number(port), "127.0.0.1").on("error", () => {});
      const head = `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.world.apiKey}\r\n`;
      socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      await new Promise((resolve) => socket.write("", resolve));
      socket.destroy();
      await once(socket, "close");
    }
    // The server has read what they sent, and that they went. After 60 s the kernel forgets them by itself.
    await eventually(() => halfClosed(Number(port)) === 0, 30_000);
    expect(await post()).toMatchObject({ status: 503, errors: [{ extensions: { code: "UNAVAILABLE" } }] });
    expect(server.log()).not.toContain("could not serve a request");
    await database.query("commit");
    await eventually(async () => (await post()).status === 200);
    expect((await count()) - before).toBeLessThan(8);
    await database.end();
    expect(peakMegabytes(server)).toBeLessThan(MAX_MB);
  });
});

test("a run that needs more memory than the process can give fails, and says so", async () => {
  const agentId = await agentOf(
    server,
    `
do:
- loop:
    for: {in: '\${ [range(60)] }', each: number}
    do: [{big: {set: {x: '\${ $workflow.input.x + "y" }'}}}]
`,
  );
  const id = await start(server, agentId, { x: "x".repeat(600_000) });
  const [run] = await untilAllEnd(agentId);
  expect(run).toMatchObject({
    id,
    status: "failed",
    error: { detail: expect.stringMatching(/MB of memory, more than this server can give one run/) },
  });
});

const TASKS = scaled({ whole: 1_000, part: 400 });

test(`${TASKS} open tasks of /mcp cost rows alone, and are there after kill -9`, async () => {
  await publish(server, "approve");
  const token = server.world.apiKey;
  const open = async (): Promise<string> => {
    const { body } = await askWithTasks(server, token, "tools/call", { name: "test_approve", arguments: {} });
    expect(body.result).toMatchObject({ resultType: "task", status: "input_required" });
    return body.result.taskId;
  };
  const openMany = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 20 }, open))));
    return ids;
  };
  // Loads and compiles what is needed at first.
  const warm = await openMany(100);
  const before = await heldMegabytes();
  const ids = await openMany(TASKS);
  const headers = { authorization: `Bearer ${token}` };
  const figures = await eventually(async () => {
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    return /^autograph_runs_in_memory 0$/m.test(text) && text;
  });
  expect(figures).toMatch(/^autograph_run_places_taken 0$/m);
  // A run in memory takes ten times as much.
  expect((await heldMegabytes()) - before).toBeLessThan(4);
  await server.kill();
  await server.restart();
  const get = async (taskId: string): Promise<Data> =>
    (await askWithTasks(server, token, "tasks/get", { taskId })).body.result;
  const database = await connectTo(server);
  const { rows } = await database.query("select count(*)::int from runs where status = 'paused'");
  await database.end();
  expect(rows[0].count).toBe(warm.length + ids.length);
  const [first, second] = [ids[0]!, ids.at(-1)!];
  const { inputRequests } = await get(first);
  const inputResponses = {
    [Object.keys(inputRequests)[0]!]: { action: "accept", content: { costCentre: "office" } },
  };
  await askWithTasks(server, token, "tasks/update", { taskId: first, inputResponses });
  await until(server, first, "completed");
  await askWithTasks(server, token, "tasks/cancel", { taskId: second });
  expect(await get(second)).toMatchObject({ status: "cancelled" });
});
