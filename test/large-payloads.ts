/**
 * Ways in which one organization can use large payloads, and the times of another organization beside it: for `test/long/` and for
 * `npm run bench -- --only neighbours`. Each case starts as much as a test or a bench wants, all at once.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Data } from "./client.ts";

/** One organization with a project; `data` asks again when there is too much to do, and fails on any other error. */
export type Party = {
  data(query: string, variables?: Record<string, unknown>): Promise<Data>;
  projectId: string;
  handle: string;
};

/** An origin has 256 connections at most. */
const ORIGINS = 8;

/** Answers `/hang` when it is opened, `/large` with 1 MB. */
export type LargeDoor = { ports: number[]; hanging(): number; answered(): number; open(): void } & AsyncDisposable;

export async function startLargeDoor(): Promise<LargeDoor> {
  const waiting = new Set<ServerResponse>();
  let isOpen = false;
  let answered = 0;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume();
    if (request.url === "/large") {
      answered++;
      response.setHeader("content-type", "application/json").end(LARGE_ANSWER);
    } else if (isOpen) response.end();
    else waiting.add(response.on("close", () => waiting.delete(response)));
  };
  const servers = Array.from({ length: ORIGINS }, () => createServer(answer).listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  return {
    ports: servers.map((server) => (server.address() as AddressInfo).port),
    hanging: () => waiting.size,
    answered: () => answered,
    open: () => {
      isOpen = true;
      for (const response of waiting) response.end();
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

const PUBLISH = "mutation($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
const START = "mutation($input: RunAgentInput!) { runAgent(input: $input) { id status } }";
const CREATE_TRIGGER = "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id url } }";
const PUBLISH_EVENT = "mutation($input: PublishEventInput!) { publishEvent(input: $input) { id } }";
const VALIDATE =
  "query($definition: String!, $projectId: ID) { validateDefinition(definition: $definition, projectId: $projectId) { valid } }";
const SAVE_DRAFT = "mutation($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }";
const ATTEMPTS = `query($id: ID!, $after: String) { run(id: $id) { stepsConnection(first: 3, after: $after) {
  nodes { attempts(first: 990) { status error { title } } } pageInfo { endCursor } } } }`;
const OPEN = "{ runs(filter: {status: [pending, running]}, first: 1) { nodes { id } } }";

const definitionOf = ({ handle }: Party, name: string, body: string): string =>
  `document: {dsl: '1.0.3', namespace: ${handle}, name: ${name}, version: '1.0.0'}\n${body}`;

async function publishOf(party: Party, name: string, body: string): Promise<string> {
  const input = { projectId: party.projectId, definition: definitionOf(party, name, body) };
  return (await party.data(PUBLISH, { input })).publishAgent.id;
}

async function posted(url: string, body: string): Promise<void> {
  for (;;) {
    const { status } = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    if (status < 300) return;
    if (status !== 503) throw new Error(`the webhook answered ${status}`);
    await sleep(200);
  }
}

const startOf = async ({ data }: Party, agentId: string, input: object = {}, wait = 0): Promise<Data> =>
  (await data(START, { input: { agentId, input, ...(wait > 0 && { wait }) } })).runAgent;

/** Does `work` this many times, a few at a time: more than a client would have open. */
async function repeat(times: number, work: (index: number) => Promise<unknown>, atOnce = 8): Promise<void> {
  let next = 0;
  const line = async (): Promise<void> => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(times, atOnce) }, line));
}

const isIdle = async ({ data }: Party): Promise<boolean> => (await data(OPEN)).runs.nodes.length === 0;

async function untilIdle(party: Party): Promise<void> {
  while (!(await isIdle(party))) await sleep(200);
}

/** An API's answer: a list of records. */
const recordsOf = (bytes: number): object[] => {
  const records: object[] = [];
  let left = bytes;
  for (let n = 1; left > 0; n++) {
    const record = {
      id: n * 7_919,
      name: `Customer ${n}`,
      email: `customer-${n}@example.org`,
      tags: ["a", `t${n % 97}`],
      open: n % 3 === 0,
    };
    records.push(record);
    left -= JSON.stringify(record).length + 1;
  }
  return records;
};

/** Nearly the largest input there may be, and nearly the largest answer. */
const LARGE = recordsOf(600_000);
export const LARGE_ANSWER = JSON.stringify(recordsOf(1_000_000));

