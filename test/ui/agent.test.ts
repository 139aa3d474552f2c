/** An agent's triggers, its definition, and the events that start it. */
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectTo } from "../faults/audit.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, Person, publishExamples, settle, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
let agents: Record<string, string>;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser);
  agents = await publishExamples(server);
  await person.enter(server, "/agents");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const open = (agent: string, tab: "triggers" | "definition"): Promise<void> =>
  person.go(`/agents/${agents[agent]}?tab=${tab}`);

/** The entries of a trigger's menu. */
const choose = async (trigger: Locator, word: string): Promise<void> => {
  await trigger.getByRole("button", { name: /^More for / }).click();
  await person.page.getByRole("menuitem", { name: word, exact: true }).click();
};

const isFocused = (field: Locator): Promise<boolean> => field.evaluate((element) => element === document.activeElement);

/** Types, and presses where the pointer stands: what moves the button while it is pressed makes the press miss it. */
async function typeAndPress(field: Locator, text: string, button: Locator): Promise<void> {
  const { page } = person;
  await field.fill(text);
  await button.scrollIntoViewIfNeeded();
  await settle(page);
  const { x, y, width, height } = (await button.boundingBox())!;
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.mouse.down();
  // The field has been left, and what comes of it is on the screen.
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
  await page.mouse.up();
}

/** It has the focus, and a screen reader says with it what is wrong. */
async function expectSaidOnce(field: Locator, problem: string | RegExp): Promise<void> {
  const said = field.page().getByText(problem, { exact: true });
  await said.waitFor();
  await expect.poll(() => isFocused(field)).toBe(true);
  expect(await said.count()).toBe(1);
  expect(await field.getAttribute("aria-invalid")).toBe("true");
  expect((await field.getAttribute("aria-describedby"))!.split(" ")).toContain(await said.getAttribute("id"));
}

