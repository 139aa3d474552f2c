/** Kinds of steps on a run's page: what an open one waits for. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished, test } from "vitest";
import { start } from "../agents.ts";
import { agentOf, CANCEL, decide, until } from "../runs.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectEachLook, LOOKS, Person, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
let page: Page;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser, { viewport: LOOKS[0]!.viewport });
  page = await person.enter(server, "/runs");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Starts a run that ends with its test. */
async function started(...tasks: object[]): Promise<string> {
  const id = await start(server, await agentOf(server, `do: ${JSON.stringify(tasks)}`));
  onTestFinished(async () => void (await server.graphql(CANCEL, { id })));
  return id;
}

test("a step that waits says until when", async () => {
  const id = await started({ nap: { wait: { hours: 30 } } });
  await person.go(`/runs/${id}`);
  await page.getByRole("treeitem", { name: /nap until .+20\d\d, \d\d:\d\d/ }).waitFor();
  await expectEachLook(page, "a wait");
  await page.setViewportSize(LOOKS[0]!.viewport);
});

test("a wait that begins while the page is open says until when, too", async () => {
  const asking = { call: "approval:1.0.0@default", with: { question: "Go on?" } };
  const id = await started({ asking }, { later: { wait: { hours: 40 } } });
  await until(server, id, "paused");
  await person.go(`/runs/${id}`);
  await page.getByRole("region", { name: "Approval: Go on? Step 1" }).waitFor();
  await decide(server, id, "approve");
  await page.getByRole("treeitem", { name: /later until .+20\d\d, \d\d:\d\d/ }).waitFor();
});
