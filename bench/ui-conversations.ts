/**
 * A run's page as a conversation: while a model writes fifty parts a second into it, and while one of a thousand turns is opened and
 * read from its end to its beginning. Model and tool are processes of their own.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import type { Figure } from "./figures.ts";
import { startFixed, type Server } from "./launch.ts";
import { enter, LONGEST_TASK_MS, traced, VIEWPORT } from "./page-work.ts";
import { connectModel, graphql, projectOf, publish, type Project, type World } from "./world.ts";

/** `ms`: how long the model writes; after 25 s its text is longer than the page shows. */
const FULL = { ms: 40_000, turns: 1_000 };
const QUICK = { ms: 5_000, turns: 100 };
const POLL_MS = 100;
const AIM = { most: LONGEST_TASK_MS };
/** A page that is opened runs its scripts for the first time, and reads steps by the 500. */
const LONGEST_AT_FIRST_MS = 100;

type Subject = { browser: Browser; server: Server; world: World; project: Project };

export async function conversationFigures(
  browser: Browser,
  server: Server,
  world: World,
  isQuick: boolean,
): Promise<Figure[]> {
  const { ms, turns } = isQuick ? QUICK : FULL;
  const subject = { browser, server, world, project: await projectOf(server, world) };
  const written = await whileWritten(subject, ms);
  const opened = await openLong(subject, turns);
  const of = `UI: conversation of ${turns.toLocaleString("en")} turns`;
  return [
    { figure: "UI: longest task while a model writes 50 parts a second", unit: "ms", ours: written.longest, aim: AIM },
    { figure: "UI: scripts and layout in a frame while it writes, p95", unit: "ms", ours: written.p95 },
    {
      figure: `${of}, longest task while it is opened`,
      unit: "ms",
      ours: opened.longest,
      aim: { most: LONGEST_AT_FIRST_MS },
    },
    { figure: `${of}, longest task while it is scrolled`, unit: "ms", ours: opened.scrolled, aim: AIM },
  ];
}

async function entered({ browser, server, world }: Subject): Promise<Page> {
  const context = await browser.newContext({ viewport: VIEWPORT });
  const page = await context.newPage();
  await enter(page, server, world);
  return page;
}

async function startAssistant({ server, world, project }: Subject, name: string, more: object): Promise<string> {
  const work = { call: "assistant:1.0.0@default", with: { prompt: "Read all pages.", ...more } };
  const agentId = await publish(server, world, project, name, [{ work }]);
  const start = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  return (await graphql<{ runAgent: { id: string } }>(server, world, start, { input: { agentId } })).runAgent.id;
}

async function whileWritten(subject: Subject, ms: number): Promise<{ longest: number; p95: number }> {
  const { browser, server, world, project } = subject;
  await using model = await startFixed("streaming-model.ts", "0");
  await connectModel(server, world, project, model.url, "streams");
  const id = await startAssistant(subject, "writes-pages", {});
  const page = await entered(subject);
  await page.goto(`${server.url}/runs/${id}`);
  await page.getByText("is thinking…").waitFor();
  while ((await (await fetch(`${model.url}/waiting`)).text()) !== "1") await sleep(POLL_MS);
  const work = await traced(browser, page, async () => {
    await fetch(`${model.url}/begin?ms=${ms}`);
    await page.waitForFunction(() => document.title.startsWith("completed"));
  });
  await page.context().close();
  return work;
}

async function openLong(subject: Subject, turns: number): Promise<{ longest: number; scrolled: number }> {
  const { browser, server, world, project } = subject;
  const calls = turns - 1;
  await using model = await startFixed("thinking-model.ts", String(calls));
  await using pages = await startFixed("fixed-answer.ts", JSON.stringify({ page: "A page. ".repeat(20) }));
  await connectModel(server, world, project, model.url, "thinks");
  const look = {
    name: "look",
    description: "Reads a page.",
    parameters: { type: "object", properties: { page: { type: "integer" } }, required: ["page"] },
    call: { method: "get", endpoint: pages.url },
  };
  const limits = { iterations: turns, toolCalls: turns, tokens: 10_000_000 };
  const id = await startAssistant(subject, "reads-pages", { tools: [{ http: look }], limits });
  await untilCompleted(subject, id);
  const page = await entered(subject);
  const opened = await traced(browser, page, async () => {
    await page.goto(`${server.url}/runs/${id}`);
    await page.getByText(`${calls} pages`).first().waitFor();
    await page.getByText(`${calls.toLocaleString("en")} of ${turns.toLocaleString("en")}`).waitFor();
  });
  const all = page.getByRole("region", { name: "What work says" });
  const scrolled = await traced(browser, page, async () => {
    await all.focus();
    await page.keyboard.press("Home");
    await all.getByText("Read all pages.").waitFor();
    for (let part = 0; part < 50; part++) {
      await page.keyboard.press("PageDown");
      await sleep(POLL_MS);
    }
  });
  await page.context().close();
  return { longest: opened.longest, scrolled: scrolled.longest };
}

async function untilCompleted({ server, world }: Subject, id: string): Promise<void> {
  const query = "query ($id: ID!) { run(id: $id) { status } }";
  for (;;) {
    const { run } = await graphql<{ run: { status: string } }>(server, world, query, { id });
    if (run.status === "completed") return;
    if (run.status === "failed") throw new Error(`the run of a long conversation failed: ${id}`);
    await sleep(POLL_MS);
  }
}
