/** A run's page as a conversation: a thousand turns, texts that are still being written, and several assistants in one run. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { decodeId } from "../../server/src/lib/ids.ts";
import { start } from "../agents.ts";
import { eventually } from "../client.ts";
import { connectTo } from "../faults/audit.ts";
import { startLlmService, toolCall, Writing, type LlmService } from "../llm-service.ts";
import { agentOf, CANCEL, ran } from "../runs.ts";
import { movedServer, type MovedServer } from "../shared-server.ts";
import { expectEachLook, expectGoodLooks, GREETER, LOOKS, Person, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: MovedServer;
let model: LlmService;
let person: Person;
let page: Page;
/** The parts of texts that the page was sent. */
let parts: string[] = [];
beforeAll(async () => {
  [browser, server, model] = await Promise.all([sharedBrowser(), movedServer(), startLlmService()]);
  const { projectId } = server.world;
  await server.data("mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    input: { projectId, definition: GREETER },
  });
  const prices = { inputPerMillion: 1, outputPerMillion: 2, currency: "EUR" };
  const connection = { projectId, name: "talks", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data("mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }", {
    input: { ...connection, isDefault: true, prices },
  });
  person = await Person.open(browser, { viewport: LOOKS[0]!.viewport });
  person.mayFail();
  person.page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      if (/"textDelta":{/.test(String(payload))) parts.push(String(payload));
    }),
  );
  page = await person.enter(server, "/agents");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(async () => {
  parts = [];
  await page.setViewportSize(LOOKS[0]!.viewport);
});

const assistant = (name: string, own: object = {}): object => ({
  [name]: {
    call: "assistant:1.0.0@default",
    with: {
      prompt: "Greet Grace, as often as it takes.",
      tools: [{ agent: { handle: "greeter", description: "Greets." } }],
      limits: { iterations: 1_000, toolCalls: 1_000, cost: 0.01 },
      ...own,
    },
  },
});
const doing = (...tasks: object[]): Promise<string> => agentOf(server, `do: ${JSON.stringify(tasks)}`);

/** Starts a run that ends with its test: if it went on, it would ask the model in the next test, also after a restart. */
async function started(...tasks: object[]): Promise<string> {
  const id = await start(server, await doing(...tasks));
  onTestFinished(async () => void (await server.graphql(CANCEL, { id })));
  return id;
}

/** Waits for words that a model writes. Without them it says where they got lost: the model was asked again, they were not sent, or not drawn. */
async function expectWritten(writing: Writing, text: Locator, words: string | RegExp): Promise<void> {
  try {
    await text.filter({ hasText: words }).waitFor();
  } catch (cause) {
    const drawn = await page.locator("#page").textContent();
    const sent = parts
      .slice(-20)
      .map((part) => part.slice(0, 300))
      .join("\n");
    throw new Error(`of ${writing.count} streams the page was sent\n${sent}\nand it shows\n${drawn}`, { cause });
  }
}

/** More than the page shows at once. */
const LONG = `${"Greet Grace. ".repeat(2_000)}That is all.`;

/** Makes the two turns of a run into so many, with a call in each but the last. */
async function makeLong(runId: string, turns: number): Promise<void> {
  const client = await connectTo(server);
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  const id = decodeId("run", runId);
  // `work` is step 1, and its turns are 2 and 3, and 4.
  await client.query(
    `update steps set number = 2 * $2::int, key = replace(key, 'model-2#1', 'model-' || $2 || '#1') where run_id = $1 and number = 4`,
    [id, turns],
  );
  await client.query(
    `insert into steps select (jsonb_populate_record(s, to_jsonb(s) || jsonb_build_object(
       'number', s.number + 2 * (turn - 1), 'key', replace(replace(s.key, 'model-1#1', 'model-' || turn || '#1'), 'tool-1-1#1', 'tool-' || turn || '-1#1')))).*
     from steps s, generate_series(2, $2::int - 1) as turn where run_id = $1 and number in (2, 3)`,
    [id, turns],
  );
}

