/** Settings: keys, members, plan and usage, secrets, sessions, the theme; and what a member without permission sees. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { GREETER, expectGoodLooks, sharedBrowser, Person, type Credentials } from "./ui.ts";

const run = promisify(execFile);

let browser: Browser;
let server: SharedServer;
/** Goes from test to test in one page, far from UTC. */
let owner: Person;
/** The browser of one who is somebody else. */
let other: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  await server.data("mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
    definition: GREETER,
  });
  owner = await Person.open(browser, { timezoneId: "Asia/Tokyo" });
  other = await Person.open(browser, { colorScheme: "light" });
  await owner.enter(server, "/settings");
  await owner.page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
});
afterAll(async () => {
  await owner[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function enter(person: Person, path: string, who: Credentials = server.world): Promise<Page> {
  person.mayFail();
  if (person === owner) await person.go(path);
  else await person.enter(server, path, who);
  await person.page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  return person.page;
}

/** Targets that a finger may miss. Lines of text may have links, and a label is pressed as well as its box. */
const tooSmall = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("main :is(button, input, select, textarea, summary, nav a)")]
      .filter((one) => one.checkVisibility() && !/^(checkbox|radio)$/.test((one as HTMLInputElement).type))
      .map((one) => ({
        name: one.ariaLabel ?? one.textContent ?? one.tagName,
        high: (one.closest(".mantine-Input-wrapper") ?? one).getBoundingClientRect().height,
      }))
      .filter(({ high }) => high < 44)
      .map(({ name, high }) => `${name}: ${high}`),
  );

const dialogButton = (page: Page, name: string) => page.getByRole("dialog").getByRole("button", { name });

test("a key for one agent: made, its command starts a run, it is in the list, revoked", async () => {
  const page = await enter(owner, "/settings");
  await expect.poll(() => new URL(page.url()).pathname).toBe("/settings/keys");
  await page.getByRole("button", { name: "Create key" }).click();
  const form = page.getByRole("form", { name: "Create key" });
  await form.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Name is required").waitFor();
  await page.getByText("Agents must be at least one").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("report");
  await form.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("combobox", { name: "Agents" }).and(page.locator(":focus")).waitFor();
  expect(await page.getByRole("listbox").count()).toBe(0);
  expect(await page.getByRole("radio", { name: /Run this agent only/ }).isChecked()).toBe(true);
  await page.getByRole("combobox", { name: "Agents" }).click();
  await page.getByRole("option", { name: /Greeter/ }).click();
  await page.keyboard.press("Escape");
  await form.getByRole("button", { name: "Create key" }).click();

  await page.getByRole("heading", { name: "Your key “report”" }).waitFor();
  const [secret, command] = await page.locator("pre").allTextContents();
  expect(command).toContain(secret);
  const { stdout } = await run("sh", ["-c", command!]);
  expect(JSON.parse(stdout).data.runAgent.id).toMatch(/^run_/);

  await page.getByRole("button", { name: "Show all keys" }).click();
  const row = page.getByRole("row", { name: /report/ });
  await row.getByText("Run this agent only").waitFor();
  await row.getByText("Greeter").waitFor();
  await row.getByText("active").waitFor();
  expect(await page.getByText(secret!).count(), "shown once").toBe(0);
  const revoke = row.getByRole("button", { name: "Revoke report" });
  await revoke.click();
  await dialogButton(page, "Cancel").click();
  await expect.poll(() => revoke.evaluate((button) => button === document.activeElement)).toBe(true);
  await revoke.click();
  await dialogButton(page, "Revoke key").click();
  await page.getByText("Revoked (1)").click();
  await row.getByText("revoked", { exact: true }).waitFor();
  expect((await server.graphql("{ caller { scopes } }", {}, secret)).status).toBe(401);
});

test("a key of chosen scopes that never expires", async () => {
  const page = await enter(owner, "/settings/keys?make=true");
  await page.getByLabel("Name", { exact: true }).fill("reader");
  await page.getByRole("radio", { name: /Choose scopes/ }).check();
  await page.getByRole("checkbox", { name: /runs:read/ }).check();
  await page.getByLabel("Expires").selectOption({ label: "Never" });
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: "Show all keys" }).click();
  await page
    .getByRole("row", { name: /reader.*runs:read.*whole organization/ })
    .getByText("never")
    .first()
    .waitFor();
});

