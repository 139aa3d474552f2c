/** An agent is written in the browser, from nothing: its project, its text, a draft or a version, and its first run. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { publish } from "../agents.ts";
import { cliJson, settingsOf } from "../command-line.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectEachLook, expectGoodLooks, LOOKS, sharedBrowser, Person } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
/** One browser for whom each test is about. */
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser);
  person.mayFail();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** In the line that says `before`, in place of its last word. */
async function replaceLastWord(page: Page, line: number, word: string): Promise<void> {
  await page.getByRole("textbox", { name: "Definition" }).focus();
  await page.keyboard.press("ControlOrMeta+Home");
  for (let at = 1; at < line; at++) await page.keyboard.press("ArrowDown");
  for (const key of ["End", "ControlOrMeta+Shift+ArrowLeft", "Backspace"]) await page.keyboard.press(key);
  await page.keyboard.type(word);
}

test("a new organization gets its first project and agent in the browser, and runs it", async () => {
  const email = "beginner@example.org";
  const made = await cliJson<{ password: string }>(["org", "create", "Beginners", "--owner", email], {
    env: settingsOf(server),
  });
  const { page } = person;
  await person.enter(server, "/agents", { email, password: made.password });
  await page.getByRole("link", { name: "Write the first one here" }).click();
  await page.getByRole("heading", { name: "First, a project" }).waitFor();
  await expectGoodLooks(page, "first project");
  await page.getByLabel("Name").fill("Billing");
  await page.getByLabel("Handle").fill("Bill ing");
  await page.getByRole("button", { name: "Create project" }).click();
  await page.getByText(/^Handle must/).waitFor();
  await page.getByLabel("Handle").fill("billing");
  await page.getByRole("button", { name: "Create project" }).click();

  const text = page.getByRole("textbox", { name: "Definition" });
  await text.getByText("namespace: billing").waitFor();
  await expectEachLook(page, "new agent");
  await page.setViewportSize(LOOKS[0]!.viewport);
  await replaceLastWord(page, 4, "Hello");
  await page.getByRole("region", { name: "Problems" }).getByText("Line 4").waitFor();
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  const leaving = page.getByRole("dialog", { name: "Leave without saving?" });
  await leaving.getByRole("button", { name: "Cancel" }).click();
  await leaving.waitFor({ state: "detached" });
  await replaceLastWord(page, 4, "hello");
  await page.getByRole("region", { name: "Problems" }).getByText("Line 4").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Publish", exact: true }).click();

  await page.getByText(/^billing \/ .*hello 1\.0\.0$/).waitFor();
  await page.getByLabel("Who").fill("Ada");
  await page.getByRole("button", { name: /^Run / }).click();
  await page.getByRole("region", { name: "Output" }).getByText("Hello, Ada!").waitFor();
});

test("a first text may be a draft, in another project; and it takes no other agent's place", async () => {
  const world = await server.organization("drafters");
  const create = "mutation ($input: CreateProjectInput!) { createProject(input: $input) { id } }";
  const shop = await server.data(create, { input: { name: "Shop", handle: "shop" } }, world.apiKey);
  const { page } = person;
  await person.enter(server, `/agents/new?project=${shop.createProject.id}`, world);
  const text = page.getByRole("textbox", { name: "Definition" });
  await text.getByText("namespace: shop").waitFor();
  await page.getByRole("button", { name: "In a new project" }).click();
  await page.getByLabel("Name").fill("Billing");
  await page.getByLabel("Handle").fill("billing");
  await page.getByRole("button", { name: "Create project" }).click();
  await text.getByText("namespace: billing").waitFor();
  await page.getByRole("button", { name: "Save as draft" }).click();
  await page.getByText("This draft is not published").waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/agents\/agent_\w+$/);

  const { projects } = await server.data("{ projects(first: 9) { nodes { id handle } } }", {}, world.apiKey);
  for (const { id, handle } of projects.nodes) {
    await person.go(`/agents/new?project=${id}`);
    await text.getByText(`namespace: ${handle}`).waitFor();
  }
  const { href } = new URL("/agents/new", server.url);
  await page.goto(href);
  await text.getByText("namespace: billing").or(text.getByText("namespace: shop")).waitFor();
  await replaceLastWord(page, 3, "billing");
  const another = page.getByRole("button", { name: "In a new project" });
  await replaceLastWord(page, 6, "Other");
  await expect.poll(() => another.isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Save as draft" }).click();
  await page.getByRole("alert").getByText(/draft/).waitFor();
  expect(page.url()).toBe(href);
});

test("what a definition may contain is offered while it is written: tasks, their keys and their values", async () => {
  const world = await server.organization("writers");
  const { page } = person;
  await person.enter(server, "/agents/new", world);
  const text = page.getByRole("textbox", { name: "Definition" });
  await text.getByText("do:").waitFor();
  await text.focus();
  for (const key of ["ControlOrMeta+a", "Backspace"]) await page.keyboard.press(key);
  await page.keyboard.type("do:\n- ");
  const offered = page.getByRole("listbox", { name: "Completions" });
  await offered.getByRole("option", { name: "call: approval" }).waitFor();
  await expectEachLook(page, "tasks that are offered");
  await page.setViewportSize(LOOKS[0]!.viewport);
  await page.keyboard.type("appro");
  await offered.getByRole("option", { selected: true, name: "call: approval" }).waitFor();
  await press("Enter");
  await text.getByText("question:").waitFor();
  await page.keyboard.type("ask");
  const lines = (): Promise<string[]> => text.locator(".cm-line").allTextContents();
  expect(await lines()).toEqual(["do:", "- ask:", "    call: approval:1.0.0@default", "    with:", "      question: "]);
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("Pay?\nonR");
  await offered.getByRole("option", { selected: true, name: "onReject" }).waitFor();
  await press("Enter");
  await offered.getByRole("option", { name: "continue" }).click();
  await expect.poll(lines).toContain("      onReject: continue");

  /** The list takes no key before somebody can have seen it: `interactionDelay` of CodeMirror, 75 ms. */
  async function press(key: string): Promise<void> {
    await page.evaluate(() => new Promise((done) => setTimeout(done, 100)));
    await page.keyboard.press(key);
  }
});

test("a member who may not create agents learns who may, is offered nothing, and reads definitions without changing them", async () => {
  const agentId = await publish(server, "echo");
  const viewer = await server.memberOf(server.world, "looks@example.org", "viewer");
  const { page } = person;
  await person.enter(server, "/agents", viewer);
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  expect(await page.getByRole("link", { name: "New agent" }).count()).toBe(0);
  await person.go("/agents/new");
  await page.getByRole("heading", { name: "You may not create agents" }).waitFor();

  await person.go(`/agents/${agentId}?tab=definition`);
  const text = page.getByRole("textbox", { name: "Definition" });
  await text.getByText("name: echo").waitFor();
  await text.focus();
  await page.keyboard.type("changed");
  // Typed text is there at once where it is allowed.
  expect(await text.textContent()).not.toContain("changed");
});