test("a schedule is read in words and made after what is wrong was said; then paused, changed and deleted", async () => {
  const { page } = person;
  await open("Flaky service", "triggers");
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem", { name: "On a schedule" }).click();
  const form = page.getByRole("form", { name: "On a schedule" });
  await form.getByLabel("Name").fill("nightly");
  const schedule = form.getByRole("textbox", { name: "Schedule" });
  await schedule.fill("99 2 * * *");
  // While it is typed; then at its field with the field's name, and neither above the form nor where the times would be.
  const wrong = /minute field cannot be "99"/;
  await form.getByText(wrong).waitFor();
  await form.getByRole("button", { name: "Add the trigger" }).click();
  await form.getByText(/^Schedule .*minute field cannot be "99"/).waitFor();
  await expect.poll(() => form.getByText(wrong).count()).toBe(1);
  expect(await form.getByRole("alert").count()).toBe(0);
  expect(await isFocused(schedule)).toBe(true);
  await schedule.fill("30 2 * * 1-5");
  await form.getByText("At 02:30, Monday through Friday").waitFor();
  const five = form.getByRole("table", { name: "The next five times" }).locator("tbody tr");
  await expect.poll(() => five.count()).toBe(5);
  await form.getByRole("button", { name: "Add the trigger" }).click();

  const trigger = page.getByRole("region", { name: "nightly" });
  await trigger.getByText("active").waitFor();
  await choose(trigger, "Pause");
  await trigger.getByText("Paused. If resumed, it would next run:").waitFor();
  expect(await trigger.getByRole("table", { name: "The next five times" }).locator("tbody tr").count()).toBe(5);
  await choose(trigger, "Change");
  await page.getByRole("button", { name: "Change nightly" }).waitFor();
  // The address has what is changed.
  await page.reload();
  await page.getByRole("textbox", { name: "Schedule" }).fill("0 6 * * *");
  await page.getByRole("button", { name: "Change nightly" }).click();
  await trigger.getByText("At 06:00").waitFor();

  await trigger.getByRole("button", { name: "Fire now" }).click();
  await trigger.getByRole("cell", { name: "started" }).waitFor();
  await choose(trigger, "Delete…");
  const dialog = page.getByRole("dialog", { name: "Delete nightly?" });
  const sure = dialog.getByRole("button", { name: "Delete nightly" });
  expect(await sure.isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill("nightly");
  await sure.click();
  await trigger.waitFor({ state: "detached" });
});

test("a schedule's input is made with the agent's own form, with days counted from when it is due", async () => {
  const { page } = person;
  await open("Order intake", "triggers");
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem", { name: "On a schedule" }).click();
  const form = page.getByRole("form", { name: "On a schedule" });
  const input = form.getByRole("group", { name: "Input" });
  await form.getByLabel("Name").fill("pencils");
  await form.getByRole("button", { name: "Add the trigger" }).click();
  await input.getByText("Customer is missing").waitFor();
  await expect.poll(() => isFocused(input.getByLabel("Customer"))).toBe(true);
  await input.getByLabel("Customer").fill("The office");
  await input.getByText("By the date below", { exact: true }).click();
  await input.getByRole("combobox", { name: "Deliver by" }).selectOption("Last day of this week");
  await input.getByText("JSON", { exact: true }).click();
  const json = input.getByRole("textbox", { name: "Input" });
  const said = {
    customer: "The office",
    speed: "standard",
    deliverBy: "@this-week.end",
    items: ["notebook"],
    gift: false,
  };
  expect(JSON.parse(await json.inputValue())).toEqual(said);
  await json.fill(JSON.stringify({ ...said, colour: "red" }));
  await input.getByText("The form cannot show this value. Edit the JSON.").waitFor();
  expect(await input.getByRole("radio", { name: "Form" }).isDisabled()).toBe(true);
  await json.fill(JSON.stringify({ ...said, customer: "The school" }));
  await input.getByText("Form", { exact: true }).click();
  expect(await input.getByLabel("Customer").inputValue()).toBe("The school");
  await expectGoodLooks(page, "a schedule's form");
  await form.getByRole("button", { name: "Add the trigger" }).click();

  const trigger = page.getByRole("region", { name: "pencils" });
  await choose(trigger, "Change");
  expect(await page.getByRole("combobox", { name: "Deliver by" }).inputValue()).toBe("@this-week.end");
  await page.getByRole("button", { name: "Cancel" }).click();
  await trigger.getByRole("button", { name: "Fire now" }).click();
  await trigger.getByRole("cell", { name: "started" }).waitFor();
});

test("a test call of a webhook is made with the form", async () => {
  const { page } = person;
  await open("Order intake", "triggers");
  const trigger = page.getByRole("region", { name: "shop", exact: true });
  await trigger.getByRole("button", { name: "Send a test call" }).click();
  const call = trigger.getByRole("form", { name: "Send a test call" });
  await call.getByLabel("Customer").fill("A test");
  await call.getByText("Today if at all possible", { exact: true }).click();
  await call.getByLabel("Deliver by").fill("2026-12-24");
  await call.getByRole("button", { name: "Send a test call" }).click();
  await trigger.getByRole("cell", { name: "started" }).waitFor();
});

test("on a phone nothing of a form is drawn over the bar at the bottom", async () => {
  const phone = await Person.open(browser, { viewport: { width: 390, height: 844 } });
  const page = await phone.enter(server, `/agents/${agents["Batch greeting"]}?tab=run`);
  const label = page.getByRole("radiogroup").locator("label").first();
  await label.waitFor();
  const bar = page.getByRole("navigation", { name: "Main" });
  const top = (await bar.boundingBox())!.y;
  // So high a window that the bar lies over the label's middle.
  const { y, height } = (await label.boundingBox())!;
  const barHeight = 844 - top;
  await page.setViewportSize({ width: 390, height: Math.round(y + height / 2 + barHeight / 2) });
  await page.evaluate(() => scrollTo(0, 0));
  const box = (await label.boundingBox())!;
  const isBar = await bar.evaluate(
    (element, [x, at]) => element.contains(document.elementFromPoint(x!, at!)),
    [box.x + box.width / 2, box.y + box.height / 2],
  );
  expect(isBar).toBe(true);
  await phone[Symbol.asyncDispose]();
});

test("a webhook is called by its URL, and a refused call says why", async () => {
  const { page } = person;
  await open("Order intake", "triggers");
  const trigger = page.getByRole("region", { name: "shop", exact: true });
  const shown = trigger.getByText(/\/webhook\/agent_/);
  expect(await shown.textContent()).toMatch(/\/•+$/);
  await trigger.getByRole("button", { name: "Show the token" }).click();
  const url = await shown.textContent();
  const call = (body: object): Promise<Response> =>
    fetch(url!, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  expect((await call({ customer: "Ada" })).status).toBe(422);
  await trigger.getByRole("row", { name: /refused.*deliverBy/ }).waitFor();
  expect((await call({ customer: "Ada", speed: "rush", deliverBy: "2026-12-01" })).status).toBe(202);
  await trigger
    .getByRole("row", { name: /started/ })
    .getByRole("link", { name: /^run_/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "Order intake", exact: true }).waitFor();
});

test("a webhook whose calls must be signed has a URL to copy, and no command", async () => {
  const { page } = person;
  const AGENT = `{ agentsConnection(filter: {text: "Order intake"}, first: 1) { nodes { id project { id } } } }`;
  const [agent] = (await server.data(AGENT)).agentsConnection.nodes;
  const SET = "mutation ($input: SetSecretInput!) { setSecret(input: $input) { id } }";
  await server.data(SET, { input: { projectId: agent.project.id, name: "signing", value: "value" } });
  const CREATE = "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }";
  const policy = { signature: { preset: "github", secret: "signing" } };
  const input = { agentId: agent.id, name: "signed", trigger: { type: "webhook" }, policy };
  await server.data(CREATE, { input });
  await open("Order intake", "triggers");
  const copies = (name: string): Locator =>
    page.getByRole("region", { name, exact: true }).getByRole("button", { name: /^Copy/ });
  await copies("signed").first().waitFor();
  expect(await copies("signed").count()).toBe(1);
  expect(await copies("shop").count()).toBe(2);
});

test("a webhook gets another URL after it was said what becomes of the old one", async () => {
  const { page } = person;
  await open("Order intake", "triggers");
  const trigger = page.getByRole("region", { name: "shop", exact: true });
  await trigger.getByRole("button", { name: "Show the token" }).click();
  const shown = trigger.getByText(/\/webhook\/agent_/);
  const before = await shown.textContent();
  await choose(trigger, "New URL…");
  const dialog = page.getByRole("dialog", { name: "A new URL for shop" });
  await dialog.getByText(/The old URL works for 60 more minutes/).waitFor();
  await expectGoodLooks(page, "a new URL");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await shown.textContent(), "nothing was done").toBe(before);
  await choose(trigger, "New URL…");
  await dialog.getByRole("button", { name: "Make a new URL" }).click();
  await dialog.waitFor({ state: "detached" });
  const made = trigger.getByRole("region", { name: "The new URL of shop" });
  const leftMs = Date.parse((await made.locator("time").getAttribute("datetime"))!) - Date.now();
  expect(Math.abs(leftMs - 55 * 60_000), "an hour, less what the test has taken").toBeLessThan(5 * 60_000 + 1_000);
  const after = await made.getByText(/\/webhook\/agent_/).textContent();
  expect(after).not.toBe(before);
  await expectGoodLooks(page, "the new URL");
  await made.getByRole("button", { name: "Done" }).click();
  await made.waitFor({ state: "detached" });
  expect(await trigger.getByText(after!).count(), "it is shown once").toBe(0);
  await trigger.getByText(/The old URL works until/).waitFor();
  const body = JSON.stringify({ customer: "Ada", speed: "rush", deliverBy: "2026-12-01" });
  for (const url of [before, after]) {
    const answer = await fetch(url!, { method: "POST", headers: { "content-type": "application/json" }, body });
    expect(answer.status).toBe(202);
  }
});

test("a firing is replayed once however often it is pressed, and older firings are reached", async () => {
  const { page } = person;
  await person.go(`/agents/${agents["Flaky service"]}?tab=triggers&add=cron`);
  const form = page.getByRole("form", { name: "On a schedule" });
  await form.getByLabel("Name").fill("replayed");
  await form.getByRole("button", { name: "Add the trigger" }).click();
  const trigger = page.getByRole("region", { name: "replayed" });
  await trigger.getByText("not fired yet").waitFor();
  await trigger.getByRole("button", { name: "Fire now" }).click();
  const rows = trigger.getByRole("row").filter({ has: page.getByRole("button") });
  await rows.waitFor();

  // Held back, so that it can be pressed again meanwhile.
  let go = (): void => undefined;
  const held = new Promise<void>((resolve) => (go = resolve));
  let count = 0;
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("replayFiring")) return route.continue();
    count++;
    await held;
    return route.continue();
  });
  await rows.getByRole("button", { name: "Replay" }).dispatchEvent("click");
  await trigger.locator("button[data-loading=true]").waitFor();
  await rows.locator("button").dispatchEvent("click");
  go();
  await expect.poll(() => rows.count()).toBe(2);
  expect(count).toBe(1);
  await page.unroute("**/graphql");

  for (let more = 3; more <= 7; more++) {
    await trigger.getByRole("button", { name: "Fire now" }).click();
    await expect.poll(() => rows.count()).toBe(Math.min(more, 5));
    await trigger.locator("button[data-loading=true]").waitFor({ state: "detached" });
  }
  await trigger.getByRole("button", { name: "Older firings" }).click();
  await expect.poll(() => rows.count()).toBe(7);
});

