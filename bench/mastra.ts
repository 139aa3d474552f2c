/**
 * Against Mastra (peers/mastra), in the same run: three trivial steps over HTTP to the result, on the same Node with the
 * same flags. It is installed here when it is missing; its packages are no part of the product.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { isInstalled } from "../tools/packages.js";
import type { Figure } from "./figures.ts";
import { end, SERVER_FLAGS, start, startServer, temporaryFolder } from "./launch.ts";
import type { Generator } from "./load.ts";
import { interleaved, type Sample, type Target } from "./measure.ts";
import type { Measured } from "./speed.ts";
import { makeWorld, runToResult, type Request } from "./world.ts";

const FOLDER = path.join(import.meta.dirname, "peers/mastra");
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const TOGETHER = 16;
const FULL = { warmUp: 4_000, rounds: 3, togetherMs: 5_000, aloneMs: 3_000 };
const QUICK = { warmUp: 1_000, rounds: 1, togetherMs: 2_000, aloneMs: 1_000 };
const RATE = { least: 3 };
const ALONE = { most: 1 };

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`);

export async function measureMastra(generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const missing = await ensureInstalled();
  if (missing !== undefined) {
    say(`without Mastra, which could not be installed: ${missing}`);
    return { figures: [], details: { mastra: { missing } } };
  }
  const { warmUp, rounds, togetherMs, aloneMs } = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  await using mastra = await startMastra(folder.path, "asItIs");
  await using synced = await startMastra(folder.path, "synced");
  const world = await makeWorld(server, sinkUrl);
  const targets: Record<Name, Target> = {
    mastra,
    synced,
    ours: { request: runToResult(server, world, "three"), roots: server.roots },
  };
  for (const { request } of Object.values(targets)) {
    await generator.run({ ...request, connections: TOGETHER, requests: warmUp });
  }
  const together = await interleaved(generator, targets, { connections: TOGETHER, ms: togetherMs, rounds });
  const alone = await interleaved(generator, targets, { connections: 1, ms: aloneMs, rounds });
  const sent = [...together.rounds.mastra, ...alone.rounds.mastra].reduce(
    (sum, { requests }) => sum + requests,
    warmUp,
  );
  await checkStored(mastra.request.url, sent);
  return {
    figures: [
      ...figuresOf(`three against Mastra ${version()}, ${TOGETHER} at once`, together.median, "rate"),
      ...figuresOf(`three against Mastra ${version()}, alone`, alone.median, "p50"),
    ],
    details: { mastra: { together, alone } },
  };
}

type Name = "mastra" | "synced" | "ours";
type Medians = Record<Name, Sample>;

/** Mastra as it is answers before its state is on the disk; `synced` after, as ours does. */
function figuresOf(at: string, { ours, mastra, synced }: Medians, aimed: "rate" | "p50"): Figure[] {
  const rate = { figure: `${at}: rate`, unit: "/s", ours: ours.rate };
  const p50 = { figure: `${at}: p50`, unit: "ms", ours: ours.p50Ms };
  return [
    { ...rate, floor: mastra.rate, ...(aimed === "rate" && { aim: RATE }) },
    { ...rate, figure: `${at}, synced: rate`, floor: synced.rate },
    { ...p50, floor: mastra.p50Ms, ...(aimed === "p50" && { aim: ALONE }) },
    { ...p50, figure: `${at}, synced: p50`, floor: synced.p50Ms },
    { figure: `${at}: p99`, unit: "ms", ours: ours.p99Ms, floor: mastra.p99Ms },
    { figure: `${at}: CPU a run`, unit: "ms", ours: ours.totalMs, floor: mastra.totalMs },
  ];
}

type Lock = Parameters<typeof isInstalled>[0];
const readLock = (file: string): Lock | undefined =>
  fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, "utf8")) as Lock) : undefined;
const version = (): string =>
  readLock(path.join(FOLDER, "package-lock.json"))!.packages["node_modules/@mastra/core"]!.version!;

/** Returns why it could not be installed. */
async function ensureInstalled(): Promise<string | undefined> {
  const lock = readLock(path.join(FOLDER, "package-lock.json"))!;
  if (isInstalled(lock, readLock(path.join(FOLDER, "node_modules/.package-lock.json")), [])) return undefined;
  say(`installing Mastra ${version()} for the comparison (npm ci in bench/peers/mastra), a quarter of a minute`);
  const npm = process.env["npm_execpath"];
  const [file, ...first] = npm?.endsWith("npm-cli.js") ? [process.execPath, npm] : ["npm"];
  const flags = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  try {
    await promisify(execFile)(file, [...first, ...flags], { cwd: FOLDER, timeout: INSTALL_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

type Peer = { request: Request; roots(): number[] } & AsyncDisposable;

async function startMastra(folder: string, how: "asItIs" | "synced"): Promise<Peer> {
  const own = path.join(folder, how);
  fs.mkdirSync(own);
  const { child, ready } = await start({
    file: path.join(FOLDER, "server.js"),
    args: [own, how],
    flags: SERVER_FLAGS,
    env: { NODE_ENV: "production", MASTRA_TELEMETRY_DISABLED: "1" },
    ready: /^mastra at (\S+)$/,
  });
  const request = { url: ready, headers: {}, body: '{"inputData":{"n":1}}', expect: '"result":{"n":4}' };
  return { request, roots: () => [child.pid!], [Symbol.asyncDispose]: () => end(child) };
}

/** Its storage must hold every answer. */
async function checkStored(url: string, answered: number): Promise<void> {
  const response = await fetch(new URL("/runs", url), { method: "POST" });
  const { total } = (await response.json()) as { total: number };
  if (total < answered) throw new Error(`Mastra answered ${answered} runs and stored ${total}`);
}
