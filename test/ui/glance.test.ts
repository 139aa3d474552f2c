/** Visible at a glance, also on a phone, and still there on coming back. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, LOOKS, sharedBrowser, Person } from "./ui.ts";

const DEFINITION = `
document: {dsl: "1.0.3", namespace: test, name: look-up, version: "1.0.0", title: Customer look-up}
input: {schema: {format: json, document: {type: object, required: [customer], properties: {
  customer: {type: string, title: Customer}, depth: {type: integer, title: How deep, default: 1}}}}}
do:
  - find:
      do:
        - check:
            if: "\${ .depth < 0 }"
            raise: {error: {type: https://example.com/gone, status: 410, title: Gone, detail: "No customer of that name in Lyon."}}
        - within: {set: {found: true}}
  - ask: {call: "approval:1.0.0@default", with: {question: "Tell them?"}}
`;

let browser: Browser;
let server: SharedServer;
let agentId: string;
/** Goes from test to test in one page. */
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  agentId = (await server.data(publish, { definition: DEFINITION })).publishAgent.id;
  person = await Person.open(browser, LOOKS[0]);
  await person.enter(server, "/agents");
  await person.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Returns its id once it waits or has ended. */
async function start(customer: string, depth: number): Promise<string> {
  const { runAgent } = await server.data("mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }", {
    input: { agentId, input: { customer, depth }, wait: 30 },
  });
  return runAgent.id;
}

test("a row of runs says the error, the step and the first words of the input; also on a phone, and as it changes", async () => {
  const failed = await start("Ada", -1);
  const waiting = await start("Grace", 2);
  const { page } = person;
  await person.go("/runs");
  const row = (customer: string) => page.getByRole("row").filter({ hasText: customer });
  const darkPhone: (typeof LOOKS)[number] = {
    name: "dark phone",
    colorScheme: "dark",
    viewport: { width: 360, height: 800 },
    rules: "colours",
  };
  for (const look of [...LOOKS, darkPhone]) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize(look.viewport);
    await row("Ada").getByText("Gone: No customer of that name in Lyon.").waitFor();
    await row("Grace").getByText("at ask", { exact: true }).waitFor();
    await expect.poll(() => row("Grace").textContent()).toMatch(/Customer Grace.*How deep 2/);
    await expectGoodLooks(page, `runs, ${look.name}`, look.rules);
  }
  await page.emulateMedia({ colorScheme: LOOKS[0]!.colorScheme });
  await page.setViewportSize(LOOKS[0]!.viewport);
  // In the list of one agent, too.
  await person.go(`/agents/${agentId}?tab=runs`);
  await row("Ada").getByText("Gone: No customer").waitFor();
  await row("Grace").getByText("at ask").waitFor();
  await server.data(`mutation { cancelRun(runId: "${waiting}") { id } }`);
  await row("Grace").getByText("cancelled").waitFor();
  expect(await row("Grace").getByText("at ask").count(), "it is at no step").toBe(0);
  expect(failed).not.toBe(waiting);
});