test("an event's filter is made in a form, and JSON says what the form cannot", async () => {
  const { page } = person;
  await open("Order intake", "triggers");
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem", { name: "On an event" }).click();
  const form = page.getByRole("form", { name: "On an event" });
  await form.getByLabel("Name").fill("european orders");
  await form.getByRole("textbox", { name: "Source" }).fill("shop");
  await form.getByRole("textbox", { name: "Event" }).fill("order.created");
  await form.getByText("Every event with this name is taken.").waitFor();
  await form.getByRole("button", { name: "Only if a field is…" }).click();
  await form.getByRole("textbox", { name: "Field 1" }).fill("country");
  const values = form
    .getByRole("textbox", { name: "Accepted values of field 1" })
    .or(form.getByRole("combobox", { name: "Accepted values of field 1" }));
  for (const value of ["FR", "DE"]) {
    await values.fill(value);
    await values.press("Enter");
  }
  await expectGoodLooks(page, "a filter's form");
  await form.getByRole("button", { name: "Add the trigger" }).click();
  const trigger = page.getByRole("region", { name: "european orders" });
  await trigger.getByText("When shop says order.created, if country is FR or DE").waitFor();

  await choose(trigger, "Change");
  const changed = page.getByRole("form", { name: "On an event" });
  await changed.getByText("JSON", { exact: true }).click();
  const json = changed.getByRole("textbox", { name: "Filter" });
  expect(JSON.parse(await json.inputValue())).toEqual({ country: ["FR", "DE"] });
  const change = changed.getByRole("button", { name: "Change european orders" });
  await typeAndPress(json, "{", change);
  await expectSaidOnce(json, "Filter is not JSON at line 1, column 2: expected property name or '}'");
  expect(await changed.getByRole("alert").count()).toBe(0);
  await typeAndPress(json, '{"total": 1, "country": {}}', change);
  await expectSaidOnce(json, /^Filter country must be a list .*; total must be a list /);
  await typeAndPress(json, '{"total": [1, 2]}', change);
  await trigger.getByText("if total is 1 or 2").waitFor();
  await choose(trigger, "Delete…");
  await page.getByRole("dialog").getByRole("textbox").fill("european orders");
  await page.getByRole("dialog").getByRole("button", { name: "Delete european orders" }).click();
  await trigger.waitFor({ state: "detached" });
});

