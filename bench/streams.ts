/**
 * Texts that models write while people watch: runs that each stream 50 parts a second to a subscriber of their own, over
 * graphql-transport-ws with 50 subscriptions a socket. How late a part comes, from when the model wrote it until its subscriber has it,
 * and what it costs. Model and subscribers are processes of their own, on the same processors.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startFixed, startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Figure } from "./figures.ts";
import type { Generator } from "./load.ts";
import { cpuOf, memoryOf } from "./processes.ts";
import type { Measured } from "./speed.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { startStreamsClient, type Answers } from "./streams-client.ts";
import { connectModel, graphql, makeWorld, projectOf, publish, type World } from "./world.ts";

const FULL = { sizes: [8, 64, 128, 256, 512, 1_000], ms: 10_000 };
const QUICK = { sizes: [8, 64], ms: 4_000 };
/** Until all that the first parts load and compile is there. */
const WARM_UP_MS = 3_000;
const PER_SOCKET = 50;
const POLL_MS = 50;
const LATE = { most: 100 };
const IN_FLIGHT = 16;
/** How long the last parts may take. */
const LATE_MOST_MS = 60_000;

export type Subject = { server: Server; modelUrl: string; owners: Owner[] };
type Owner = { world: World; agentId: string };

export async function measureStreams(_generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const { sizes, ms } = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using model = await startFixed("streaming-model.ts", "0");
  await using server = await startServer({ folder: folder.path });
  const subject: Subject = { server, modelUrl: model.url, owners: [] };
  const figures: Figure[] = [];
  const details: Record<string, unknown> = {};
  for (const size of sizes) {
    await makeOwners(subject, Math.ceil(size / LIMITS.modelCallsAtOnceOwn), sinkUrl);
    const streamed = await streamTo(subject, size, ms);
    details[size] = streamed;
    figures.push(...figuresOf(size, streamed));
  }
  return { figures, details: { streams: details } };
}

export async function makeOwners(subject: Subject, count: number, sinkUrl: string): Promise<void> {
  const { server, modelUrl, owners } = subject;
  while (owners.length < count) {
    const world = await makeWorld(server, sinkUrl);
    const project = await projectOf(server, world);
    await connectModel(server, world, project, modelUrl);
    const ask = { call: "llm:1.0.0@default", with: { messages: [{ role: "user", content: "Where is it?" }] } };
    owners.push({ world, agentId: await publish(server, world, project, "writes", [{ ask }]) });
  }
}

type Streamed = Omit<Answers["take"], "late" | "cpuUs"> & {
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
  nodeUs: number;
  postgresUs: number;
  /** Processor time of the stand-in for the model, and of the subscribers. */
  modelUs: number;
  clientUs: number;
  /** The share of a processor. */
  busy: number;
  memoryKb: number;
  lost: number;
};

export async function streamTo(subject: Subject, size: number, ms: number): Promise<Streamed> {
  const { server, modelUrl, owners } = subject;
  const roots = server.roots();
  const memoryBefore = memoryOf(roots).node;
  const started = await Promise.all(
    owners.map(async (owner, index) => {
      const count = Math.ceil((size - index) / owners.length);
      return { apiKey: owner.world.apiKey, runs: await startRuns(server, owner, count) };
    }),
  );
  while ((await numberAt(`${modelUrl}/waiting`)) < size) await sleep(POLL_MS);
  await using client = startStreamsClient();
  await client.send("watch", { url: server.url, organizations: started, perSocket: PER_SOCKET });
  const written = numberAt(`${modelUrl}/begin?ms=${WARM_UP_MS + ms}`);
  await sleep(WARM_UP_MS);
  const warm = await client.send("take", {});
  const [before, begun] = [cpuOf(roots), performance.now()];
  const modelBefore = await numberAt(`${modelUrl}/cpu`);
  await sleep(ms - POLL_MS);
  const [during, over] = [cpuOf(roots), performance.now()];
  const memoryKb = ((memoryOf(roots).node - memoryBefore) * 1_024) / size;
  const all = await written;
  // Also what comes after the last part was written: it is the latest.
  const seen = await client.send("take", {});
  for (const end = performance.now() + LATE_MOST_MS; seen.ended < size && performance.now() < end; await sleep(POLL_MS))
    addTo(seen, await client.send("take", {}));
  const after = cpuOf(roots);
  const { late, cpuUs, ...counts } = seen;
  return {
    ...counts,
    gaps: warm.gaps + seen.gaps,
    p50Ms: at(late, seen.parts, 0.5),
    p99Ms: at(late, seen.parts, 0.99),
    longestMs: at(late, seen.parts, 1),
    nodeUs: ((after.node - before.node) * 1_000) / seen.parts,
    postgresUs: ((after.postgres - before.postgres) * 1_000) / seen.parts,
    modelUs: ((await numberAt(`${modelUrl}/cpu`)) - modelBefore) / seen.parts,
    clientUs: (cpuUs - warm.cpuUs) / seen.parts,
    busy: (during.node - before.node) / (over - begun),
    memoryKb,
    lost: all - warm.parts - seen.parts,
  };
}

function addTo(seen: Answers["take"], { late, parts, events, ended, gaps, cpuUs }: Answers["take"]): void {
  late.forEach((count, index) => (seen.late[index]! += count));
  seen.parts += parts;
  seen.events += events;
  seen.ended += ended;
  seen.gaps += gaps;
  seen.cpuUs = cpuUs;
}

const START = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";

async function startRuns(server: Server, { world, agentId }: Owner, count: number): Promise<string[]> {
  const ids: string[] = [];
  let left = count;
  const line = async (): Promise<void> => {
    while (left-- > 0) {
      const input = { agentId, input: {} };
      ids.push((await graphql<{ runAgent: { id: string } }>(server, world, START, { input })).runAgent.id);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, line));
  return ids;
}

const numberAt = async (url: string): Promise<number> => Number(await (await fetch(url)).text());

/** In ms. */
function at(late: Uint32Array, parts: number, share: number): number {
  let left = Math.ceil(parts * share);
  const index = late.findIndex((count) => (left -= count) <= 0);
  return index / 10;
}

function figuresOf(size: number, streamed: Streamed): Figure[] {
  const of = `${size.toLocaleString("en")} runs that stream 50 parts a second to a subscriber each`;
  return [
    { figure: `${of}: a part comes after, p50`, unit: "ms", ours: streamed.p50Ms },
    { figure: `${of}: a part comes after, p99`, unit: "ms", ours: streamed.p99Ms, aim: LATE },
    { figure: `${of}: CPU of Node a part`, unit: "µs", ours: streamed.nodeUs },
    { figure: `${of}: CPU of PostgreSQL a part`, unit: "µs", ours: streamed.postgresUs },
    { figure: `${of}: CPU of the model's stand-in a part`, unit: "µs", ours: streamed.modelUs },
    { figure: `${of}: CPU of the subscribers a part`, unit: "µs", ours: streamed.clientUs },
    { figure: `${of}: the server's CPU, of one processor`, unit: "%", ours: streamed.busy * 100 },
    { figure: `${of}: parts lost, or out of order`, unit: "", ours: streamed.lost + streamed.gaps, aim: { most: 0 } },
  ];
}
