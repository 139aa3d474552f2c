/** Work without a mouse: the palette, the keys, and many approvals one after the other. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestServer, type Data, type TestServer } from "../client.ts";
import { expectGoodLooks, sharedBrowser, OWNER, Person, sendDecisions, setUp } from "./ui.ts";

const NIGHTLY = `
document: {dsl: "1.0.3", namespace: demo, name: night-job, version: "1.0.0", title: Night job}
do:
  - tidy: {raise: {error: {type: https://example.com/full, status: 507, title: Full}}}
`;

let browser: Browser;
let server: TestServer;
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), startTestServer({ fresh: true })]);
  person = await Person.open(browser);
  await setUp(person.page, server);
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Types once the field has the focus. */
async function search(text: string): Promise<void> {
  const { page } = person;
  const field = page.getByRole("combobox", { name: "Search or run" });
  await field.and(page.locator(":focus")).waitFor();
  await page.keyboard.type(text);
}

test("the palette finds an agent by a few letters and leads to its form; a place; another theme", async () => {
  const { page } = person;
  const settings = page.getByRole("link", { name: "Settings", exact: true });
  await settings.focus();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).waitFor();
  await page.keyboard.press("Escape");
  await settings.and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).waitFor();
  await expectGoodLooks(page, "palette");
  await search("flaky");
  await page.getByRole("option", { name: /Run Flaky service/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Flaky service", exact: true }).waitFor();

  await page.keyboard.press("Control+k");
  await search("describe");
  await page.getByRole("option", { name: "Describe a run", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "What should it do?" }).waitFor();

  await page.keyboard.press("Control+k");
  await search("dark");
  await page.getByRole("option", { name: "Dark theme", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator("html").getAttribute("data-mantine-color-scheme")).toBe("dark");
});

test("g and a letter go to a place, and ? says the keys", async () => {
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  for (const [key, place] of [
    ["r", "Runs"],
    ["p", "Approvals"],
    ["e", "Events"],
    ["a", "Agents"],
    ["s", "Settings"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.getByRole("heading", { name: place, exact: true }).waitFor();
  }
  await page.getByRole("link", { name: "Events", exact: true }).press("Enter");
  await page.getByRole("heading", { name: "Events", exact: true }).waitFor();
  await page.locator("#page:focus").waitFor();
  await page.keyboard.press("?");
  await page
    .getByRole("dialog", { name: "Keyboard shortcuts" })
    .getByText("Approve, reject the open approval")
    .waitFor();
  await expectGoodLooks(page, "keys");
  await page.keyboard.press("Escape");
});

test("the account's menu opens by keyboard, also before its code is there, and gives the focus back; the palette leads to the keys", async () => {
  const { page } = person;
  await page.goto(`${server.url}/agents`);
  const account = page.getByRole("button", { name: "account" });
  for (let time = 0; time < 2; time++) {
    await account.press("Enter");
    await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    await page.locator("[role^=menuitem]:focus").waitFor();
    expect(await account.getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("Escape");
    await account.and(page.locator(":focus")).waitFor();
    expect(await account.getAttribute("aria-expanded")).toBe("false");
  }
  await page.keyboard.press("Control+k");
  await search("short");
  await page.getByRole("option", { name: "Keyboard shortcuts", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
});

test("the palette opens from a field that takes text, and no key acts behind a dialog", async () => {
  const { page } = person;
  await person.go("/agents");
  const field = page.getByRole("searchbox", { name: "Name or handle" });
  await field.focus();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or run" });
  await palette.waitFor();
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
  await field.and(page.locator(":focus")).waitFor();
  await page.getByRole("heading", { name: "Agents", exact: true }).click();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: /^Key/ });
  await help.waitFor();
  await help.getByRole("button", { name: "Close" }).focus();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  expect(await palette.count()).toBe(0);
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toBe("/agents");
});

test("three approvals are decided by keyboard alone: two keys each", async () => {
  const { page } = person;
  const purposes = ["Train", "Hotel", "Taxi"];
  for (const purpose of purposes) {
    await person.go("/agents");
    await page.getByRole("link", { name: "Expense approval", exact: true }).click();
    // The list has a form, too, before the first run.
    await page.getByRole("heading", { name: "Expense approval", exact: true }).waitFor();
    await page.getByLabel("What was it for").fill(purpose);
    await page.getByLabel("Amount in euros").fill("180");
    await page.getByRole("button", { name: "Run expense-approval" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor();
  }
  // The number comes over the live connection: the list that is read now is not read again.
  const open = page
    .getByRole("navigation", { name: "Main" })
    .getByRole("link", { name: "Approvals 3 open", exact: true });
  await open.click();
  await page.getByRole("button", { name: /for Taxi\?/ }).waitFor();
  // From wherever one is: the first one. What is open is not decided by a key that leads elsewhere.
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Approval: Pay 180 euros for Train?" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("row", { name: /^open .*for Train\?/ }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  for (const [index, purpose] of purposes.entries()) {
    const card = page.getByRole("region", { name: `Approval: Pay 180 euros for ${purpose}?` });
    await card.getByRole("button", { name: "Approve" }).waitFor();
    await page.keyboard.press(index === 1 ? "r" : "a");
    await page.getByRole("row", { name: new RegExp(`^${index === 1 ? "reject" : "appro"}.* .*${purpose}`) }).waitFor();
  }
  await sendDecisions(page);
  for (const [index, purpose] of purposes.entries())
    await page
      .getByRole("row", { name: new RegExp(`^${index === 1 ? "rejected" : "approved"} .*${purpose}`) })
      .waitFor();
});

/** The keys that a person presses, and how often. */
class Keyboard {
  count = 0;

  async press(...keys: string[]): Promise<void> {
    this.count += keys.length;
    for (const key of keys) await person.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    this.count += text.length;
    await person.page.keyboard.type(text);
  }

  /** In the palette: so much of the word as is needed, and Enter. */
  async choose(text: string, word: string): Promise<void> {
    const { page } = person;
    await this.press("Control+k");
    const search = page.getByRole("combobox", { name: "Search or run" });
    await search.and(page.locator(":focus")).waitFor();
    await this.type(text);
    await page.getByRole("option", { name: word, selected: true }).waitFor();
    await this.press("Enter");
  }

  /** How often, printed as well. */
  countFor(task: string): number {
    process.stdout.write(`${task}: ${this.count} key presses\n`);
    return this.count;
  }
}

describe("three tasks by keyboard alone", () => {
  const idOf = async (handle: string): Promise<string> =>
    (await asOwner("{ agents { id handle } }")).agents.find((one: Data) => one.handle === handle).id;
  let token: string;
  const logIn = async (): Promise<void> => {
    const { email, password } = OWNER;
    const { login } = await server.data(
      "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }",
      { email, password },
      null,
    );
    token = login.accessToken;
  };
  // The server's clock may have gone on.
  beforeEach(logIn);
  const asOwner = (query: string, variables = {}): Promise<Data> => server.data(query, variables, token);

  test("approve twenty", async () => {
    const { page } = person;
    const agentId = await idOf("expense-approval");
    const purposes = Array.from({ length: 20 }, (_, index) => `trip ${index + 10}`);
    // One after the other, so that they are asked in this order.
    for (const purpose of purposes) {
      const input = { agentId, wait: 30, input: { purpose, amount: 180 } };
      const { runAgent } = await asOwner("mutation ($input: RunAgentInput!) { runAgent(input: $input) { status } }", {
        input,
      });
      expect(runAgent.status).toBe("paused");
    }
    await person.go("/agents");
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();

    const keyboard = new Keyboard();
    await keyboard.press("g", "p");
    await page.getByRole("button", { name: /for trip 10\?/ }).waitFor();
    await keyboard.press("j", "Enter");
    for (const purpose of purposes) {
      const card = page.getByRole("region", { name: `Approval: Pay 180 euros for ${purpose}?` });
      await card.getByRole("button", { name: "Approve" }).waitFor();
      await keyboard.press("a");
      await page.getByRole("row", { name: new RegExp(`^appro.* .*for ${purpose}\\?`) }).waitFor();
    }
    await sendDecisions(page);
    for (const purpose of purposes)
      await page.getByRole("row", { name: new RegExp(`^approved .*for ${purpose}\\?`) }).waitFor();
    expect(keyboard.countFor("approve twenty")).toBeLessThanOrEqual(24);
  });

  test("find last night's failed run and retry it", async () => {
    const { page } = person;
    await asOwner("mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
      definition: NIGHTLY,
    });
    const agentId = await idOf("night-job");
    const fail = async (): Promise<string> => {
      await logIn();
      const { runAgent } = await asOwner(
        "mutation ($agentId: ID!) { runAgent(input: {agentId: $agentId, wait: 30}) { id status } }",
        { agentId },
      );
      expect(runAgent.status).toBe("failed");
      return runAgent.id;
    };
    // The same day each time, also at midnight.
    const now = new Date();
    const tomorrowAt = (hour: number): number =>
      new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, hour).getTime();
    // A page that is open would ask with a token that has expired meanwhile.
    await page.goto("about:blank");
    await server.clock.set(tomorrowAt(2));
    const id = await fail();
    await server.clock.set(tomorrowAt(12));
    await fail();
    await page.clock.setSystemTime(tomorrowAt(12));
    await page.goto(`${server.url}/agents`);
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();

    const keyboard = new Keyboard();
    await keyboard.choose("last", "Runs that failed last night");
    await page.getByRole("row", { name: /failed.*Night job/ }).waitFor();
    expect(await page.getByRole("row", { name: /Night job/ }).count()).toBe(1);
    await keyboard.press("j", "Enter");
    await page.getByRole("heading", { name: "Night job" }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/runs/${id}`);
    await keyboard.choose("ret", "Retry from tidy (step 1)");
    await page.waitForURL((url) => url.pathname.startsWith("/runs/run_") && !url.pathname.endsWith(id));
    expect(keyboard.countFor("find last night's failed run and retry it")).toBeLessThanOrEqual(14);
  });

  test("change a cron trigger", async () => {
    const { page } = person;
    const agentId = await idOf("flaky-service");
    const trigger = { type: "cron", schedule: "0 8 * * *", timezone: "Europe/Berlin" };
    await asOwner("mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }", {
      input: { agentId, name: "morning", trigger },
    });
    await person.go("/runs");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();

    const keyboard = new Keyboard();
    await keyboard.choose("flak", "Run Flaky service flaky-service");
    await page.getByRole("heading", { name: "Flaky service" }).waitFor();
    await keyboard.choose("trig", "Triggers of Flaky service");
    await page.getByRole("region", { name: "morning" }).waitFor();
    await keyboard.choose("ch", "Change morning");
    const schedule = page.getByRole("textbox", { name: "Schedule" });
    await schedule.and(page.locator(":focus")).waitFor();
    await keyboard.type("0 6 * * *");
    await keyboard.press("Enter");
    await page.getByRole("region", { name: "morning" }).getByText("At 06:00, Europe/Berlin").waitFor();
    expect(keyboard.countFor("change a cron trigger")).toBeLessThanOrEqual(26);
  });
});