const eachOf = (items: number, tasks: string): string =>
  `do: [{all: {call: each:1.0.0@default, with: {in: '\${ [range(${items})] }', item: n, concurrency: ${items}, do: [${tasks}]}, output: {as: '\${ length }'}}}]`;

/** Each item calls another origin. */
const urlOf = ({ ports }: LargeDoor, path: string): string =>
  `\${ "http://127.0.0.1:\\([${ports.join(", ")}][$index % ${ORIGINS}])/${path}" }`;

const hang = (door: LargeDoor): string =>
  `{hold: {input: {from: '\${ null }'}, call: http, with: {method: post, endpoint: '${urlOf(door, "hang")}'}, output: {as: '\${ null }'}}}`;

/** Resolves when it is over: nothing of it is left to do, or all of it hangs. `scale`: 1 is as much as the bench does. */
type Case = { what: string; flood(party: Party, door: LargeDoor, scale: number): Promise<void> };

const times = (count: number, scale: number): number => Math.max(1, Math.round(count * scale));

export const CASES = {
  items: {
    what: "20 runs of an `each` of 100 items of 600 kB that then hang in calls",
    async flood(party, door, scale) {
      const body = eachOf(100, `{make: {set: {x: '\${ $workflow.input.x }'}}}, ${hang(door)}`);
      const agentId = await publishOf(party, "items", body);
      await repeat(times(20, scale), () => startOf(party, agentId, { x: LARGE }));
      await untilStill(door);
    },
  },
  answers: {
    what: "20 runs of 60 calls that are answered with 1 MB",
    async flood(party, door, scale) {
      const call = `{ask: {call: http, with: {method: get, endpoint: '${urlOf(door, "large")}'}}}`;
      const agentId = await publishOf(party, "answers", eachOf(60, call));
      await repeat(times(20, scale), () => startOf(party, agentId));
      await untilIdle(party);
    },
  },
  children: {
    what: "15 runs with 100 children of 600 kB",
    async flood(party, _door, scale) {
      await publishOf(party, "child", "do: [{only: {set: {done: true}}}]");
      const child = `{start: {run: {workflow: {namespace: ${party.handle}, name: child, version: '1.0.0', input: {x: '\${ $workflow.input.x }'}}}}}`;
      const agentId = await publishOf(party, "children", eachOf(100, child));
      await repeat(times(15, scale), () => startOf(party, agentId, { x: LARGE }));
      await untilIdle(party);
    },
  },
  attempts: {
    what: "25 branches with 990 tries of 2 kB, and six who read them",
    async flood(party, _door, scale) {
      const tries = times(990, Math.min(1, scale * 2));
      const type = "https://serverlessworkflow.io/spec/1.0.0/errors/runtime";
      const tried = `{t: {try: [{r: {raise: {error: {type: '${type}', status: 500, title: '\${ $workflow.input.x }'}}}}], catch: {retry: {limit: {attempt: {count: ${tries}}}}, do: [{after: {set: {a: 1}}}]}}}`;
      const agentId = await publishOf(party, "attempts", eachOf(25, tried));
      const { id } = await startOf(party, agentId, { x: "x".repeat(2_000) }, 30);
      await untilIdle(party);
      await repeat(6, async () => {
        for (let after: string | null = null, page = 0; page < 9; page++) {
          after = (await party.data(ATTEMPTS, { id, after })).run.stepsConnection.pageInfo.endCursor;
        }
      });
    },
  },
  inputs: {
    what: "200 runs with an input of 600 kB, which is their output",
    async flood(party, _door, scale) {
      const agentId = await publishOf(party, "inputs", "do: [{echo: {set: '${ . }'}}]");
      await repeat(times(200, scale), () => startOf(party, agentId, { x: LARGE }, 30));
      await untilIdle(party);
    },
  },
  approvals: {
    what: "10 runs that ask 50 questions with a context of 600 kB",
    async flood(party, _door, scale) {
      const ask =
        "{ask: {call: approval:1.0.0@default, with: {question: Now?, context: '${ $workflow.input.x }', timeout: P1D}}}";
      const agentId = await publishOf(party, "approvals", eachOf(50, ask));
      await repeat(times(10, scale), () => startOf(party, agentId, { x: LARGE }));
      await untilIdle(party);
    },
  },
  webhooks: {
    what: "200 calls of a webhook with 1 MB",
    async flood(party, _door, scale) {
      const agentId = await publishOf(party, "hooked", "do: [{one: {set: {a: 1}}}]");
      const input = {
        agentId,
        name: "hook",
        trigger: { type: "webhook" },
        policy: { mapping: "{n: (.records | length)}" },
      };
      const { createTrigger } = await party.data(CREATE_TRIGGER, { input });
      const body = JSON.stringify({ records: JSON.parse(LARGE_ANSWER) as unknown });
      await repeat(times(200, scale), () => posted(createTrigger.url, body));
      await untilIdle(party);
    },
  },
  events: {
    what: "500 events with 60 kB, of which each starts a run",
    async flood(party, _door, scale) {
      const agentId = await publishOf(party, "told", "do: [{one: {set: '${ . }'}}]");
      const trigger = { type: "event", source: "shop", event: "order.placed" };
      await party.data(CREATE_TRIGGER, { input: { agentId, name: "on", trigger } });
      const data = { records: LARGE.slice(0, 550) };
      await repeat(times(500, scale), (index) =>
        party.data(PUBLISH_EVENT, { input: { source: "shop", event: "order.placed", id: String(index), data } }),
      );
      await untilIdle(party);
    },
  },
  definitions: {
    what: "60 definitions of 240 kB, each checked, saved as a draft and published",
    async flood(party, _door, scale) {
      const { projectId } = party;
      // A definition has at most 30,000 words and signs.
      const list = JSON.stringify(Array.from({ length: 24 }, (_, index) => `${index} ${"word ".repeat(2_000)}`));
      await repeat(times(60, scale), async (index) => {
        const body = `do: [{one: {set: {list: ${list}}}}]`;
        const definition = definitionOf(party, `large-${index}`, body);
        await party.data(VALIDATE, { definition, projectId });
        await party.data(SAVE_DRAFT, { input: { projectId, definition } });
        await publishOf(party, `large-${index}`, body);
      });
    },
  },
  outputs: {
    what: "eight who read six outputs of 600 kB, 100 times",
    async flood(party, _door, scale) {
      const agentId = await publishOf(party, "outputs", "do: [{echo: {set: '${ . }'}}]");
      await repeat(6, () => startOf(party, agentId, { x: LARGE }, 30));
      await repeat(times(100, scale), () => party.data("{ runs(first: 6) { nodes { id output } } }"));
    },
  },
} satisfies Record<string, Case>;
export type CaseName = keyof typeof CASES;

