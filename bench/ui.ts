/**
 * The web UI in Chromium: what the first page weighs and when it can be used, and a run's page while a thousand steps change two
 * hundred times a second.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { openBrowser } from "../test/browser.ts";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { machine, today, writeResult } from "./report.ts";
import type { Measured } from "./speed.ts";
import { graphql, makeWorld, type World } from "./world.ts";

const FULL = { items: 1_000, loads: 5 };
const QUICK = { items: 200, loads: 1 };
const FRAME_MS = 1_000 / 60;
/** The promises: issue 13. */
const MAX_KB = 220;
const USABLE_MS = 500;
const LONGEST_TASK_MS = 50;
const FRAME_WORK_MS = 8;

const VIEWPORT = { width: 1280, height: 800 };

export async function measureUi(_generator: Generator, sinkUrl: string, isQuick = false): Promise<Measured> {
  const effort = isQuick ? QUICK : FULL;
  using folder = temporaryFolder();
  await using server = await startServer({ folder: folder.path });
  const world = await makeWorld(server, sinkUrl);
  const browser = await openBrowser();
  try {
    const first = await firstPage(browser, server, world, effort.loads);
    const live = await liveRun(browser, server, world, effort.items);
    const figures: Figure[] = [
      { figure: "UI: first page, compressed", unit: "kB", ours: first.kB, aim: { most: MAX_KB } },
      { figure: "UI: first page to a row that can be clicked", unit: "ms", ours: first.ms, aim: { most: USABLE_MS } },
      { figure: "UI: layout shift of the first page", unit: "", ours: first.shift, aim: { most: 0 } },
      { figure: `UI: ${live.steps} steps, changes a second`, unit: "/s", ours: live.changes },
      { figure: "UI: longest task while they change", unit: "ms", ours: live.longest, aim: { most: LONGEST_TASK_MS } },
      { figure: "UI: scripts and layout in a frame, p95", unit: "ms", ours: live.p95, aim: { most: FRAME_WORK_MS } },
    ];
    if (!isQuick) writeResult(`ui-${today()}`, { ...machine(), figures });
    return { figures, details: {} };
  } finally {
    await browser.close();
  }
}

async function enter(page: Page, server: Server, { email, password }: World): Promise<void> {
  await page.goto(server.url);
  await page.getByLabel("E-mail").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Agents" }).waitFor();
}

type Entry = { transferSize: number; value: number; hadRecentInput: boolean };

async function firstPage(browser: Browser, server: Server, world: World, loads: number) {
  const context = await browser.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  await enter(page, server, world);
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.addInitScript(() => {
    const shifts: number[] = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as Entry[]) if (!entry.hadRecentInput) shifts.push(entry.value);
    }).observe({ type: "layout-shift", buffered: true });
    Object.assign(window, { shifts });
  });
  const all = [];
  for (let load = 0; load < loads; load++) {
    await page.goto(`${server.url}/agents`);
    const ms = await page.evaluate(async () => {
      while (!document.querySelector("tbody a")) await new Promise(requestAnimationFrame);
      return performance.now();
    });
    await sleep(1_000);
    const seen = await page.evaluate(() => ({
      bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map((entry) => (/\/(graphql|auth\/)/.test(entry.name) ? 0 : (entry as unknown as Entry).transferSize))
        .reduce((sum, bytes) => sum + bytes, 0),
      shift: (window as unknown as { shifts: number[] }).shifts.reduce((sum, value) => sum + value, 0),
    }));
    all.push({ ms, ...seen });
  }
  await context.close();
  const middle = all.toSorted((a, b) => a.ms - b.ms)[Math.floor(all.length / 2)]!;
  return { kB: middle.bytes / 1_000, ms: middle.ms, shift: Math.max(...all.map(({ shift }) => shift)) };
}

/** Two branches beside each other, each with half of the items: a step of 5 ms for each. */
const definitionOf = (namespace: string, items: number): string => `
document: {dsl: "1.0.3", namespace: ${namespace}, name: many-steps, version: "1.0.0", title: Many steps}
do:
  - settle: {wait: {seconds: 2}}
  - all:
      fork:
        branches:
${[1, 2].map((branch) => `          - branch${branch}: {do: [{loop: {for: {in: "\${ [range(${items / 2})] }"}, do: [{pause: {wait: {milliseconds: 5}}}]}}]}`).join("\n")}
`;

type TraceEvent = {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  tdur?: number;
  tid: number;
  args?: { name?: string };
};

async function liveRun(browser: Browser, server: Server, world: World, items: number) {
  const { projects } = await graphql<{ projects: { nodes: { handle: string }[] } }>(
    server,
    world,
    "{ projects(first: 1) { nodes { handle } } }",
  );
  const { publishAgent } = await graphql<{ publishAgent: { id: string } }>(
    server,
    world,
    "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }",
    { definition: definitionOf(projects.nodes[0]!.handle, items) },
  );
  const context = await browser.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  await enter(page, server, world);
  const { runAgent } = await graphql<{ runAgent: { id: string } }>(
    server,
    world,
    "mutation ($id: ID!) { runAgent(input: {agentId: $id}) { id } }",
    { id: publishAgent.id },
  );
  await page.goto(`${server.url}/runs/${runAgent.id}`);
  await page.getByRole("treeitem").first().waitFor();
  await browser.startTracing(page, {
    categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "v8"],
  });
  await page.waitForFunction(() => document.title.startsWith("completed"), undefined, { timeout: 120_000 });
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  await context.close();
  const { run } = await graphql<{ run: { stepCount: number; startedAt: string; finishedAt: string } }>(
    server,
    world,
    "query ($id: ID!) { run(id: $id) { stepCount startedAt finishedAt } }",
    { id: runAgent.id },
  );
  const seconds = (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1_000 - 2;
  return { steps: run.stepCount, changes: (2 * run.stepCount) / seconds, ...workIn(trace.traceEvents) };
}

/** Scripts, and layout with its styles, as Chromium's traces name them. */
const SCRIPT_OR_LAYOUT =
  /^(FunctionCall|EvaluateScript|FireAnimationFrame|TimerFire|RunMicrotasks|EventDispatch|WebSocketReceive|V8\.GC.*|MinorGC|MajorGC|UpdateLayoutTree|Layout|PrePaint)$/;

/** The page's main thread: its longest task, and what scripts and layout took in each frame's time. ms. */
function workIn(events: TraceEvent[]): { longest: number; p95: number } {
  const main = events.find(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")?.tid;
  const whole = events.filter(({ ph, tid }) => tid === main && ph === "X");
  // Processor time, where the trace has it: others share the machine.
  const tasks = whole.filter(({ name }) => /RunTask/.test(name)).map(({ dur = 0, tdur = dur }) => tdur / 1_000);
  const frames = new Map<number, number>();
  let reached = 0;
  for (const { ts, dur = 0, tdur = dur } of whole
    .filter(({ name }) => SCRIPT_OR_LAYOUT.test(name))
    .toSorted((a, b) => a.ts - b.ts)) {
    // An entry within another is counted there.
    if (ts < reached) continue;
    reached = ts + dur;
    const frame = Math.floor(ts / 1_000 / FRAME_MS);
    frames.set(frame, (frames.get(frame) ?? 0) + tdur / 1_000);
  }
  const [first, last] = [Math.min(...frames.keys()), Math.max(...frames.keys())];
  const work = Array.from({ length: last - first + 1 }, (_, index) => frames.get(first + index) ?? 0);
  return { longest: Math.max(...tasks), p95: work.toSorted((a, b) => a - b)[Math.floor(work.length * 0.95)]! };
}
