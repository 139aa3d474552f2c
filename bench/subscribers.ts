/** The figures of subscribers: 10,000 on 100 runs over WebSocket, and 1,000 on one run that changes all the time. */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { cpuOf, memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { startClient, type Answers, type Client, type Commands, type Subscriber } from "./subscribers-client.ts";
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

type Subject = { server: Server; world: World & { agents: Record<"approve", string> }; clients: Client[] };

export async function measureSubscribers(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  checkOpenFiles(effort.subscribers);
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using stack = new AsyncDisposableStack();
  const clients = Array.from({ length: PROCESSES }, () => stack.use(startClient()));
  const subject: Subject = { server, world: (await makeWorld(server, sinkUrl)) as Subject["world"], clients };
  await generator.run({ ...runToResult(server, subject.world, "three"), connections: 16, requests: 2_000 });
  // Before anything is measured: what the first sockets load and compile stays.
  await onManyRuns(subject, { ...effort, subscribers: 200, runs: 10 }, 1);
  const single = await onManyRuns(subject, effort, 1);
  const shared = await onManyRuns(subject, effort, PER_SOCKET);
  const one = await onOneRun(subject, effort.onOne);
  return {
    figures: [...single.figures, ...shared.figures, ...one.figures],
    details: { subscribers: { single: single.details, shared: shared.details, one: one.details } },
  };
}

/** Node lifts its own soft limit to the hard one. */
function checkOpenFiles(sockets: number): void {
  const most = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(fs.readFileSync("/proc/self/limits", "utf8"))?.[1]);
  if (most < sockets + 500) throw new Error(`${sockets} sockets need more open files than ${most}: raise ulimit -Hn`);
}

const ask = <Name extends keyof Commands>(
  clients: Client[],
  name: Name,
  command: Commands[Name],
): Promise<Answers[Name][]> => Promise.all(clients.map((client) => client.send(name, command)));

type Part = { figures: Figure[]; details: Record<string, unknown> };

/** The runs wait for a person until all have subscribed; then each is approved and ends. */
async function onManyRuns({ server, world, clients }: Subject, effort: Effort, perSocket: number): Promise<Part> {
  const { subscribers: count } = effort;
  const runs = await startPaused(server, world, effort.runs);
  const sockets = count / perSocket / clients.length;
  const before = memoryOf([server.child.pid!]).node;
  await ask(clients, "connect", { url: server.url, apiKey: world.apiKey, sockets });
  const subscribed = await ask(clients, "subscribe", { runs: runs.map(({ id }) => id), perSocket });
  const firstMs = subscribed.flatMap((answer) => answer.firstMs);
  await sleep(SETTLE_MS);
  const during = memoryOf([server.child.pid!]).node;
  const cpuBefore = cpuOf([server.child.pid!]).node;
  const decidedAt = await approveAll(server, world, runs);
  const finished = await ask(clients, "finish", { timeoutMs: FINISH_TIMEOUT_MS });
  const cpuMs = cpuOf([server.child.pid!]).node - cpuBefore;
  const atEnd = memoryOf([server.child.pid!]).node;
  const all = finished.flatMap((answer) => answer.subscribers);
  await ask(clients, "close", {});
  await sleep(SETTLE_MS);
  const after = memoryOf([server.child.pid!]).node;
  const kilobytes = (memory: number): number => ((memory - before) * 1024) / count;
  const lateMs = all.map(({ run, lastAt }) => lastAt - decidedAt.get(run)!);
  const events = all.reduce((sum, one) => sum + one.events, 0);
  const of = `${count.toLocaleString("en")} subscribers on ${effort.runs} runs, ${perSocket === 1 ? "one" : perSocket} a socket`;
  return {
    figures: [
      { figure: `${of}: final states, in order`, unit: "", ours: ended(all, "completed"), aim: { least: count } },
      { figure: `${of}: first event, p50`, unit: "ms", ours: at(firstMs, 0.5), aim: FIRST_EVENT },
      { figure: `${of}: first event, p99`, unit: "ms", ours: at(firstMs, 0.99) },
      { figure: `${of}: final state after the decision, p50`, unit: "ms", ours: at(lateMs, 0.5) },
      { figure: `${of}: final state after the decision, last`, unit: "ms", ours: at(lateMs, 1) },
      { figure: `${of}: memory of the server a subscriber`, unit: "kB", ours: kilobytes(during), aim: MEMORY },
      { figure: `${of}: the same after the last event`, unit: "kB", ours: kilobytes(atEnd), aim: MEMORY },
    ],
    details: {
      before,
      during,
      atEnd,
      after,
      cpuMs,
      events,
      lateMs: [0.5, 0.9, 0.99, 1].map((share) => at(lateMs, share)),
    },
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
      { figure: `${of}: final states, in order`, unit: "", ours: ended(all, "completed"), aim: { least: count } },
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

const ended = (all: Subscriber[], status: string): number =>
  all.filter((one) => one.status === status && one.isInOrder && one.isComplete).length;

function at(numbers: number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
