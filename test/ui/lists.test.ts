/** Long lists: runs by filters that stand in the address, ten thousand of them, hundreds of agents, and one project of several. */
import type { Browser, Page } from "playwright-core";
import type { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId, encodeId } from "../../server/src/lib/ids.ts";
import { connectTo } from "../faults/audit.ts";
import { ran } from "../runs.ts";
import { scaled } from "../scale.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, sharedBrowser, Person } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
let agents: { first: string; second: string; waits?: string };
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  const create = "mutation ($handle: String!) { createProject(input: {handle: $handle, name: $handle}) { id } }";
  await server.data(create, { handle: "billing" });
  agents = { first: await publish("test", "Invoices"), second: await publish("billing", "Refunds") };
  for (const id of [agents.first, agents.first, agents.second]) await ran(server, id);
  person = await Person.open(browser, { viewport: { width: 1280, height: 800 } });
  person.mayFail();
  await person.enter(server, "/runs");
  await person.page.getByRole("row", { name: /Refunds/ }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const DONE = "[{done: {set: {ok: true}}}]";
async function publish(namespace: string, title: string, tasks = DONE, version = "1.0.0"): Promise<string> {
  const definition = `
document: {dsl: "1.0.3", namespace: ${namespace}, name: ${title.toLowerCase()}, version: "${version}", title: ${title}}
do: ${tasks}
`;
  const publishAgent = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  return (await server.data(publishAgent, { definition })).publishAgent.id;
}

/**
 * Goes down until this is seen; returns how many elements the page had at most. The page looks for it in each frame: to be asked over
 * and over for a text among thousands of elements took half of the test's processor time.
 */
async function goDownTo(page: Page, text: string): Promise<number> {
  const found = await page.waitForFunction(
    (wanted) => {
      const seen = window as unknown as { most?: number };
      seen.most = Math.max(seen.most ?? 0, document.getElementsByTagName("*").length);
      scrollTo(0, document.documentElement.scrollHeight);
      const isSeen = document.evaluate(`//*[normalize-space() = "${wanted}"]`, document, null, 3).booleanValue;
      return isSeen && { most: seen.most };
    },
    text,
    { timeout: 240_000 },
  );
  const { most } = (await found.jsonValue()) as { most: number };
  await page.evaluate(() => Reflect.deleteProperty(window, "most"));
  return most;
}

test("runs are filtered by agent, starter and time; the address has it all, and a click takes each away", async () => {
  const { page } = person;
  await person.go("/runs");
  await page.getByRole("row", { name: /Refunds/ }).waitFor();
  await page.keyboard.press("f");
  const agent = page
    .getByRole("textbox", { name: "Agent", exact: true })
    .or(page.getByRole("combobox", { name: "Agent", exact: true }));
  await agent.click();
  const offered = page.getByRole("listbox", { name: "Agent", exact: true }).getByRole("option");
  await expect.poll(() => offered.allTextContents(), { message: "by name" }).toEqual(["Invoices", "Refunds"]);
  await agent.fill("invo");
  await page.getByRole("option", { name: "Invoices", exact: true }).click();
  await page.getByRole("row", { name: /Refunds/ }).waitFor({ state: "detached" });
  await page.getByLabel("Started", { exact: true }).selectOption("Last 7 days");
  await page.getByRole("button", { name: "Remove Started: Last 7 days", exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "completed", exact: true }).click();
  await page.getByRole("button", { name: "Clear", exact: true }).waitFor();
  await expectGoodLooks(page, "filtered runs");
  const filters = page.getByRole("navigation", { name: "Status" }).getByRole("link");
  const sizes = await filters
    .or(page.getByRole("button", { name: "Filter", exact: true }))
    .or(page.getByRole("combobox", { name: "Project", exact: true }))
    .evaluateAll((all) => all.map((one) => getComputedStyle(one).fontSize));
  expect(new Set(sizes), "all that one filters by").toEqual(new Set(["14px"]));

  const address = new URL(page.url());
  expect(Object.fromEntries(address.searchParams)).toEqual({ status: "completed", agent: agents.first, when: "week" });
  const other = await person.tab();
  await other.goto(`${address}&by=key`);
  await other.getByRole("button", { name: "Remove Agent: Invoices", exact: true }).waitFor();
  await other.getByText("2 runs", { exact: true }).waitFor();
  await other.getByRole("button", { name: "Remove Agent: Invoices", exact: true }).click();
  await other.getByText("3 runs", { exact: true }).waitFor();
  await other.goto(`${address}&by=user`);
  await other.getByRole("heading", { name: "No completed runs match the filters", exact: true }).waitFor();
  await other.getByRole("button", { name: "Clear", exact: true }).click();
  await other.getByText("3 runs", { exact: true }).waitFor();
  expect(new URL(other.url()).search).toBe("");
  await other.close();
});

/** An agent whose runs wait for a day. */
async function startWaiting(count: number): Promise<string> {
  agents.waits ??= await publish("test", "Waits", "[{pause: {wait: {days: 1}}}]");
  const id = agents.waits;
  const START = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  for (let number = 0; number < count; number++) await server.data(START, { input: { agentId: id, input: {} } });
  return id;
}

test("runs are chosen by keyboard, up to one with shift, and the button says how many open ones it cancels", async () => {
  const { page } = person;
  await startWaiting(2);
  await person.go("/runs");
  await page.getByText("5 runs", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Shift+X");
  const chosen = page.getByRole("region", { name: "Selected runs", exact: true });
  await chosen.getByText("3 selected, 1 of them ended", { exact: true }).waitFor();
  await expectGoodLooks(page, "chosen runs");
  await chosen.getByRole("button", { name: "Cancel 2 runs…", exact: true }).click();
  await chosen.getByRole("button", { name: "Cancel 2 runs", exact: true }).click();
  await chosen.getByText("2 runs cancelled", { exact: true }).waitFor();
  await chosen.getByRole("button", { name: "Close", exact: true }).click();
  await chosen.waitFor({ state: "detached" });
  await expect.poll(() => page.getByRole("row", { name: /cancelled Waits/ }).count()).toBe(2);
  await page
    .getByRole("row", { name: /Refunds/ })
    .getByRole("checkbox")
    .check();
  await chosen.getByText("1 selected, it has ended", { exact: true }).waitFor();
  expect(await chosen.getByRole("button").allTextContents()).toEqual(["Clear selection"]);
});

test("all open runs that match are cancelled together, those that the list has not shown too", async () => {
  const { page } = person;
  const agent = await startWaiting(120);
  await person.go(`/runs?agent=${agent}`);
  await page
    .getByRole("row", { name: /running Waits/ })
    .first()
    .waitFor();
  await page.getByRole("checkbox", { name: "Select all loaded runs" }).check();
  const chosen = page.getByRole("region", { name: "Selected runs", exact: true });
  await chosen.getByRole("button", { name: "Select all 120 matching open runs", exact: true }).click();
  await chosen.getByRole("button", { name: "Cancel 120 runs…", exact: true }).click();
  await chosen.getByRole("button", { name: "Cancel 120 runs", exact: true }).click();
  await chosen.getByText("120 runs cancelled", { exact: true }).waitFor();
  const count = "query ($filter: RunFilter) { runCount(filter: $filter) { value } }";
  const open = { agentId: [agent], status: ["pending", "running", "paused"] };
  expect((await server.data(count, { filter: open })).runCount.value).toBe(0);
});

test("a project that is chosen in the frame stays chosen from page to page", async () => {
  const { page } = person;
  await person.go("/runs");
  const nav = page.getByRole("navigation", { name: "Main" });
  await nav.getByRole("combobox", { name: "Project", exact: true }).selectOption("billing");
  await page.getByText("1 run", { exact: true }).waitFor();
  await nav.getByRole("link", { name: "Agents", exact: true }).click();
  await page.getByRole("link", { name: "Refunds", exact: true }).waitFor();
  await page.getByRole("link", { name: "Invoices", exact: true }).waitFor({ state: "detached" });
  expect(new URL(page.url()).searchParams.get("project")).toMatch(/^project_/);

  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).fill("project: all");
  await page.getByRole("option", { name: "Project: all", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Invoices", exact: true }).waitFor();
  expect(new URL(page.url()).searchParams.get("project")).toBeNull();

  // An agent's page gives way to the list; a part of the settings stays.
  for (const [path, then] of [
    [`/agents/${agents.first}`, "/agents"],
    ["/settings/secrets", "/settings/secrets"],
  ] as const) {
    await person.go(path);
    await nav.getByRole("combobox", { name: "Project", exact: true }).selectOption("billing");
    await expect.poll(() => new URL(page.url()).search, { message: path }).toMatch(/^\?project=project_/);
    expect(new URL(page.url()).pathname).toBe(then);
  }
});

test("the older ones of fifty-five versions are read when they are asked for, each of them once", async () => {
  const { page } = person;
  let id = "";
  for (let minor = 0; minor < 55; minor++) id = await publish("test", "Versioned", DONE, `1.${minor}.0`);
  await person.go(`/agents/${id}?tab=definition`);
  const versions = page.getByRole("region", { name: "Versions" });
  const shown = versions.getByRole("listitem");
  const older = versions.getByRole("button", { name: "Older versions", exact: true });
  await page.route("**/graphql", (route) =>
    route.request().postData()?.includes("query OlderVersions(") ? route.abort() : route.continue(),
  );
  await older.click();
  await versions.getByRole("alert").getByText("The server does not answer.").waitFor();
  await page.unroute("**/graphql");
  const counts: number[] = [];
  for (const oldest of ["1.35.0", "1.5.0", "1.0.0"]) {
    await shown.last().getByText(oldest, { exact: true }).waitFor();
    counts.push(await shown.count());
    if (oldest !== "1.0.0") await older.click();
  }
  expect(counts).toEqual([20, 50, 55]);
  expect(await older.count()).toBe(0);
});

test("where an agent has no runs its list leads to its form, and when it is paused to what resumes it", async () => {
  const { page } = person;
  const id = await publish("test", "Unused");
  await person.go(`/agents/${id}?tab=runs`);
  await page.getByRole("heading", { name: "No runs here", exact: true }).waitFor();
  await expectGoodLooks(page, "no runs of an agent");
  await page.getByRole("link", { name: "Run Unused", exact: true }).click();
  await page.getByRole("button", { name: "Run unused", exact: true }).waitFor();
  await server.data("mutation ($id: ID!) { setAgentStatus(input: {agentId: $id, status: paused}) { id } }", { id });
  await page.reload();
  await page.getByRole("heading", { name: "The agent is paused", exact: true }).waitFor();
  expect(await page.locator("main pre").textContent()).toBe("npx autograph agents resume test/unused");
  await page.getByRole("navigation", { name: "Agent" }).getByRole("link", { name: "Runs" }).click();
  await page.getByText("Unused has not run yet.", { exact: true }).waitFor();
  expect(await page.getByRole("link", { name: "Run Unused", exact: true }).count(), "it takes none").toBe(0);
});

test("an agent that is only a draft leads to its definition", async () => {
  const { page } = person;
  const definition = `
document: {dsl: "1.0.3", namespace: test, name: unpublished, version: "1.0.0", title: Unpublished}
do: ${DONE}
`;
  const save = "mutation ($definition: String!) { saveAgentDraft(input: {definition: $definition}) { id } }";
  const { id } = (await server.data(save, { definition })).saveAgentDraft;
  await person.go(`/agents/${id}`);
  await page.getByRole("heading", { name: "The agent is a draft", exact: true }).waitFor();
  expect(await page.locator("main pre").count(), "nothing to resume").toBe(0);
  await page.getByRole("link", { name: "Publish its definition", exact: true }).click();
  await page.getByRole("textbox", { name: "Definition" }).waitFor();
});

test("without approvals the decided ones lead to the open ones, and those to the agents", async () => {
  const { page } = person;
  await person.go("/approvals?show=decided");
  await page.getByRole("heading", { name: "No decisions yet", exact: true }).waitFor();
  await page.getByRole("link", { name: "Open approvals", exact: true }).click();
  await page.getByRole("heading", { name: "No approvals waiting", exact: true }).waitFor();
  await page.getByRole("link", { name: "All agents", exact: true }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});

/** In the database the organization is not the only one. */
const ownId = (): string => decodeId("organization", server.world.organizationId)!;

/** Copies of the organization's first row, with ids of their own and other values made from their `number`. */
const copies = async (client: Client, table: string, count: number, other = "'{}'"): Promise<unknown> =>
  client.query(
    `insert into ${table} select (jsonb_populate_record(one, jsonb_build_object('id',
       overlay((one).id::text placing lpad(to_hex(number), 12, '0') from 25)) || ${other})).*
     from (select t as one from ${table} t where organization_id = $2 order by id limit 1) as first, generate_series(1, $1::int) as number`,
    [count, ownId()],
  );

/** A list that drew all of these at once would have three times the elements that it may have. */
const RUNS = scaled({ whole: 10_000, part: 1_000 });

test("of thousands of runs and five hundred agents the last is reached, and few are in the page at once", async () => {
  const client = await connectTo(server);
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  const countOf = async (table: string): Promise<number> =>
    (await client.query(`select count(*)::int as count from ${table} where organization_id = $1`, [ownId()])).rows[0]
      .count;
  await copies(client, "runs", RUNS - (await countOf("runs")));
  await copies(
    client,
    "agents",
    500,
    "jsonb_build_object('handle', 'copy-' || number, 'name', 'Copy ' || number, 'status', 'draft', 'published_version', null)",
  );
  const { page } = person;
  await person.go("/runs");
  await page
    .getByRole("row", { name: /completed|cancelled/ })
    .first()
    .waitFor();
  const all = `${RUNS.toLocaleString("en-US")} runs`;
  expect(await goDownTo(page, all)).toBeLessThan(6_000);
  await page.getByRole("link", { name: "Invoices", exact: true }).last().click();
  await page.getByRole("region", { name: "Output" }).waitFor();
  await page.goBack();
  await page.getByText(all, { exact: true }).waitFor();

  await person.go("/agents");
  await page.getByRole("link", { name: "Copy 1", exact: true }).waitFor();
  expect(await goDownTo(page, `${await countOf("agents")} agents`)).toBeLessThan(12_000);
});

test("choices of which more are there than were read say so, and typing finds an agent among all", async () => {
  const client = await connectTo(server);
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  await copies(client, "projects", 210, "jsonb_build_object('handle', 'copy-' || number, 'name', 'Copy ' || number)");
  await copies(
    client,
    "api_keys",
    210,
    "jsonb_build_object('name', 'Copy ' || number, 'secret_hash', '\\x' || lpad(to_hex(number), 64, '0'))",
  );
  const { page } = person;
  const box = (name: string) =>
    page.getByRole("textbox", { name, exact: true }).or(page.getByRole("combobox", { name, exact: true }));
  const option = (name: string) => page.getByRole("option", { name, exact: true });
  const expectOnlyTold = async (name: string): Promise<void> => {
    await option(name).waitFor();
    expect(await option(name).isDisabled(), name).toBe(true);
    expect(await option(name).evaluate((one) => getComputedStyle(one).opacity), "it can be read").toBe("1");
  };
  // The frame reads the projects once.
  await page.goto(`${server.url}/runs`);
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await box("Agent").fill("copy");
  await expectOnlyTold("and more: type to find others");
  await box("Agent").fill("copy 300");
  await option("Copy 300").click();
  await box("Started by").fill("nobody at all");
  await expectOnlyTold("and more keys, older ones");
  await box("Started by").fill("copy 150");
  await page.getByRole("listbox", { name: "Started by" }).getByRole("option", { name: "Copy 150" }).waitFor();
  await expectGoodLooks(page, "some of the starters");

  await page.setViewportSize({ width: 360, height: 2_000 });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menu").getByText("and more, older ones", { exact: true }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });

  await person.go("/settings/secrets?make=true");
  const project = page.getByRole("form", { name: "Set a secret" }).getByLabel("Project");
  await project.waitFor();
  await expect.poll(() => project.getByRole("option").last().textContent()).toBe("and more, older ones");
  expect(await project.getByRole("option").last().isDisabled()).toBe(true);
  // An older one that the address names is the chosen one all the same.
  const ofCopy = "select id from projects where handle = 'copy-1' and organization_id = $1";
  const { rows } = await client.query(ofCopy, [ownId()]);
  const older = encodeId("project", rows[0].id);
  await person.go(`/settings/secrets?make=true&project=${older}`);
  await expect.poll(() => project.inputValue()).toBe(older);
  await expect.poll(() => project.getByRole("option", { selected: true }).textContent()).toBe("Another project");

  await person.go("/settings/keys?make=true");
  await page.getByLabel("Name", { exact: true }).fill("copies");
  await page.getByRole("combobox", { name: "Agents" }).click();
  await expectOnlyTold("and more: type to find others");
  for (const name of ["Copy 300", "Copy 450"]) {
    await page.getByRole("combobox", { name: "Agents" }).fill(name);
    await page.getByRole("option", { name: new RegExp(`^${name} `) }).click();
  }
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: "Show all keys" }).click();
  await page
    .getByRole("row", { name: /copies/ })
    .getByText(/Copy 300, Copy 450|Copy 450, Copy 300/)
    .waitFor();
});
