/** Settings → Models: the models that a project asks, by mouse and by keyboard; the server's own; and what others than their makers see. */
import type { ServerResponse } from "node:http";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually, startTestServer, type Data, type TestServer } from "../client.ts";
import { start } from "../agents.ts";
import { startLlmService, status, toolCall, Writing, type LlmService, type Reply } from "../llm-service.ts";
import { agentOf } from "../runs.ts";
import { GREETER, expectEachLook, expectGoodLooks, LOOKS, Person, sendDecisions, sharedBrowser } from "./ui.ts";

const KEY = "sk-planted";
let browser: Browser;
let server: TestServer;
let operators: LlmService;
let projects: LlmService;
/** Goes from test to test in one page. */
let owner: Person;
let page: Page;
beforeAll(async () => {
  [operators, projects] = [await startLlmService(), await startLlmService()];
  const env = {
    LLM_BASE_URL: operators.url,
    LLM_MODEL: "operators-model",
    LLM_API_KEY: "sk-operators",
    OUTBOUND_ALLOW: "127.0.0.1/32",
  };
  [browser, server] = await Promise.all([sharedBrowser(), startTestServer({ env })]);
  await server.data("mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
    definition: GREETER,
  });
  await server.data(`mutation { createProject(input: {handle: "shop", name: "Shop"}) { id } }`);
  owner = await Person.open(browser);
  owner.mayFail();
  page = await owner.enter(server, "/settings/models");
});
afterAll(async () => {
  await owner[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await operators[Symbol.asyncDispose]();
  await projects[Symbol.asyncDispose]();
});
beforeEach(() => page.setViewportSize(LOOKS[0]!.viewport));

const CREATE = "mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }";
const create = async (name: string, own: object = {}): Promise<string> => {
  const model = { provider: "openai_compatible", baseUrl: projects.url, model: "small" };
  const input = { projectId: server.world.projectId, name, ...model, ...own };
  return (await server.data(CREATE, { input })).createModelConnection.id;
};
const connections = async (): Promise<Data[]> => {
  const list = `query ($projectId: ID!) { modelConnections(projectId: $projectId) {
    name provider baseUrl model hasKey isDefault prices { inputPerMillion outputPerMillion currency } limits { concurrency } } }`;
  return (await server.data(list, { projectId: server.world.projectId })).modelConnections;
};
const PUBLISH = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
const RUN = "mutation ($agentId: ID!) { runAgent(input: {agentId: $agentId, wait: 30}) { id status } }";
const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name}`) });
const button = (name: string) => page.getByRole("button", { name, exact: true });
const dialog = (name: string) => page.getByRole("dialog", { name });

const called = (response: ServerResponse): void =>
  void response.setHeader("content-type", "application/json").end(
    JSON.stringify({
      id: "chatcmpl-2",
      created: 1_800_000_000,
      model: "small-2026",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "confirm", arguments: '{"ok": true}' } }],
          },
        },
      ],
    }),
  );

test("a model is added by keyboard, and its key is shown nowhere", async () => {
  await page
    .getByRole("region", { name: "Shop" })
    .getByText(/^No model of its own/)
    .waitFor();
  await button("Add a model to Test").press("Enter");
  const form = page.getByRole("form", { name: "Add a model to Test" });
  const focused = (name: string) =>
    form.getByRole("textbox", { name, exact: true }).and(page.locator(":focus")).waitFor();
  await focused("Name");
  await page.keyboard.press("Enter");
  for (const field of ["Name", "Base URL", "Model"])
    await form.getByText(`${field} is required`, { exact: true }).waitFor();
  await focused("Name");
  await page.keyboard.type("two words");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type(projects.url);
  await page.keyboard.press("Tab");
  await page.keyboard.type("small");
  await page.keyboard.press("Tab");
  await page.keyboard.type(KEY);
  await form.getByLabel("Input", { exact: true }).fill("a lot");
  await form.getByRole("button", { name: "Add model" }).click();
  await form.getByText("Input must be a number").waitFor();
  await form.getByText("Currency is required").waitFor();
  await expectEachLook(page, "a new model");
  await form.getByLabel("Input", { exact: true }).fill("0.15");
  await form.getByLabel("Output").fill("0.6");
  await form.getByLabel("Currency").fill("EUR");
  await form.getByLabel("Calls at a time").fill("4");
  await form.getByRole("button", { name: "Add model" }).click();
  await form.getByText(/^Name must be 1 to/).waitFor();
  await focused("Name");
  await form.getByLabel("Name", { exact: true }).fill("cheap");
  await page.keyboard.press("Enter");
  await page.getByText("cheap is saved.").waitFor();
  await row("cheap").getByText("0.15 in, 0.6 out (EUR per million tokens)").waitFor();
  await row("cheap").getByText("4 at a time").waitFor();
  await row("cheap")
    .getByText(/^OpenAI-compatible, .*, with a key$/)
    .waitFor();
  expect(await page.content()).not.toContain(KEY);
  expect(await connections()).toEqual([
    {
      name: "cheap",
      provider: "openai_compatible",
      baseUrl: projects.url,
      model: "small",
      hasKey: true,
      isDefault: false,
      prices: { inputPerMillion: 0.15, outputPerMillion: 0.6, currency: "EUR" },
      limits: { concurrency: 4 },
    },
  ]);
});

test("the project that is chosen is the one whose models are shown, also after one was added to it", async () => {
  const nav = page.getByRole("combobox", { name: "Project", exact: true });
  await nav.selectOption({ label: "Shop" });
  await row("cheap").waitFor({ state: "detached" });
  await button("Add a model to Shop").click();
  await page.getByRole("form", { name: "Add a model to Shop" }).getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("region", { name: "Shop" }).waitFor();
  expect(await page.getByRole("region", { name: "Test" }).count()).toBe(0);
  await nav.selectOption({ index: 0 });
  await row("cheap").waitFor();
});

test("a test tells in the row who answered and what it can do, or what is wrong", async () => {
  projects.replies = [{ ok: true }, called];
  await button("Test cheap").click();
  await row("cheap")
    .getByRole("status")
    .getByText(/^test-model answered in .*\. It takes a JSON Schema for its answer and calls tools\.$/)
    .waitFor();
  expect(projects.asked.at(-1)).toMatchObject({ authorization: `Bearer ${KEY}`, body: { model: "small" } });
  await expectEachLook(page, "a model that answers");
  projects.replies = [status(400), { ok: true }, status(422)];
  await button("Test cheap").click();
  await row("cheap")
    .getByText(/It does not take a JSON Schema for its answer and does not call tools\.$/)
    .waitFor();
  projects.replies = [status(401)];
  await button("Test cheap").click();
  await row("cheap")
    .getByText(/^The model refused the key: .* refused the key \(401\)\.$/)
    .waitFor();
  await expectEachLook(page, "a model that refuses");
});

test("one model of a project is the default", async () => {
  await create("dear");
  await button("Reload").click();
  await button("Make default: cheap").click();
  await row("cheap").getByRole("cell", { name: "yes", exact: true }).waitFor();
  await button("Make default: dear").press("Enter");
  await button("Make default: cheap").waitFor();
  // The button is gone: the focus stays in its place.
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("tr")?.textContent)).toMatch(/^dear/);
  expect((await connections()).map(({ name, isDefault }) => [name, isDefault])).toEqual([
    ["cheap", false],
    ["dear", true],
  ]);
});

test("an edit keeps the key, which another server gets only if it is given again", async () => {
  await button("Edit cheap").click();
  const form = page.getByRole("form", { name: "Edit cheap" });
  const key = form.getByLabel("Key", { exact: true });
  expect(await key.getAttribute("placeholder")).toBe("kept");
  expect(await key.inputValue()).toBe("");
  // The address has it, too.
  await page.reload();
  await form.getByLabel("Model", { exact: true }).fill("smaller");
  // Somebody else changes another field meanwhile.
  const { modelConnections } = await server.data(
    "query ($projectId: ID!) { modelConnections(projectId: $projectId) { id name } }",
    { projectId: server.world.projectId },
  );
  const { id } = modelConnections.find(({ name }: Data) => name === "cheap");
  await server.data("mutation ($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }", {
    input: { modelConnectionId: id, limits: { concurrency: 9 } },
  });
  await form.getByRole("button", { name: "Save" }).click();
  await row("cheap").getByText("smaller").waitFor();
  await row("cheap").getByText("9 at a time").waitFor();
  projects.replies = [{ ok: true }];
  await button("Test cheap").click();
  await row("cheap")
    .getByText(/answered in/)
    .waitFor();
  expect(projects.asked.at(-1)).toMatchObject({ authorization: `Bearer ${KEY}`, body: { model: "smaller" } });

  await button("Edit cheap").click();
  await form.getByLabel("Base URL").fill("https://elsewhere.example.com/v1");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText(/^Key is required when another server is named/).waitFor();
  await key.and(page.locator(":focus")).waitFor();
  await expectGoodLooks(page, "a key that is asked for");
  await form.getByLabel("Ask without a key").check();
  await form.getByRole("button", { name: "Save" }).click();
  await row("cheap").getByText("OpenAI-compatible, elsewhere.example.com, without a key").waitFor();
});

test("an edit begins with what somebody else has made of the model, and leaves it", async () => {
  const change = async (name: string, input: object): Promise<void> => {
    const list = "query ($projectId: ID!) { modelConnections(projectId: $projectId) { id name } }";
    const { modelConnections } = await server.data(list, { projectId: server.world.projectId });
    const { id: modelConnectionId } = modelConnections.find((one: Data) => one.name === name);
    await server.data(
      "mutation ($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }",
      {
        input: { modelConnectionId, ...input },
      },
    );
  };
  const prices = { inputPerMillion: 1, outputPerMillion: 2, currency: "EUR" };
  for (const inputPerMillion of [1, 5]) {
    await change("dear", { prices: { ...prices, inputPerMillion } });
    await button("Edit dear").click();
    const form = page.getByRole("form", { name: "Edit dear" });
    await form.getByLabel("Output").fill("3");
    expect(await form.getByLabel("Input", { exact: true }).inputValue()).toBe(String(inputPerMillion));
    await form.getByRole("button", { name: "Save" }).click();
    await row("dear").getByText(`${inputPerMillion} in, 3 out (EUR per million tokens)`).waitFor();
  }
});

test("a model that somebody else deletes is not changed any longer, and the page says so", async () => {
  const REMOVE = "mutation ($input: DeleteModelConnectionInput!) { deleteModelConnection(input: $input) { id } }";
  const [early, late] = [await create("early"), await create("late")];
  await button("Reload").press("Enter");
  await button("Edit late").click();
  const form = page.getByRole("form", { name: "Edit late" });
  await form.getByLabel("Model", { exact: true }).fill("larger");
  for (const modelConnectionId of [early, late]) await server.data(REMOVE, { input: { modelConnectionId } });
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByRole("alert").getByText("Model connection not found").waitFor();
  await form.getByRole("button", { name: "Cancel" }).click();

  await owner.go(`/settings/models?make=true&model=${early}`);
  const gone = page.getByRole("alert").filter({ hasText: "Model connection not found" });
  await gone.waitFor();
  await gone.getByRole("button", { name: "Show the models" }).click();
  await gone.waitFor({ state: "detached" });
  await row("early").waitFor({ state: "detached" });
  await row("cheap").waitFor();
});

test("a model is deleted by typing its name", async () => {
  await button("Delete dear").click();
  await dialog("Delete dear?")
    .getByText(/It is the project’s default/)
    .waitFor();
  const confirm = dialog("Delete dear?").getByRole("button", { name: "Delete model" });
  expect(await confirm.isDisabled()).toBe(true);
  await page.keyboard.type("dear");
  await page.keyboard.press("Enter");
  await page.getByText("dear is deleted.").waitFor();
  await row("dear").waitFor({ state: "detached" });
  expect((await connections()).map(({ name }) => name)).toEqual(["cheap"]);
});

test("a gateway gets the key in a header of its own, for which the key is given again", async () => {
  await create("gateway", { apiKey: KEY, apiKeyHeader: "x-key" });
  await button("Reload").click();
  await row("gateway")
    .getByText(/, with a key in x-key$/)
    .waitFor();
  await button("Edit gateway").click();
  const form = page.getByRole("form", { name: "Edit gateway" });
  const header = form.getByLabel("Key header");
  expect(await header.inputValue()).toBe("x-key");
  await header.fill("Content-Type");
  await form.getByLabel("Key", { exact: true }).fill(KEY);
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText(/^Key header must be a header that is free for a key/).waitFor();
  await header.and(page.locator(":focus")).waitFor();
  await expectGoodLooks(page, "a header that takes no key");
  await header.fill("api-key");
  await form.getByLabel("Key", { exact: true }).fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText(/^Key is required when another server is named, or another header/).waitFor();
  await form.getByLabel("Key", { exact: true }).fill(KEY);
  await form.getByRole("button", { name: "Save" }).click();
  await row("gateway")
    .getByText(/, with a key in api-key$/)
    .waitFor();
});

test("the server's model at its former address: what is configured, a test that answers and one that fails, and a sentence that rules read", async () => {
  // The organization has tested as often as it may in a minute.
  await server.clock.advance(61_000);
  await owner.go("/settings/llm");
  await expect.poll(() => new URL(page.url()).pathname).toBe("/settings/models");
  const part = page.getByRole("region", { name: "The server’s model" });
  await part.getByText("operators-model", { exact: true }).waitFor();
  await part.getByText(new URL(operators.url).host, { exact: true }).waitFor();
  await part.getByText("set, never shown", { exact: true }).waitFor();
  expect(await page.content()).not.toContain("sk-operators");
  const run = button("Test the connection");
  operators.replies = [{ ok: true }];
  await run.click();
  await part.getByText(/^The model answered in /).waitFor();
  await expectGoodLooks(page, "the server's model answers");
  operators.replies = [status(401)];
  await run.click();
  await part
    .getByRole("alert")
    .getByText(/^Response: .* refused the key \(401\)\. Check LLM_API_KEY\./)
    .waitFor();
  await expectGoodLooks(page, "the server's model fails");
  await owner.go("/describe?text=greeter");
  await page.getByText("The model refused the key, so this was read by rules").waitFor();
});

test("who may not change models sees them, and who may; who is no admin sees nothing of the server's", async () => {
  for (const role of ["viewer", "editor"] as const) {
    await using other = await Person.open(browser);
    other.mayFail();
    const seen = await other.enter(server, "/settings/models", await server.member(`${role}@example.org`, role));
    await seen.getByRole("row", { name: /^cheap/ }).waitFor();
    const mayChange = role === "editor";
    const who = "Owners, admins and editors add, test and change models; you are a viewer here.";
    expect(await seen.getByText(who).count()).toBe(mayChange ? 0 : 1);
    expect(await seen.getByRole("button", { name: /cheap|Add a model/ }).count()).toBe(mayChange ? 6 : 0);
    expect(await seen.getByText("The server’s model", { exact: true }).count()).toBe(0);
    expect(await seen.content()).not.toContain("operators-model");
  }
});

test("a run's page says what it used of models, and the open step what that one did", async () => {
  await create("priced", { prices: { inputPerMillion: 1, outputPerMillion: 2, currency: "EUR" } });
  projects.replies = ["Hello"];
  const definition = `
