/** The figures of subscribers: 10,000 on 100 runs over WebSocket, and 1,000 on one run that changes all the time. */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { cpuOf, memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import {
  startSubscribers,
  type Answers,
  type Commands,
  type Subscriber,
  type SubscribersClient,
} from "./subscribers-client.ts";
import { graphql, makeWorld, runToResult, type World } from "./world.ts";

type Effort = { subscribers: number; runs: number; onOne: number };
const FULL: Effort = { subscribers: 10_000, runs: 100, onOne: 1_000 };
const QUICK: Effort = { subscribers: 1_000, runs: 20, onOne: 200 };
const PER_SOCKET = 100;
const PROCESSES = 2;
/** Until V8 has collected what the connecting left behind. */
const SETTLE_MS = 5_000;
const FINISH_TIMEOUT_MS = 60_000;
const FIRST_EVENT = { most: 50 };
const MEMORY = { most: 60 };

type Subject = { server: Server; world: World & { agents: Record<"approve", string> }; clients: SubscribersClient[] };

export async function measureSubscribers(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  checkOpenFiles(effort.subscribers);
  const withServer = async (work: (subject: Subject) => Promise<Part>): Promise<Part> => {
    using folder = temporaryFolder();
    await using server = await startServer({ folder: folder.path });
    await using stack = new AsyncDisposableStack();
    const clients = Array.from({ length: PROCESSES }, () => stack.use(startSubscribers()));
    const subject: Subject = { server, world: (await makeWorld(server, sinkUrl)) as Subject["world"], clients };
    await generator.run({ ...runToResult(server, subject.world, "three"), connections: 16, requests: 2_000 });
    // Before anything is measured: what the first sockets load and compile stays.
    await onManyRuns(subject, { ...effort, subscribers: 200, runs: 10 }, 1);
    return await work(subject);
  };
  // Each on a server of its own: what one has left to the garbage collector would be the next one's memory.
  const single = await withServer((subject) => onManyRuns(subject, effort, 1));
  const shared = await withServer((subject) => onManyRuns(subject, effort, PER_SOCKET));
  const one = await withServer((subject) => onOneRun(subject, effort.onOne));
  return {
    figures: [...single.figures, ...shared.figures, ...one.figures],
    details: { subscribers: { single: single.details, shared: shared.details, one: one.details } },
  };
}

/** Node lifts its own soft limit to the hard one. */
export function checkOpenFiles(sockets: number): void {
  const most = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(fs.readFileSync("/proc/self/limits", "utf8"))?.[1]);
  if (most < sockets + 500) throw new Error(`${sockets} sockets need more open files than ${most}: raise ulimit -Hn`);
}

const ask = <Name extends keyof Commands>(
  clients: SubscribersClient[],
  name: Name,
  command: Commands[Name],
): Promise<Answers[Name][]> => Promise.all(clients.map((client) => client.send(name, command)));

type Part = { figures: Figure[]; details: Record<string, unknown> };

type Seen = {
  all: Subscriber[];
  firstMs: number[];
  /** From each decision to the last state of its run. */
  lateMs: number[];
  /** The server's memory in MB: without subscribers, with all, when the last event was sent, when all are gone. */
  memory: Record<"before" | "during" | "atEnd" | "after", number>;
  cpuMs: number;
};

/** The runs wait for a person until all have subscribed; then each is approved and ends. */
async function onManyRuns(subject: Subject, effort: Effort, perSocket: number): Promise<Part> {
  const seen = await watchMany(subject, effort, perSocket);
  const { all, firstMs, lateMs, memory, cpuMs } = seen;
  const { subscribers: count, runs } = effort;
  const of = `${count.toLocaleString("en")} subscribers on ${runs} runs, ${perSocket === 1 ? "one" : perSocket} a socket`;
  const kilobytes = (megabytes: number): number => ((megabytes - memory.before) * 1024) / count;
  const events = all.reduce((sum, one) => sum + one.events, 0);
  return {
    figures: [
      { figure: `${of}: final states, in order`, unit: "", ours: completed(all), aim: { least: count } },
      { figure: `${of}: first event, p50`, unit: "ms", ours: at(firstMs, 0.5), aim: FIRST_EVENT },
      { figure: `${of}: first event, p99`, unit: "ms", ours: at(firstMs, 0.99) },
      { figure: `${of}: final state after the decision, p50`, unit: "ms", ours: at(lateMs, 0.5) },
      { figure: `${of}: final state after the decision, last`, unit: "ms", ours: at(lateMs, 1) },
      { figure: `${of}: memory of the server a subscriber`, unit: "kB", ours: kilobytes(memory.during), aim: MEMORY },
      { figure: `${of}: the same after the last event`, unit: "kB", ours: kilobytes(memory.atEnd), aim: MEMORY },
    ],
    details: { memory, cpuMs, events, lateMs: [0.5, 0.9, 0.99, 1].map((share) => at(lateMs, share)) },
  };
}