test("what is wrong with JSON is said at its field, and the button stays under the pointer", async () => {
  const { page } = person;
  const { agent } = await server.data(`{ agent(id: "${agents["Order intake"]}") { project { id } } }`);
  const definition = `{"document": {"dsl": "1.0.3", "namespace": "demo", "name": "any-input", "version": "1.0.0"}, "do": [{"done": {"set": {"is": "done"}}}]}`;
  const PUBLISH = "mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }";
  const { publishAgent } = await server.data(PUBLISH, { input: { projectId: agent.project.id, definition } });
  await person.go(`/agents/${publishAgent.id}?tab=run`);
  const input = page.getByRole("textbox", { name: /^Input of / });
  const run = page.getByRole("button", { name: /^Run / });
  await typeAndPress(input, '{\n  "name": "Ada",\n}', run);
  await expectSaidOnce(input, /^Input of .* is not JSON at line 3, column 1: expected double-quoted property name$/);
  await typeAndPress(input, "[1]", run);
  await expectSaidOnce(input, /^Input of .* must be a JSON object, such as \{\}$/);
  await typeAndPress(input, '{"name": "Ada"}', run);
  await page.waitForURL(/\/runs\/run_/);

  await open("Order intake", "triggers");
  const trigger = page.getByRole("region", { name: "shop", exact: true });
  await trigger.getByRole("button", { name: "Send a test call" }).click();
  const call = trigger.getByRole("form", { name: "Send a test call" });
  await call.getByText("JSON", { exact: true }).click();
  const payload = call.getByRole("textbox", { name: "Payload" });
  const send = call.getByRole("button", { name: "Send a test call" });
  await typeAndPress(payload, '{"customer": Ada}', send);
  await expectSaidOnce(payload, /^Payload is not JSON: unexpected token 'A', .*"customer": Ada/);
  await typeAndPress(payload, '{"customer": "Ada", "speed": "rush", "deliverBy": "2026-12-24"}', send);
  await call.waitFor({ state: "detached" });
});