test("Search or run finds a run by the beginning of its id, as it is copied or as it is shown", async () => {
  const id = await start("Lena", -1);
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const shown = `${id.slice(0, 8)}…${id.slice(-4)}`;
  for (const text of [id.slice(0, 8), id.slice(0, 24).toUpperCase(), shown, id]) {
    await person.go("/agents");
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    const search = page.getByRole("combobox", { name: "Search or run" });
    await search.and(page.locator(":focus")).waitFor();
    await page.keyboard.insertText(text);
    // Others may have begun within the same days: it is the newest.
    const found = page.getByRole("option", { name: `Customer look-up, failed ${shown}` });
    await found.first().and(page.locator("[aria-selected=true]")).waitFor();
    if (text === shown) await expectGoodLooks(page, "a run that is found");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/runs/${id}`);
  }
});

test("an agent is limited, paused, resumed, archived and brought back from its page", async () => {
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  const definition = DEFINITION.replace("name: look-up", "name: kept-busy").replace("Customer look-up", "Kept busy");
  const { id } = (await server.data(publish, { definition })).publishAgent;
  const agent = async () =>
    (await server.data("query ($id: ID!) { agent(id: $id) { status concurrency } }", { id })).agent;
  const { page } = person;
  await person.go(`/agents/${id}`);
  const choose = async (word: string): Promise<void> => {
    await page.getByRole("button", { name: "More for Kept busy" }).click();
    await page.getByRole("menuitem", { name: word, exact: true }).click();
  };
  const limit = page.getByRole("textbox", { name: "Concurrent runs" });
  await choose("Limit concurrent runs…");
  await limit.fill("2");
  await expectGoodLooks(page, "a limit");
  await page.getByRole("button", { name: "Limit to 2" }).click();
  await page.getByText("At most 2 runs at the same time").waitFor();
  expect(await agent()).toEqual({ status: "active", concurrency: 2 });
  await choose("Limit concurrent runs…");
  await limit.fill("");
  await page.keyboard.press("Enter");
  await page.getByText("At most 2 runs at the same time").waitFor({ state: "detached" });

  await choose("Pause…");
  await page.getByText("its triggers start none").waitFor();
  await page.getByRole("button", { name: "Pause Kept busy" }).click();
  await page.getByRole("heading", { name: "The agent is paused" }).waitFor();
  expect(await agent()).toEqual({ status: "paused", concurrency: null });
  await expectGoodLooks(page, "a paused agent");
  await page.getByRole("button", { name: "Resume Kept busy" }).click();
  await page.getByRole("button", { name: "Run kept-busy" }).waitFor();
  await choose("Archive…");
  await page.getByRole("button", { name: "Archive Kept busy" }).click();
  await page.getByRole("heading", { name: "The agent is archived" }).waitFor();
  expect((await agent()).status).toBe("archived");
  await choose("Bring back");
  await page.getByRole("button", { name: "Run kept-busy" }).waitFor();
  expect((await agent()).status).toBe("active");
});

test("what was typed into a run's form is there after other tabs, Back, and the run; and is cleared when asked to", async () => {
  const from = await start("Tom", 7);
  const { page } = person;
  await person.go(`/agents/${agentId}`);
  const customer = page.getByLabel(/^Customer/);
  const depth = page.getByLabel(/^How deep/);
  const tabs = page.getByRole("navigation", { name: "Agent" });
  const typed = async (): Promise<string[]> => [await customer.inputValue(), await depth.inputValue()];
  await customer.fill("Alan");
  await depth.fill("-3");
  await tabs.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("row").nth(1).waitFor();
  await tabs.getByRole("link", { name: "Run", exact: true }).click();
  await expect.poll(typed).toEqual(["Alan", "-3"]);
  await page.getByRole("button", { name: "Run look-up" }).click();
  await page.getByRole("region", { name: "Error" }).waitFor();
  await page.goBack();
  await expect.poll(typed).toEqual(["Alan", "-3"]);
  await page.getByRole("button", { name: "Clear what I typed" }).click();
  await expect.poll(typed).toEqual(["", "1"]);

  // An earlier run's input stays as well, whether it was changed or not.
  await person.go(`/agents/${agentId}?from=${from}`);
  await expect.poll(typed).toEqual(["Tom", "7"]);
  await tabs.getByRole("link", { name: "Triggers" }).click();
  await page.getByRole("heading", { name: "Nothing starts this agent by itself" }).waitFor();
  await tabs.getByRole("link", { name: "Run", exact: true }).click();
  await expect.poll(typed).toEqual(["Tom", "7"]);
});

test("steps stand under those around them, times are exact, no letter is cut, and what goes on is not folded", async () => {
  const failed = await start("Ada", -1);
  const waiting = await start("Grace", 2);
  const { page } = person;
  await person.go(`/runs/${failed}`);
  const step = (name: string) => page.getByRole("treeitem").filter({ hasText: name });
  const leftOf = async (name: string): Promise<number> =>
    (await step(name).getByText(name, { exact: true }).boundingBox())!.x;
  for (const { viewport } of [LOOKS[0]!, { viewport: { width: 360, height: 800 } }]) {
    await page.setViewportSize(viewport);
    await step("check").waitFor();
    expect(await leftOf("check")).toBeGreaterThan((await leftOf("find")) + 8);
  }
  await page.setViewportSize(LOOKS[0]!.viewport);
  await step("check")
    .getByText(/^\d+ ms$/)
    .waitFor();
  const action = page.getByText(/^Retry from check/);
  const cut = await action.evaluate((word) => {
    const range = document.createRange();
    range.selectNodeContents(word);
    const [letters, box] = [range.getBoundingClientRect(), word.getBoundingClientRect()];
    return Math.max(box.top - letters.top, letters.bottom - box.bottom);
  });
  expect(cut, "no letter reaches out of what is shown").toBeLessThanOrEqual(0);

  await page.goto("about:blank");
  await page.clock.setSystemTime(Date.now() + 3_600_000);
  await page.goto(`${server.url}/runs/${waiting}`);
  await step("ask").waitFor();
  // The hour that it waits for an answer is as long as it is.
  await page.getByText("40 m", { exact: true }).waitFor();
});

test("the step of a script shows what it has written, beside its output or its error", async () => {
  const code =
    "console.log('first', { n });\nconsole.log('second');\nif (n > 1) throw new RangeError('too many');\nreturn n";
  const definition = `
document: {dsl: "1.0.3", namespace: test, name: counting, version: "1.0.0", title: Counting}
do: [{count: {run: {script: {language: js, code: ${JSON.stringify(code)}, arguments: {n: "\${ .n }"}}}}}]`;
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  const { id } = (await server.data(publish, { definition })).publishAgent;
  const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { page } = person;
  for (const n of [1, 2]) {
    const { runAgent } = await server.data(run, { input: { agentId: id, input: { n }, wait: 30 } });
    await person.go(`/runs/${runAgent.id}?step=1`);
    await expect.poll(() => page.getByLabel("console", { exact: true }).textContent()).toBe(`first {"n":${n}}\nsecond`);
    if (n > 1) expect(await page.getByText("RangeError: too many (line 3").count()).toBeGreaterThan(0);
  }
  await expectGoodLooks(page, "a script that failed");
});