document: {dsl: "1.0.3", namespace: test, name: asks-twice, version: "1.0.0", title: Asks twice}
do:
  - first: {call: "llm:1.0.0@default", with: {connection: priced, prompt: Hi}}
  - second: {call: "llm:1.0.0@default", with: {connection: priced, prompt: Hi}}
`;
  const agentId = (await server.data(PUBLISH, { definition })).publishAgent.id;
  const { id, status } = (await server.data(RUN, { agentId })).runAgent;
  expect(status).toBe("completed");
  await owner.go(`/runs/${id}`);
  await page.getByText("680 tokens · €0.00076", { exact: true }).waitFor();
  await page.getByRole("treeitem", { name: /second/ }).click();
  await page.getByText("300 tokens in; 40 out · €0.00038", { exact: true }).waitFor();
  await expectEachLook(page, "a run that asked a model");
  await owner.go("/settings/usage?show=modelTokens");
  // Other tests of this file have used models, too.
  await page.getByText(/^[1-9][\d,]* model tokens$/).waitFor();
  const used = page.getByRole("table", { name: "By agent" }).getByRole("row", { name: /^Asks twice 680 €0.00076$/ });
  await page.getByRole("row", { name: /^priced Test 680 €0.00076$/ }).waitFor();
  const byDay = page.getByRole("table", { name: "Cost by day, in UTC" });
  await byDay.getByRole("row").nth(1).waitFor();
  const prices = { inputPerMillion: 1, outputPerMillion: 2, currency: "USD" };
  const modelConnectionId = await create("dollars", { prices });
  const inDollars = definition.replaceAll("priced", "dollars").replace("asks-twice", "asks-in-dollars");
  const { id: otherId } = (await server.data(PUBLISH, { definition: inDollars })).publishAgent;
  expect((await server.data(RUN, { agentId: otherId })).runAgent.status).toBe("completed");
  const UPDATE = "mutation ($input: UpdateModelConnectionInput!) { updateModelConnection(input: $input) { id } }";
  await server.data(UPDATE, { input: { modelConnectionId, prices: { ...prices, currency: "EUR" } } });
  expect((await server.data(RUN, { agentId: otherId })).runAgent.status).toBe("completed");
  await owner.go("/settings/models");
  await owner.go("/settings/usage?show=modelTokens");
  await page.getByRole("row", { name: /^dollars Test 1,360 €0.00076 \+ \$0.00076$/ }).waitFor();
  await page.getByRole("row", { name: /^Asks twice 1,360 no sum$/ }).waitFor();
  await byDay.getByRole("row", { name: /no sum$/ }).waitFor();
  await expectEachLook(page, "usage of models");
  await used.getByRole("link", { name: "Asks twice" }).click();
  await page.getByRole("heading", { name: "Asks twice", exact: true }).waitFor();

  await owner.go("/settings/models");
  await row("priced").getByText("In 7 days 680 tokens · €0.00076", { exact: true }).waitFor();
  await expectEachLook(page, "models and what they cost");
});

test("a run's page shows what a model writes while it comes, also when it is opened later, and then the output", async () => {
  const writing = new Writing();
  projects.replies = [writing.reply];
  await create("writes");
  const body = "do: [{ask: {call: 'llm:1.0.0@default', with: {connection: writes, prompt: Hi}}}]";
  const id = await start(server, await agentOf(server, body));
  const text = page.getByLabel("output so far");
  const expectText = async (is: string): Promise<void> => {
    await text.filter({ hasText: is }).waitFor();
    expect(await text.textContent()).toBe(is);
  };
  await owner.go(`/runs/${id}?step=1`);
  await eventually(() => writing.count === 1);
  writing.text("Once upon", " a time\n");
  await expectText("Once upon a time\n");
  await expectGoodLooks(page, "a text that is being written");
  await page.reload();
  await expectText("Once upon a time\n");
  writing.text("there was");
  await expectText("Once upon a time\nthere was");
  writing.end();
  await page
    .getByRole("complementary", { name: "Step 1" })
    .getByLabel("output", { exact: true })
    .filter({ hasText: "there was" })
    .waitFor();
  expect(await text.count()).toBe(0);
});

const GREETS = `
document: {dsl: "1.0.3", namespace: test, name: greets, version: "1.0.0", title: Greets}
input: {schema: {format: json, document: {type: object, properties: {question: {type: string, title: Question}}}}}
do:
  - work:
      call: assistant:1.0.0@default
      with:
        connection: talks
        instructions: You greet who you are told to.
        prompt: "\${ .question }"
        tools: [{agent: {handle: greeter, description: Greets., approval: true}}]
        limits: {iterations: 5, seconds: 600}
