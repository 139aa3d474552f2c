/**
 * Ten thousand WebSockets of ten organizations that are signed in and silent: what one holds, what all cost while they are pinged and
 * their credentials are checked, and how long another organization's query takes beside them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { probe } from "./overload.ts";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { memoryOf, nanosecondsOf } from "./processes.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { startSubscribers } from "./subscribers-client.ts";
import { checkOpenFiles } from "./subscribers.ts";
import { makeWorld, runToResult, type World } from "./world.ts";

const ORGANIZATIONS = 10;
const PROCESSES = 2;
/** Two rounds of pings, and seven of credentials. */
const FULL = { sockets: 10_000, ms: 30_000 };
const QUICK = { sockets: 2_000, ms: 15_000 };
/** Until V8 has collected what the connecting left behind. */
const SETTLE_MS = 5_000;
const WARM_UP_REQUESTS = 2_000;

export async function measureWebSockets(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  checkOpenFiles(effort.sockets);
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using stack = new AsyncDisposableStack();
  const clients = Array.from({ length: PROCESSES }, () => stack.use(startSubscribers()));
  const worlds: World[] = [];
  while (worlds.length < ORGANIZATIONS + 1) worlds.push(await makeWorld(server, sinkUrl));
  const [other, ...owners] = worlds as [World, ...World[]];
  await generator.run({ ...runToResult(server, other, "three"), connections: 16, requests: WARM_UP_REQUESTS });
  const { url } = server;
  const open = ({ apiKey }: World, sockets: number): Promise<unknown> =>
    Promise.all(clients.map((client) => client.send("connect", { url, apiKey, sockets: sockets / PROCESSES })));
  // The first sockets load and compile code that stays.
  await open(owners[0]!, 200);
  await Promise.all(clients.map((client) => client.send("close", {})));
  await sleep(SETTLE_MS);

  const roots = [server.child.pid!];
  const without = await watch(server, other, effort.ms);
  const before = memoryOf(roots).node;
  for (const owner of owners) await open(owner, effort.sockets / ORGANIZATIONS);
  await sleep(SETTLE_MS);
  const each = ((memoryOf(roots).node - before) * 1024) / effort.sockets;
  const beside = await watch(server, other, effort.ms);
  const of = `${effort.sockets.toLocaleString("en")} idle WebSockets`;
  const figures: Figure[] = [
    { figure: `${of}: memory of the server for one`, unit: "kB", ours: each, aim: { most: 60 } },
    { figure: `${of}: the server's CPU, of one processor`, unit: "%", ours: beside.cpu },
    { figure: "none: the same", unit: "%", ours: without.cpu },
    { figure: `${of}: another organization's query, p50`, unit: "ms", ours: beside.p50Ms },
    { figure: `${of}: another organization's query, longest`, unit: "ms", ours: beside.longestMs, aim: { most: 250 } },
  ];
  const details = { websockets: { each, without, beside } };
  if (!isQuick) writeResult(`websockets-${today()}`, { ...machine(), figures, details });
  return { figures, details };
}

/** For so long, while another organization asks. */
async function watch(server: Server, world: World, ms: number): Promise<Record<"cpu" | "p50Ms" | "longestMs", number>> {
  const roots = [server.child.pid!];
  const since = nanosecondsOf(roots);
  const began = performance.now();
  const asked = await probe(server.url, world, "{ me { name } }", AbortSignal.timeout(ms));
  if (asked.refused > 0) throw new Error(`${asked.refused} queries were refused`);
  const cpu = ((nanosecondsOf(roots) - since) / 1e6 / (performance.now() - began)) * 100;
  const sorted = asked.ms.toSorted((a, b) => a - b);
  return { cpu, p50Ms: sorted[sorted.length >> 1]!, longestMs: sorted.at(-1)! };
}
