/**
 * Three times as many runs as the server can do, for a minute, from one organization: how many it still does, what the others hear,
 * and how long another organization's query and the flooding one's own urgent ones take meanwhile.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { measure, type Sample } from "./measure.ts";
import { runOpenLoad, type OpenLoad, type OpenResult } from "./open-load.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, runToResult, type Request, type World } from "./world.ts";

const FULL = { peakMs: 8_000, ms: 60_000 };
const QUICK = { peakMs: 4_000, ms: 10_000 };
const TIMES = 3;
/** The rate with each is measured; the best is the peak. */
const CONNECTIONS = [16, 64];
const WARM_UP_REQUESTS = 4_000;
/** At least the number that waits at a time: what comes in half a second. */
const OPEN_CONNECTIONS = 4_000;
const PROBE_EVERY_MS = 50;

export async function measureOverload(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  const [world, neighbour] = [await makeWorld(server, sinkUrl), await makeWorld(server, sinkUrl)];
  const request = runToResult(server, world, "three");
  await generator.run({ ...request, connections: 16, requests: WARM_UP_REQUESTS });
  const target = { request, roots: server.roots };
  const peaks: Sample[] = [];
  for (const connections of CONNECTIONS)
    peaks.push(await measure(generator, target, { connections, ms: effort.peakMs }));
  const { rate: peak, nodeMs } = peaks.toSorted((a, b) => b.rate - a.rate)[0]!;

  const all = { server, world, neighbour, rate: TIMES * peak, ms: effort.ms };
  const impatient = await flood({ ...all, obeys: false }, request);
  const patient = await flood({ ...all, obeys: true }, request);
  const figures: Figure[] = [
    { figure: "peak: runs to their end", unit: "/s", ours: peak },
    { figure: "peak: Node's CPU for one", unit: "ms", ours: nodeMs },
    ...figuresOf(`clients that ask again at once, ${effort.ms / 1_000} s`, impatient, peak),
    ...figuresOf(`clients that wait as told, ${effort.ms / 1_000} s`, patient, peak),
  ];
  const details = { overload: { peaks, impatient: impatient.result, patient: patient.result } };
  if (!isQuick) writeResult(`overload-${today()}`, { ...machine(), figures, details });
  return { figures, details };
}

type Probed = { ms: number[]; refused: number };
type Flooded = { result: OpenResult; query: Probed; urgent: Probed };
type FloodOptions = { server: Server; world: World; neighbour: World } & Pick<OpenLoad, "rate" | "ms" | "obeys">;

async function flood({ server, world, neighbour, ...load }: FloodOptions, request: Request): Promise<Flooded> {
  const ending = new AbortController();
  const query = probe(server.url, neighbour, "{ me { name } }", ending.signal);
  const urgent = probe(server.url, world, "{ rateLimit { plan } }", ending.signal);
  const result = await runOpenLoad({ ...request, ...load, connections: OPEN_CONNECTIONS });
  ending.abort();
  return { result, query: await query, urgent: await urgent };
}

function figuresOf(of: string, { result, query, urgent }: Flooded, peak: number): Figure[] {
  const perSecond = (count: number): number => (count / result.ms) * 1_000;
  return [
    { figure: `${of}: wanted`, unit: "/s", ours: perSecond(result.sent + result.notSent) },
    { figure: `${of}: not sent, for want of an idle connection`, unit: "/s", ours: perSecond(result.notSent) },
    { figure: `${of}: answered`, unit: "/s", ours: perSecond(result.answered) },
    { figure: `${of}: answered, of the peak`, unit: "", ours: perSecond(result.answered) / peak, aim: { least: 0.9 } },
    { figure: `${of}: refused with 503 and Retry-After`, unit: "/s", ours: perSecond(result.refused) },
    { figure: `${of}: neither`, unit: "", ours: result.wrong, aim: { most: 0 } },
    { figure: `${of}: those answered, p50`, unit: "ms", ours: result.p50Ms },
    { figure: `${of}: those answered, p99`, unit: "ms", ours: result.p99Ms },
    { figure: `${of}: another organization's query, p99`, unit: "ms", ours: at(query.ms, 0.99), aim: { most: 250 } },
    { figure: `${of}: another organization's queries refused`, unit: "", ours: query.refused, aim: { most: 0 } },
    { figure: `${of}: its own urgent request, p99`, unit: "ms", ours: at(urgent.ms, 0.99) },
    { figure: `${of}: its own urgent requests refused`, unit: "", ours: urgent.refused, aim: { most: 0 } },
  ];
}

/** Asks again and again, one at a time. */
export async function probe(url: string, { apiKey }: World, query: string, signal: AbortSignal): Promise<Probed> {
  const probed: Probed = { ms: [], refused: 0 };
  while (!signal.aborted) {
    const since = performance.now();
    const { status } = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query }),
    }).then(async (response) => (await response.text(), response));
    probed.ms.push(performance.now() - since);
    if (status !== 200) probed.refused++;
    await sleep(PROBE_EVERY_MS);
  }
  return probed;
}

const at = (unsorted: number[], share: number): number =>
  unsorted.toSorted((a, b) => a - b)[Math.floor((unsorted.length - 1) * share)] ?? Number.NaN;
