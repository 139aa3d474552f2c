/** `--profile`: the server under `three` (or `call`), 16 at once, by V8's sampling profiler, summed by room, package and function. */
import fs from "node:fs";
import { SourceMap } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { markdown, short } from "./figures.ts";
import { startGenerator } from "./load.ts";
import { end, startServer, startSinkProcess, temporaryFolder } from "./launch.ts";
import { measure, type Sample } from "./measure.ts";
import { makeWorld, runToResult } from "./world.ts";

const WARM_UP = 5_000;
const LOAD_MS = 10_000;
const CONNECTIONS = 16;
const TOP = 20;
/** Rooms and packages below this share are one line. */
const SMALL = 0.01;

/** The format of `--cpu-prof`; times in µs of the monotonic clock. */
type CpuProfile = {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
  startTime: number;
};
type CallFrame = { functionName: string; url: string; lineNumber: number; columnNumber: number };
type Place = { name: string; group: string; file: string };

export type Agent = "three" | "call";

/** The summary as Markdown. */
export async function profile(agent: Agent): Promise<string> {
  using folder = temporaryFolder();
  const plain = await underLoad(agent, path.join(folder.path, "plain"), []);
  const flags = ["--cpu-prof", `--cpu-prof-dir=${folder.path}`];
  const profiled = await underLoad(agent, path.join(folder.path, "profiled"), flags);
  const file = fs.readdirSync(folder.path).find((name) => name.endsWith(".cpuprofile"))!;
  const profile = JSON.parse(fs.readFileSync(path.join(folder.path, file), "utf8")) as CpuProfile;
  return summaryOf(busyTimes(profile, profiled.from, profiled.to), plain.sample);
}

type UnderLoad = { sample: Sample; from: number; to: number };

/** `from` and `to` in µs of the monotonic clock. The profile is written at the server's end. */
async function underLoad(agent: Agent, folder: string, flags: string[]): Promise<UnderLoad> {
  fs.mkdirSync(folder, { mode: 0o711 });
  await using sink = await startSinkProcess();
  await using generator = startGenerator();
  await using server = await startServer({ folder, flags });
  const request = runToResult(server, await makeWorld(server, sink.url), agent);
  await generator.run({ ...request, connections: CONNECTIONS, requests: WARM_UP });
  const from = nowUs();
  const sample = await measure(generator, { request, roots: server.roots }, { connections: CONNECTIONS, ms: LOAD_MS });
  const to = nowUs();
  await end(server.child);
  return { sample, from, to };
}

const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Self time in µs by function, within the window, without idling. */
function busyTimes(
  { nodes, samples, timeDeltas, startTime }: CpuProfile,
  from: number,
  to: number,
): Map<Place, number> {
  const placeOf = placesOf(nodes);
  const times = new Map<Place, number>();
  let at = startTime;
  samples.forEach((id, index) => {
    const delta = timeDeltas[index]!;
    at += delta;
    const place = placeOf.get(id)!;
    if (at < from || at > to || place.name === "(idle)") return;
    times.set(place, (times.get(place) ?? 0) + delta);
  });
  return times;
}

/** One place for all nodes of the same function and group: what Node and V8 do is counted with the code that asked for it. */
function placesOf(nodes: CpuProfile["nodes"]): Map<number, Place> {
  const known = new Map<string, Place>();
  const places = new Map<number, Place>();
  const maps = new Map<string, SourceMap | undefined>();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const visit = (id: number, caller: string | undefined): void => {
    const { callFrame, children = [] } = byId.get(id)!;
    const name = callFrame.functionName || "(anonymous)";
    const source = sourceOf(callFrame, maps);
    const asked = codeOf(source) ?? caller;
    const group = GROUPS[name] ?? asked ?? groupOfNode(source);
    const key = `${group} ${source} ${name}`;
    let place = known.get(key);
    if (!place) known.set(key, (place = { name, group, file: shortFile(source) }));
    places.set(id, place);
    for (const child of children) visit(child, asked);
  };
  visit(nodes[0]!.id, undefined);
  return places;
}

const GROUPS: Record<string, string> = { "(garbage collector)": "garbage collection" };

/** The file that a function was written in: what is built are a few files made of all. */
function sourceOf({ url, lineNumber, columnNumber }: CallFrame, maps: Map<string, SourceMap | undefined>): string {
  if (!url.startsWith("file:")) return url;
  if (!maps.has(url)) maps.set(url, mapOf(`${fileURLToPath(url)}.map`));
  const entry = maps.get(url)?.findEntry(lineNumber, columnNumber);
  return entry !== undefined && "originalSource" in entry ? new URL(entry.originalSource, url).href : url;
}

const mapOf = (file: string): SourceMap | undefined =>
  fs.existsSync(file) ? new SourceMap(JSON.parse(fs.readFileSync(file, "utf8"))) : undefined;

/** The room or the package that a file belongs to. */
function codeOf(url: string): string | undefined {
  const own = /\/server\/src\/(?:(\w+)\/)?/.exec(url);
  if (own) return `our ${own[1] ?? "root"}/`;
  return /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
}

const groupOfNode = (url: string): string => `Node's ${/^node:(?:internal\/)?_?([a-z]+)/.exec(url)?.[1] ?? "own"}`;

const shortFile = (url: string): string =>
  url
    .replace(/^.*\/server\/src\//, "")
    .replace(/^.*\/node_modules\//, "")
    .replace(/^file:\/\//, "");

function summaryOf(times: Map<Place, number>, plain: Sample): string {
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  const share = (time: number): string => `${((time / total) * 100).toFixed(1)} %`;
  const perRun = (time: number): string => `${short((time / total) * plain.nodeMs * 1000)} µs`;
  const groups = new Map<string, number>();
  for (const [{ group }, time] of times) groups.set(group, (groups.get(group) ?? 0) + time);
  const small = [...groups].filter(([, time]) => time < total * SMALL);
  for (const [group] of small) groups.delete(group);
  if (small.length > 0)
    groups.set(
      `${small.length} others`,
      small.reduce((sum, [, time]) => sum + time, 0),
    );
  const byTime = <Key>(map: Map<Key, number>): [Key, number][] => [...map].toSorted((a, b) => b[1] - a[1]);
  const rooms = byTime(groups).map(([where, time]) => ({ where, "self time": share(time), "a run": perRun(time) }));
  const functions = byTime(times)
    .slice(0, TOP)
    .map(([{ name, file, group }, time]) => ({
      function: `\`${name}\``,
      where: file || group,
      "self time": share(time),
      "a run": perRun(time),
    }));
  return [
    `Without the profiler ${short(plain.rate)} runs/s; CPU a run ${short(plain.totalMs * 1000)} µs: Node ${short(plain.nodeMs * 1000)}, PostgreSQL ${short(plain.postgresMs * 1000)}.`,
    markdown(["where", "self time", "a run"], rooms),
    markdown(["function", "where", "self time", "a run"], functions),
  ].join("\n\n");
}