/** Nothing has come for five seconds. */
async function untilStill(door: LargeDoor): Promise<void> {
  for (let before = -1, still = 0; still < 25;) {
    await sleep(200);
    still = door.hanging() === before ? still + 1 : 0;
    before = door.hanging();
  }
}

export type Times = { run: number[]; wait: number[]; query: number[] };

/** Long enough that the waiting run is unloaded. */
const WAIT_MS = 1_200;
const PAUSE_MS = 20;

export type Neighbour = { start(): { stop(): Promise<Times> } };

/** Runs, waits and queries, each again and again until it is stopped. Returns how long each took in ms, a wait beyond its time. */
export async function createNeighbour(party: Party): Promise<Neighbour> {
  const run = await publishOf(party, "neighbour-run", "do: [{first: {set: {a: 0}}}, {after: {set: {a: 1}}}]");
  const wait = await publishOf(
    party,
    "neighbour-wait",
    `do: [{first: {wait: {milliseconds: ${WAIT_MS}}}}, {after: {set: {a: 1}}}]`,
  );
  const ended = async (agentId: string): Promise<void> => {
    const { status } = await startOf(party, agentId, {}, 30);
    if (status !== "completed") throw new Error(`the neighbour's run is ${status}`);
  };
  const start = (): { stop(): Promise<Times> } => {
    const taken: Times = { run: [], wait: [], query: [] };
    const over = new AbortController();
    const again = async (what: keyof Times, work: () => Promise<unknown>, usualMs = 0): Promise<void> => {
      while (!over.signal.aborted) {
        const since = performance.now();
        await work();
        taken[what].push(performance.now() - since - usualMs);
        await sleep(PAUSE_MS);
      }
    };
    const all = Promise.all([
      again("run", () => ended(run)),
      again("wait", () => ended(wait), WAIT_MS),
      again("query", () => party.data("{ agents { id } }")),
    ]);
    all.catch(() => {});
    return {
      stop: async () => {
        over.abort();
        await all;
        return taken;
      },
    };
  };
  return { start };
}

/** The 99th percentile. */
export const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(times.length * 0.99) - 1)] ?? 0;
