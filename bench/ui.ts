/**
 * The web UI in Chromium: what the first page weighs and when it can be used, and a run's page while a thousand steps change two
 * hundred times a second, while a model writes, and with a conversation of a thousand turns.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { openBrowser } from "../test/browser.ts";
import type { Figure } from "./figures.ts";
import { startServer, temporaryFolder, type Server } from "./launch.ts";
import type { Generator } from "./load.ts";
import { machine, today, writeResult } from "./report.ts";
import { enter, LONGEST_TASK_MS, traced, VIEWPORT } from "./page-work.ts";
import type { Measured } from "./speed.ts";
import { conversationFigures } from "./ui-conversations.ts";
import { graphql, makeWorld, type World } from "./world.ts";

const FULL = { items: 1_000, loads: 5 };
const QUICK = { items: 200, loads: 1 };
/** The promises: issue 13. */
const MAX_KB = 220;
const USABLE_MS = 500;
const FRAME_WORK_MS = 8;

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
      ...(await conversationFigures(browser, server, world, isQuick)),
    ];
    if (!isQuick) writeResult(`ui-${today()}`, { ...machine(), figures });
    return { figures, details: {} };
  } finally {
    await browser.close();
  }
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
  const work = await traced(browser, page, async () => {
    await page.waitForFunction(() => document.title.startsWith("completed"), undefined, { timeout: 120_000 });
  });
  await context.close();
  const { run } = await graphql<{ run: { stepCount: number; startedAt: string; finishedAt: string } }>(
    server,
    world,
    "query ($id: ID!) { run(id: $id) { stepCount startedAt finishedAt } }",
    { id: runAgent.id },
  );
  const seconds = (Date.parse(run.finishedAt) - Date.parse(run.startedAt)) / 1_000 - 2;
  return { steps: run.stepCount, changes: (2 * run.stepCount) / seconds, ...work };
}