test("a key that ends on a day is good for all of that day where its maker is", async () => {
  const page = await enter(owner, "/settings/keys?make=true");
  await page.getByLabel("Name", { exact: true }).fill("until then");
  await page.getByRole("radio", { name: /Choose scopes/ }).check();
  await page.getByRole("checkbox", { name: /runs:read/ }).check();
  await page.getByLabel("Expires").selectOption({ label: "On a date" });
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByText("Last day is required").waitFor();
  const day = `${new Date().getFullYear() + 1}-06-30`;
  await page.getByLabel("Last day").fill(day);
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("heading", { name: "Your key “until then”" }).waitFor();
  const { apiKeys } = await server.data("{ apiKeys(first: 1) { nodes { name expiresAt } } }");
  expect(apiKeys.nodes).toEqual([{ name: "until then", expiresAt: `${day}T14:59:59.000Z` }]);
});

test("a key for a project names none of its agents beside it", async () => {
  const page = await enter(owner, "/settings/keys?make=true");
  await page.getByLabel("Name", { exact: true }).fill("of a project");
  await page.getByRole("radio", { name: /Choose scopes/ }).check();
  await page.getByRole("checkbox", { name: /runs:read/ }).check();
  await page.getByRole("radio", { name: "Only some projects or agents" }).check();
  const agents = page.getByRole("combobox", { name: "Agents", exact: true });
  await agents.click();
  await page.getByRole("option", { name: /^Greeter/ }).click();
  await page.getByRole("combobox", { name: /^Projects/ }).click();
  await page
    .getByRole("listbox", { name: /^Projects/ })
    .getByRole("option", { name: "Test" })
    .click();
  await agents.click();
  await page.getByText("No matching agents").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: "Show all keys" }).click();
  await page
    .getByRole("row", { name: /of a project/ })
    .getByText("project Test", { exact: true })
    .waitFor();
});

test("what somebody else changes is there when one comes back to the page, or asks for it", async () => {
  const page = await enter(owner, "/settings/keys");
  await page.getByRole("row", { name: /^test/ }).waitFor();
  // An answer of before that is on its way when one comes back is not the last.
  const [read, comesBack] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let count = 0;
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("query Keys(") || count++ > 0) return route.continue();
    const response = await route.fetch();
    read.resolve();
    await comesBack.promise;
    await route.fulfill({ response });
  });
  await page.getByRole("button", { name: "Reload" }).click();
  await read.promise;
  await server.data("mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id } }", {
    input: { name: "elsewhere", scopes: ["runs:read"] },
  });
  // Coming back is two events, and one more read for both, after the answer that is on its way.
  await page.evaluate(async () => {
    document.dispatchEvent(new Event("visibilitychange"));
    dispatchEvent(new Event("focus"));
    await new Promise((resolve) => void setTimeout(resolve, 60));
  });
  comesBack.resolve();
  await page.getByRole("row", { name: /elsewhere/ }).waitFor();
  expect(count).toBe(2);
  await page.unroute("**/graphql");

  await page.context().setOffline(true);
  await page.getByText(/^Reconnecting/).waitFor();
  await server.data("mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { id } }", {
    input: { name: "while away", scopes: ["runs:read"] },
  });
  await page.context().setOffline(false);
  await page.getByRole("row", { name: /while away/ }).waitFor();

  await page.getByRole("link", { name: "Members" }).click();
  await page.getByRole("heading", { name: "Invitations" }).waitFor();
  const heidi = await server.member("heidi@example.org", "viewer");
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("row", { name: heidi.email }).waitFor();
});