test("a value that is wrong is said at its field once it is left, and the button stays under the pointer", async () => {
  const { page } = person;
  await person.go(`/agents/${agents["Flaky service"]}?tab=run`);
  const times = page.getByLabel(/^How often it fails/);
  const run = page.getByRole("button", { name: /^Run / });
  await typeAndPress(times, "twice", run);
  // The press has sent the form, which says so above its fields, too.
  await page.getByRole("alert").getByRole("button", { name: "How often it fails must be a number" }).waitFor();
  await times.fill("1");
  await page.getByRole("alert").waitFor({ state: "detached" });
  // Left by a key, and by a press on nothing.
  const problem = page.getByText("How often it fails must be a whole number", { exact: true });
  await times.fill("1.5");
  await page.keyboard.press("Tab");
  await problem.first().waitFor();
  await times.fill("1");
  await problem.first().waitFor({ state: "detached" });
  await times.fill("1.5");
  await page.getByRole("heading", { level: 1 }).click();
  await problem.first().waitFor();

  await person.go(`/agents/${agents["Flaky service"]}?tab=triggers&add=cron`);
  const form = page.getByRole("form", { name: "On a schedule" });
  await form.getByLabel("Name").fill("never made");
  const sent = page.waitForRequest((request) => !!request.postData()?.includes("mutation CreateTrigger("));
  await typeAndPress(
    form.getByLabel(/^How often it fails/),
    "twice",
    form.getByRole("button", { name: "Add the trigger" }),
  );
  await sent;
  await form.getByText(/^How often it fails must be /).waitFor();
});