test("of a thousand turns the newest are shown first, older ones as one goes up, and few are in the page at a time", async () => {
  model.replies = [toolCall("greeter", { who: "Grace" }), "All are greeted."];
  const run = await ran(server, await doing(assistant("work")));
  expect(run).toMatchObject({ status: "completed", steps: { length: 4 } });
  await makeLong(run["id"], 1_000);
  const asked: number[] = [];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/graphql", async (route) => {
    const after = /query MoreSteps/.test(route.request().postData() ?? "")
      ? (JSON.parse(route.request().postData()!).variables.after as number)
      : undefined;
    if (after !== undefined) asked.push(after);
    if (asked.length > 1 && after !== undefined) await held;
    await route.continue();
  });
  await person.go(`/runs/${run["id"]}`);
  const talk = page.getByRole("complementary", { name: "Conversation of work" });
  const stands = (name: string) => talk.locator("dl div", { hasText: name }).locator("dd");
  await talk.getByText("All are greeted.", { exact: true }).waitFor();
  await expect.poll(() => asked).toEqual([1_500, 500]);
  expect(await stands("Questions").textContent()).toBe("1,000 of 1,000");
  expect(await stands("Tool calls").textContent()).toBe("… of 1,000");
  await expectGoodLooks(page, "a conversation that is not read whole");
  // Its middle is still to come.
  const turns = talk.getByRole("region", { name: "What work says" });
  await turns.evaluate(
    (all) => void ((all.scrollTop = all.scrollHeight / 2), all.dispatchEvent(new WheelEvent("wheel"))),
  );
  await turns.getByRole("status", { name: "Loading a turn" }).first().waitFor();
  release();
  await expect.poll(() => asked).toEqual([1_500, 500, 1_000]);
  await turns.getByText("greeter", { exact: true }).first().waitFor();
  await expect.poll(() => stands("Tool calls").textContent()).toBe("999 of 1,000");
  await page.unroute("**/graphql");

  await turns.focus();
  await page.keyboard.press("Home");
  await turns.getByText("Greet Grace, as often as it takes.").waitFor();
  await turns.getByText("greeter", { exact: true }).first().waitFor();
  const count = await turns.evaluate((all) => all.getElementsByTagName("*").length);
  expect(count).toBeLessThan(400);
  // A call that is opened stays where it is.
  const first = turns.locator("details").first();
  await first.locator("summary").click();
  await first.getByText('"greeting": "hello"').waitFor();
  expect(await turns.getByText("Greet Grace, as often as it takes.").isVisible()).toBe(true);
  await expectEachLook(page, "a conversation of a thousand turns");
});

test("what has the focus stays in the page, and what was opened is open when one comes back to it", async () => {
  model.replies = [toolCall("greeter", { who: "Grace" }), "All are greeted."];
  const run = await ran(server, await doing(assistant("work", { instructions: "Be kind.", prompt: LONG })));
  await makeLong(run["id"], 60);
  await person.go(`/runs/${run["id"]}`);
  const turns = page.getByRole("region", { name: "What work says" });
  const answer = turns.getByText("All are greeted.", { exact: true });
  await answer.waitFor();
  await turns.focus();
  await page.keyboard.press("Home");
  const instructions = turns.getByText("Instructions", { exact: true });
  await instructions.click();
  await turns.getByRole("button", { name: "Show all 26,012 characters" }).click();
  const call = turns.locator("details").nth(1);
  await call.locator("summary").click();
  const expectOpen = async (): Promise<void> => {
    await turns.getByText("Be kind.", { exact: true }).waitFor();
    await turns.getByText(/That is all\.$/).waitFor();
    await turns.getByText('"greeting": "hello"').waitFor();
  };
  await expectOpen();

  const opens = turns.getByRole("button", { name: /^Open step/ });
  await opens.focus();
  await page.keyboard.press("End");
  await answer.waitFor();
  await instructions.waitFor({ state: "detached" });
  expect(await opens.evaluate((button) => button === document.activeElement)).toBe(true);
  await page.keyboard.press("Home");
  await expectOpen();

  await turns.focus();
  await page.keyboard.press("End");
  await answer.waitFor();
  await opens.waitFor({ state: "detached" });
  await page.keyboard.press("Home");
  await expectOpen();
});