test("members: another role, an invitation and its end, the last owner stays, one is removed", async () => {
  const carol = await server.member("carol@example.org", "editor");
  const page = await enter(owner, "/settings/members");
  const row = page.getByRole("row", { name: carol.email });
  await row.getByRole("button", { name: /^Role of/ }).click();
  await page.getByRole("menuitemradio", { name: /^admin/ }).click();
  await row.getByRole("button", { name: /: admin$/ }).waitFor();

  const own = page.getByRole("row", { name: new RegExp(server.world.email) });
  await own.getByRole("button", { name: /: owner$/ }).waitFor();
  expect(await own.getByRole("button", { name: "Leave" }).count(), "an organization keeps an owner").toBe(0);
  // One's own role is changed after a question.
  await own.getByRole("button", { name: /^Role of/ }).click();
  await page.getByRole("menuitemradio", { name: /^viewer/ }).click();
  await page.getByRole("dialog", { name: "Become a viewer?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await own.getByRole("button", { name: /: owner$/ }).waitFor();

  await page.getByLabel(/^E-mail/).fill("dave@example.org");
  await page.getByLabel("Role", { exact: true }).selectOption("viewer");
  await page.getByRole("button", { name: "Create invite link" }).click();
  expect(await page.locator("pre").textContent()).toContain("#invitation=");
  const invited = page.getByRole("row", { name: /dave@example.org/ });
  await invited.getByRole("button", { name: "Revoke" }).click();
  await dialogButton(page, "Revoke invitation").click();
  await invited.waitFor({ state: "detached" });
  expect(await page.locator("pre").count(), "the link that is no longer good").toBe(0);

  await row.getByRole("button", { name: /^Remove/ }).click();
  await dialogButton(page, "Remove member").click();
  await row.waitFor({ state: "detached" });
});

test("an admin is offered no owner, and may not change one; who leaves is out", async () => {
  const admin = await server.member("erin@example.org", "admin");
  const frank = await server.member("frank@example.org", "runner");
  const page = await enter(other, "/settings/members", admin);
  await page
    .getByRole("row", { name: frank.email })
    .getByRole("button", { name: /^Role of/ })
    .click();
  await page.getByRole("menuitemradio", { name: /^editor/ }).waitFor();
  await expectGoodLooks(page, "roles");
  expect(await page.getByRole("menuitemradio", { name: /^owner/ }).count()).toBe(0);
  await page.keyboard.press("Escape");
  expect(await page.getByLabel("Role", { exact: true }).getByRole("option", { name: "owner" }).count()).toBe(0);
  const owner = page.getByRole("row", { name: new RegExp(server.world.email) });
  expect(await owner.getByRole("button").count()).toBe(0);
  // Somebody takes the role away while the page is open: it asks who it is for, and says so.
  const tabs = page.getByRole("navigation", { name: "Settings" });
  await tabs.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("row", { name: /^test/ }).waitFor();
  const { members } = await server.data("{ members { nodes { id user { email } } } }");
  const memberId = members.nodes.find(({ user }: { user: { email: string } }) => user.email === admin.email).id;
  await server.data("mutation ($input: SetMemberRoleInput!) { setMemberRole(input: $input) { id } }", {
    input: { memberId, role: "viewer" },
  });
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { name: "You may not see API keys" }).waitFor();
  await tabs.getByRole("link", { name: "Members" }).click();
  await page.getByRole("button", { name: "Leave" }).click();
  await dialogButton(page, "Leave").click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
});

test("plan and usage: what was used, as bars and as a table", async () => {
  const page = await enter(owner, "/settings/usage");
  await page.getByText("enterprise").waitFor();
  await page.getByRole("navigation", { name: "What is counted" }).getByRole("link", { name: "Runs" }).click();
  const table = page.getByRole("table", { name: "Runs by day" });
  await table.waitFor();
  expect(await table.getByRole("row").count()).toBe(31);
  expect(new URL(page.url()).search).toBe("?show=runs");
});

test("secrets: set, replaced, deleted by typing the name; no value comes back", async () => {
  const page = await enter(owner, "/settings/secrets");
  await page.getByRole("heading", { name: "No secrets yet" }).waitFor();
  const reload = page.getByRole("button", { name: "Reload" });
  expect(await reload.count(), "what to do next is something else").toBe(0);
  await page.getByRole("button", { name: "Set a secret" }).click();
  await page.getByLabel("Name").fill("no good");
  await page.getByLabel("Value", { exact: true }).fill("s3cret value");
  await page.getByRole("button", { name: "Set secret" }).click();
  await page.getByText(/^Name must be/).waitFor();
  await page.getByLabel("Name").fill("shopToken");
  await page.getByRole("button", { name: "Set secret" }).click();
  const row = page.getByRole("row", { name: /shopToken/ });
  await row.waitFor();
  await reload.waitFor();
  await row.getByRole("button", { name: "Replace the value of shopToken" }).click();
  await page.getByRole("heading", { name: "Replace the value of shopToken" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Replace the value of shopToken" }).waitFor();
  await page.getByLabel("Value", { exact: true }).fill("another");
  await page.getByRole("button", { name: "Replace value" }).click();
  await page.getByText("shopToken is set.").waitFor();
  expect(await page.content()).not.toMatch(/s3cret|another/);

  await row.getByRole("button", { name: "Delete shopToken" }).click();
  expect(await dialogButton(page, "Delete secret").isDisabled()).toBe(true);
  await page.getByLabel(/^Type shopToken/).fill("shopToken");
  await dialogButton(page, "Delete secret").click();
  await page.getByRole("heading", { name: "No secrets yet" }).waitFor();
});

test("sessions: another one is ended, then all others; a new password", async () => {
  const who = await server.member("grace@example.org", "runner");
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  await server.data(login, who, null);
  await server.data(login, who, null);
  const page = await enter(other, "/settings/sessions", who);
  await page.getByText("this one").waitFor();
  const ends = page.getByRole("button", { name: "End A program" });
  await expect.poll(() => ends.count()).toBe(2);
  await ends.first().click();
  await dialogButton(page, "End session").click();
  await expect.poll(() => ends.count()).toBe(1);
  await page.getByRole("button", { name: "End all others" }).click();
  await dialogButton(page, "End sessions").click();
  await expect.poll(() => ends.count()).toBe(0);

  await page.getByRole("textbox", { name: "Current password" }).fill("wrong password");
  await page.getByRole("textbox", { name: "New password" }).fill("a better password");
  await page.getByRole("button", { name: "Change password" }).click();
  await page
    .getByText(/wrong|not right|does not/i)
    .first()
    .waitFor();
  await page.getByRole("textbox", { name: "Current password" }).fill(who.password);
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Your password is changed.").waitFor();
  await server.data(login, { ...who, password: "a better password" }, null);
});

test("a member without permission is told so, and sees what is for all", async () => {
  const viewer = await server.member("victor@example.org", "viewer");
  const page = await enter(other, "/settings", viewer);
  await page.getByRole("row", { name: viewer.email }).waitFor();
  expect(await page.getByRole("heading", { name: "Invitations" }).count()).toBe(0);
  await page.getByText("Owners and admins invite people and see who is invited; you are a viewer.").waitFor();
  const tabs = page.getByRole("navigation", { name: "Settings" });
  await tabs.getByRole("link", { name: "API keys" }).click();
  await page.getByRole("heading", { name: "You may not see API keys" }).waitFor();
  await page.getByText("you are a viewer here").waitFor();
  await tabs.getByRole("link", { name: "Secrets" }).click();
  await page.getByRole("heading", { name: "You may not see secrets" }).waitFor();
  await tabs.getByRole("link", { name: "Usage" }).click();
  await page.getByRole("heading", { name: "You may not see the usage" }).waitFor();
  await page.getByText("enterprise").waitFor();
  await page.goto(`${server.url}/settings/nothing`);
  await page.getByText("There is nothing at this address").waitFor();
});

test("on a narrow screen the account's menu leads to the settings", async () => {
  await using person = await Person.open(browser, { viewport: { width: 360, height: 780 }, hasTouch: true });
  const page = await enter(person, "/settings/sessions");
  for (const [part, shows] of [
    ["keys", "button[aria-label^=Revoke]"],
    ["keys?make=true", "input[type=radio]"],
    ["members", "button[type=submit]"],
    ["usage", "table"],
    ["secrets", "h2"],
    ["models", "h2"],
    ["models?make=true", "input[type=password]"],
    ["sessions", "table"],
  ]) {
    await person.go(`/settings/${part}`);
    await page.locator(`main ${shows}`).first().waitFor({ state: "attached" });
    expect(await tooSmall(page), part).toEqual([]);
  }
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Settings" }).click();
  await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
});

test("the theme is chosen in the account's menu and kept", async () => {
  const page = await enter(other, "/settings/sessions");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(await ground()).toBe("rgb(255, 255, 255)");
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).waitFor();
  expect(await page.getByRole("menuitem", { name: "Settings" }).count(), "it stands in the frame").toBe(0);
  await expectGoodLooks(page, "account");
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect.poll(ground).toBe("rgb(16, 18, 22)");
  // Before any of the page's own scripts: nothing flashes.
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  await page.route("**/assets/*.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.reload({ waitUntil: "commit" });
  await expect.poll(ground).toBe("rgb(16, 18, 22)");
  expect(await page.locator("#app").innerHTML()).toBe("");
  letGo();
  await page.getByRole("heading", { name: "Settings", exact: true }).waitFor();
  expect(await ground()).toBe("rgb(16, 18, 22)");
});

test("from a later page of a long list there is a way back to the first", async () => {
  for (let count = 0; count < 55; count++)
    await server.data(`mutation { createApiKey(input: {name: "many ${count}", scopes: ["runs:read"]}) { id } }`);
  const page = await enter(owner, "/settings/keys");
  const pages = page.getByRole("navigation", { name: "Pages" });
  const newest = page.getByRole("row", { name: /^many 54 / });
  await newest.waitFor();
  expect(await pages.getByRole("link", { name: "First keys" }).count()).toBe(0);
  await pages.getByRole("link", { name: "Next keys" }).click();
  await page.getByRole("row", { name: /^many 1 / }).waitFor();
  expect(await newest.count()).toBe(0);
  await pages.getByRole("link", { name: "First keys" }).click();
  await newest.waitFor();
});