async function watchMany({ server, world, clients }: Subject, effort: Effort, perSocket: number): Promise<Seen> {
  const roots = [server.child.pid!];
  const runs = await startPaused(server, world, effort.runs);
  const sockets = effort.subscribers / perSocket / clients.length;
  const before = memoryOf(roots).node;
  await ask(clients, "connect", { url: server.url, apiKey: world.apiKey, sockets });
  const subscribed = await ask(clients, "subscribe", { runs: runs.map(({ id }) => id), perSocket });
  await sleep(SETTLE_MS);
  const during = memoryOf(roots).node;
  const cpuBefore = cpuOf(roots).node;
  const decidedAt = await approveAll(server, world, runs);
  const finished = await ask(clients, "finish", { timeoutMs: FINISH_TIMEOUT_MS });
  const cpuMs = cpuOf(roots).node - cpuBefore;
  const atEnd = memoryOf(roots).node;
  await ask(clients, "close", {});
  await sleep(SETTLE_MS);
  const all = finished.flatMap((answer) => answer.subscribers);
  return {
    all,
    firstMs: subscribed.flatMap((answer) => answer.firstMs),
    lateMs: all.map(({ run, lastAt }) => lastAt - decidedAt.get(run)!),
    memory: { before, during, atEnd, after: memoryOf(roots).node },
    cpuMs,
  };
}

type Paused = { id: string; approval: string };

async function startPaused(server: Server, world: Subject["world"], count: number): Promise<Paused[]> {
  const start = `mutation ($input: RunAgentInput!) {
    runAgent(input: $input) { id status approvals(first: 1) { nodes { id } } }
  }`;
  type Answer = { runAgent: { id: string; status: string; approvals: { nodes: { id: string }[] } } };
  const runs: Paused[] = [];
  for (let number = 0; number < count; number++) {
    const input = { agentId: world.agents.approve, input: {}, wait: 10 };
    const { runAgent } = await graphql<Answer>(server, world, start, { input });
    runs.push({ id: runAgent.id, approval: runAgent.approvals.nodes[0]!.id });
  }
  return runs;
}

/** When each decision was answered, in ms since 1970. */
async function approveAll(server: Server, world: World, runs: Paused[]): Promise<Map<string, number>> {
  const decide = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id status } }";
  const decided = new Map<string, number>();
  for (const { id, approval } of runs) {
    await graphql(server, world, decide, { input: { approvalId: approval, decision: "approve" } });
    decided.set(id, performance.timeOrigin + performance.now());
  }
  return decided;
}

/** The sandbox's `slow`: 30 steps of 100 ms. The sockets are open before the run begins. */
async function onOneRun({ server, world, clients }: Subject, count: number): Promise<Part> {
  await ask(clients, "connect", { url: server.url, apiKey: world.apiKey, sockets: count / clients.length });
  const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  type Started = { runAgent: { id: string } };
  const { runAgent } = await graphql<Started>(server, world, start, {
    input: { agentId: world.agents.slow, input: {} },
  });
  const cpuBefore = cpuOf([server.child.pid!]).node;
  const subscribed = await ask(clients, "subscribe", { runs: [runAgent.id], perSocket: 1 });
  const firstMs = subscribed.flatMap((answer) => answer.firstMs);
  const finished = await ask(clients, "finish", { timeoutMs: FINISH_TIMEOUT_MS });
  const cpuMs = cpuOf([server.child.pid!]).node - cpuBefore;
  const all = finished.flatMap((answer) => answer.subscribers);
  await ask(clients, "close", {});
  const { run } = await graphql<{ run: { finishedAt: string } }>(
    server,
    world,
    "query ($id: ID!) { run(id: $id) { finishedAt } }",
    { id: runAgent.id },
  );
  const lateMs = all.map(({ lastAt }) => lastAt - Date.parse(run.finishedAt));
  const events = all.map((one) => one.events);
  const of = `${count.toLocaleString("en")} subscribers on one run of 30 steps`;
  return {
    figures: [
      { figure: `${of}: final states, in order`, unit: "", ours: completed(all), aim: { least: count } },
      { figure: `${of}: events of each, p50`, unit: "", ours: at(events, 0.5) },
      { figure: `${of}: final state after the run's end, p50`, unit: "ms", ours: at(lateMs, 0.5) },
      { figure: `${of}: final state after the run's end, last`, unit: "ms", ours: at(lateMs, 1) },
    ],
    details: {
      cpuMs,
      events: events.reduce((sum, one) => sum + one, 0),
      firstMs: [at(firstMs, 0.5), at(firstMs, 0.99)],
    },
  };
}

const completed = (all: Subscriber[]): number =>
  all.filter(({ status, isInOrder, isComplete }) => status === "completed" && isInOrder && isComplete).length;

function at(numbers: number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