test("a running conversation holds its newest turn in sight, until somebody scrolls up, and then offers it", async () => {
  const writing = new Writing();
  model.replies = [...Array.from({ length: 6 }, () => toolCall("greeter", { who: "Grace" })), writing.reply];
  const id = await started(assistant("work", { prompt: LONG }));
  await person.go(`/runs/${id}`);
  const turns = page.getByRole("region", { name: "What work says" });
  await eventually(() => writing.count === 1);
  writing.text("Line\n".repeat(100));
  const text = turns.getByRole("region", { name: "Text so far" });
  await expectWritten(writing, text, /(Line\n){100}/);
  const leftBelow = () => turns.evaluate((all) => Math.round(all.scrollHeight - all.clientHeight - all.scrollTop));
  await expect.poll(leftBelow).toBeLessThanOrEqual(2);
  writing.text("More\n".repeat(100));
  await expectWritten(writing, text, /(More\n){100}/);
  await expect.poll(leftBelow).toBeLessThanOrEqual(2);

  await turns.hover();
  await page.mouse.wheel(0, -400);
  const newest = page.getByRole("button", { name: "Show the newest" });
  await newest.waitFor();
  const top = await turns.evaluate((all) => all.scrollTop);
  writing.text("Even more\n".repeat(50));
  await expectWritten(writing, text, /(Even more\n){50}/);
  expect(await turns.evaluate((all) => all.scrollTop)).toBe(top);
  await expectGoodLooks(page, "a conversation whose end is left");
  const follow = async (): Promise<void> => {
    await newest.press("Enter");
    await newest.waitFor({ state: "detached" });
    await expect.poll(leftBelow).toBeLessThanOrEqual(2);
  };
  await follow();
  await turns.focus();
  // The browser moves on after the key, and over what is done meanwhile.
  const isThere = turns.evaluate((all) => new Promise((end) => all.addEventListener("scrollend", end, { once: true })));
  await page.keyboard.press("Shift+Space");
  await isThere;
  await newest.waitFor();
  await follow();
  // A screen reader scrolls with no key and no pointer.
  await turns.evaluate((all) => void (all.scrollTop -= 400));
  await newest.waitFor();
  await follow();

  // Calls and texts stay open while the run goes on.
  await turns.focus();
  await page.keyboard.press("Home");
  await turns.getByRole("button", { name: "Show all 26,012 characters" }).click();
  const call = turns.locator("details").first();
  await call.locator("summary").click();
  await call.getByText('"greeting": "hello"').waitFor();
  writing.end();
  await expect.poll(() => page.title()).toContain("completed");
  await call.getByText('"greeting": "hello"').waitFor();
  await turns.getByText(/That is all\.$/).waitFor();
});

test("a long text that comes fast is drawn ten times a second at most, and only its end", async () => {
  const writing = new Writing();
  model.replies = [writing.reply];
  const id = await started({ ask: { call: "llm:1.0.0@default", with: { prompt: "Hi" } } });
  await person.go(`/runs/${id}?step=1`);
  await eventually(() => writing.count === 1);
  writing.text("Begin. ");
  const text = page.getByLabel("output so far");
  await expectWritten(writing, text, "Begin.");
  await text.evaluate((pre) => {
    const seen = { most: 0, changes: 0, since: performance.now() };
    Object.assign(window, { seen });
    new MutationObserver(() => {
      seen.changes++;
      seen.most = Math.max(seen.most, pre.textContent.length);
    }).observe(pre, { characterData: true, childList: true, subtree: true });
  });
  const word = "lorem ipsum ";
  for (let part = 0; part < 400; part++) {
    writing.text(word.repeat(200));
    await writing.drained();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  writing.text("The end.");
  await expectWritten(writing, text, "The end.");
  const { most, changes, since, now } = await page.evaluate(() => ({
    ...(window as unknown as { seen: { most: number; changes: number; since: number } }).seen,
    now: performance.now(),
  }));
  expect(most).toBeLessThanOrEqual(20_001);
  expect(changes).toBeLessThanOrEqual((now - since) / 100 + 1);
  expect(await text.evaluate((pre) => Math.round(pre.scrollHeight - pre.clientHeight - pre.scrollTop))).toBeLessThan(3);
  // While the output is read, what was written stays; and then it stands in the same place.
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/graphql", async (route) => {
    if (/query StepDetail/.test(route.request().postData() ?? "")) await held;
    await route.continue();
  });
  writing.end();
  await expect.poll(() => page.title()).toContain("completed");
  expect(await text.textContent()).toMatch(/The end\.$/);
  release();
  const output = page.getByLabel("output", { exact: true });
  await output.filter({ hasText: "Begin." }).waitFor();
  await page.getByText("340 tokens").first().waitFor();
  expect(await text.count()).toBe(0);
  await page.unroute("**/graphql");
});