`;

test("an assistant is a conversation beside its steps: what was asked, each call with its answer, and where its limits stand", async () => {
  await create("talks", { prices: { inputPerMillion: 1, outputPerMillion: 2, currency: "EUR" } });
  const agentId = (await server.data(PUBLISH, { definition: GREETS })).publishAgent.id;
  const ask = async (last: Reply): Promise<string> => {
    projects.replies = [toolCall("greeter", { who: "Grace" }), last];
    const begin = `mutation ($agentId: ID!) { runAgent(input: {agentId: $agentId, input: {question: "Greet Grace"}, wait: 30}) { id status } }`;
    const { id, status } = (await server.data(begin, { agentId })).runAgent;
    expect(status).toBe("paused");
    return id;
  };
  const id = await ask("All are greeted.");
  await owner.go(`/runs/${id}`);
  const talk = page.getByRole("complementary", { name: "Conversation of work" });
  const stands = (name: string) => talk.locator("dl div", { hasText: name }).locator("dd");
  await talk.getByText("Greet Grace").waitFor();
  const call = talk.locator("details", { hasText: "greeter" });
  const summary = call.locator("summary");
  await summary.getByText('{"who":"Grace"}').waitFor();
  await summary.focus();
  await page.keyboard.press("Enter");
  await call.getByText("Not called before a person has decided.").waitFor();
  await expectEachLook(page, "a conversation that waits for a person");
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await talk.getByText("All are greeted.").waitFor();
  await call.getByText('"greeting": "hello"').waitFor();
  await expect.poll(() => stands("Questions").textContent()).toBe("2 of 5");
  expect(await stands("Tool calls").textContent()).toBe("1 of 50");
  await expect.poll(() => stands("Tokens").textContent()).toBe("680 of 200,000");
  expect(await stands("Cost").textContent()).toBe("€0.00076");
  expect(await stands("Time").textContent()).toMatch(/ of 10 m 00 s$/);
  await expectEachLook(page, "a conversation");

  // Its step shows it, too, and what a call did is in the call's own step.
  await page.getByRole("treeitem", { name: /work/ }).click();
  const step = page.getByRole("complementary", { name: "Step 1" });
  await step.getByText("All are greeted.").waitFor();
  await step.locator("details", { hasText: "greeter" }).locator("summary").click();
  await step.getByRole("button", { name: /^Open step/ }).click();
  await page.getByRole("complementary", { name: /^Step [2-9]/ }).waitFor();

  const writing = new Writing();
  await owner.go(`/runs/${await ask(writing.reply)}`);
  await page.getByLabel("Comment").fill("Not her");
  await page.getByRole("button", { name: "Reject" }).click();
  await sendDecisions(page);
  await eventually(() => writing.count === 1);
  writing.text("Nobody is");
  await talk.getByRole("region", { name: "Text so far" }).getByText("Nobody is", { exact: true }).waitFor();
  writing.text(" greeted.");
  writing.end();
  await talk.getByText("Nobody is greeted.", { exact: true }).waitFor();
  await summary.click();
  await call.getByText(/rejected: “Not her”/).waitFor();
  await call.getByText("Not called.").waitFor();
});