test("an event is published, and says which trigger it started and why it missed", async () => {
  const { page } = person;
  const publish = async (data: object): Promise<void> => {
    await person.go("/events");
    await page.getByRole("button", { name: "Publish a test event" }).click();
    await page.getByRole("textbox", { name: "Source", exact: true }).fill("shop");
    await page.getByRole("textbox", { name: "Event", exact: true }).fill("order.created");
    const field = page.getByLabel("Data");
    const button = page.getByRole("button", { name: "Publish the event" });
    await typeAndPress(field, "{", button);
    await expectSaidOnce(field, "Data is not JSON at line 1, column 2: expected property name or '}'");
    await typeAndPress(field, JSON.stringify(data), button);
    await page.getByRole("heading", { name: "order.created", exact: true }).waitFor();
  };
  await publish({ customer: "Ada" });
  await page.getByText("its filter wants speed, which the data does not have").waitFor();
  // The page is read before its trigger has fired.
  const database = await connectTo(server);
  await database.query("begin; lock table firings in exclusive mode");
  await publish({ customer: "Ada", speed: "rush", deliverBy: "2026-12-01" });
  const started = page.getByRole("region", { name: "What it started" });
  await started.getByText("Nothing:").waitFor();
  await database.query("commit");
  await database.end();
  await started.getByText("orders of the shop").waitFor();
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Events" }).click();
  await expect.poll(() => page.getByRole("link", { name: "order.created" }).count()).toBe(2);
});

test("a definition is changed with its problems beside it, published, compared, and taken back", async () => {
  const { page } = person;
  await open("Batch greeting", "definition");
  const text = page.getByRole("textbox", { name: "Definition" });
  await text.waitFor();
  // With the keys of a person: text that is put over a selection brings styles of the browser's own.
  const typeInVersion = async (deleted: number, typed: string): Promise<void> => {
    await text.focus();
    await page.keyboard.press("ControlOrMeta+Home");
    for (let line = 0; line < 4; line++) await page.keyboard.press("ArrowDown");
    for (const key of ["End", "ArrowLeft", ...Array.from({ length: deleted }, () => "Backspace")])
      await page.keyboard.press(key);
    await page.keyboard.type(typed);
  };
  const publish = page.getByRole("button", { name: "Publish", exact: true });
  await page.getByText("Published version 1.0.0. Edit it to make a draft.").waitFor();
  expect(await publish.count()).toBe(0);
  await typeInVersion(3, "x");
  await page.getByRole("region", { name: "Problems" }).getByText("Line 5").waitFor();
  await publish.click();
  await page
    .getByRole("alert")
    .getByText(/version/)
    .first()
    .waitFor();
  await typeInVersion(1, "1.0");
  await publish.click();
  await page.getByRole("status").getByText("1.1.0 is published: runs that start from now on use it.").waitFor();
  await page.getByText("demo / batch-greeting 1.1.0").waitFor();
  const versions = page.getByRole("region", { name: "Versions" });
  const itself = versions.getByRole("button", { name: "Compare with 1.1.0" });
  await expect.poll(() => itself.count(), { message: "it is the text" }).toBe(0);
  await versions.getByRole("button", { name: "Compare with 1.0.0" }).click();
  await page.getByRole("textbox", { name: "Current text" }).getByText('"1.1.0"').waitFor();
  // The address has what is compared.
  await page.reload();
  await page.getByRole("textbox", { name: "Current text" }).getByText('"1.1.0"').waitFor();
  await versions.getByRole("button", { name: "Publish 1.0.0 again" }).click();
  const dialog = page.getByRole("dialog", { name: "Publish 1.0.0 again?" });
  await dialog.getByText(/New runs use 1.0.0 instead of 1.1.0/).waitFor();
  await dialog.getByRole("button", { name: "Publish 1.0.0" }).click();
  await page.getByRole("status").getByText("1.0.0 is published: runs that start from now on use it.").waitFor();
  await page.getByText("demo / batch-greeting 1.0.0").waitFor();
});