test("a text stays when the connection is cut, and when the server is killed until the model writes it again", async () => {
  const writing = new Writing();
  model.replies = [writing.reply];
  const id = await started(assistant("work", { tools: [] }));
  await person.go(`/runs/${id}`);
  const talk = page.getByRole("complementary", { name: "Conversation of work" });
  const text = talk.getByRole("region", { name: "Text so far" });
  await eventually(() => writing.count === 1);
  writing.text("Once upon");
  await expectWritten(writing, text, "Once upon");
  await page.context().setOffline(true);
  writing.text(" a time");
  await page.getByText(/Reconnecting/).waitFor();
  expect(await text.textContent()).toBe("Once upon");
  await page.context().setOffline(false);
  await expectWritten(writing, text, "Once upon a time");

  await server.kill();
  await page.getByText(/Reconnecting/).waitFor();
  expect(await text.textContent()).toBe("Once upon a time");
  await server.restart();
  await eventually(() => writing.count === 2);
  await page.getByText(/Reconnecting/).waitFor({ state: "detached" });
  writing.text("Once more");
  await expectWritten(writing, text, "Once more");
  expect(await text.textContent()).toBe("Once more");
  writing.end();
  await expect.poll(() => page.title()).toContain("completed");
  await talk.getByText("Once more", { exact: true }).waitFor();
  await expect.poll(() => text.count()).toBe(0);
});

test("each of several assistants shows its own tokens and cost and where its limits stand, also with the runs of its tools", async () => {
  const asks = await agentOf(server, 'do: [{ask: {call: "llm:1.0.0@default", with: {prompt: Hi}}}]', "asks");
  expect(asks).toMatch(/^agent_/);
  const one = assistant("one", { tools: [{ agent: { handle: "asks", description: "Asks." } }] });
  const two = assistant("two", { limits: { iterations: 5, tokens: 400 } });
  const three = { three: { call: "llm:1.0.0@default", with: { prompt: "Hi" } } };
  model.replies = [toolCall("asks", {}), "Hello", "First", "Second"];
  const { id, status } = await ran(server, await doing(one, two, three));
  expect(status).toBe("completed");
  await person.go(`/runs/${id}`);
  const talk = page.getByRole("complementary", { name: "Conversation of two" });
  await talk.getByText("Second", { exact: true }).waitFor();
  const standsIn = async (pane: typeof talk): Promise<Record<string, string>> =>
    Object.fromEntries(
      await pane
        .locator("dl")
        .first()
        .evaluate((all) => [...all.children].map((one) => [...one.children].map(({ textContent }) => textContent))),
    );
  await expect
    .poll(() => standsIn(talk))
    .toEqual({ Questions: "1 of 5", "Tool calls": "0 of 50", Tokens: "340 of 400", Cost: "€0.00038" });
  expect(await talk.locator("dd", { hasText: "340 of 400" }).getAttribute("data-near")).toBe("near");
  await page.getByRole("treeitem", { name: /one/ }).click();
  const step = page.getByRole("complementary", { name: "Step 1" });
  await step.getByText("First", { exact: true }).waitFor();
  await expect
    .poll(() => standsIn(step))
    .toEqual({
      Questions: "2 of 1,000",
      "Tool calls": "1 of 1,000",
      Tokens: "1,020 of 200,000",
      Cost: "€0.0011 of €0.01",
    });
  await expectEachLook(page, "one of two assistants");
});
