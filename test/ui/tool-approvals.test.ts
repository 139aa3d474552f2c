/** A tool call that waits for a person, from the inbox and the run's page: changed, rejected with a comment, and decided elsewhere. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startEndpoint, type Endpoint } from "../endpoint.ts";
import { startLlmService, toolCall, toolCalls, type LlmService } from "../llm-service.ts";
import { agentOf, decide, ran, until } from "../runs.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectEachLook, GREETER, LOOKS, Person, sendDecisions, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let model: LlmService;
let endpoint: Endpoint;
let person: Person;
let page: Page;
beforeAll(async () => {
  [browser, server, model, endpoint] = await Promise.all([
    sharedBrowser(),
    sharedServer(),
    startLlmService(),
    startEndpoint(),
  ]);
  const { projectId } = server.world;
  await server.data("mutation ($input: PublishAgentInput!) { publishAgent(input: $input) { id } }", {
    input: { projectId, definition: GREETER },
  });
  const connection = { projectId, name: "talks", provider: "openai_compatible", baseUrl: model.url, model: "small" };
  await server.data("mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }", {
    input: { ...connection, isDefault: true },
  });
  person = await Person.open(browser, { viewport: LOOKS[0]!.viewport });
  page = await person.enter(server, "/approvals");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await endpoint[Symbol.asyncDispose]();
});
beforeEach(() => page.setViewportSize(LOOKS[0]!.viewport));

const working = (tool: object): Promise<string> => {
  const work = { call: "assistant:1.0.0@default", with: { prompt: "Work.", tools: [tool] } };
  return agentOf(server, `do: ${JSON.stringify([{ work }])}`);
};
const GREETS = { agent: { handle: "greeter", description: "Greets.", approval: true } };
/** Nobody sees them; a tool does. */
const HIDDEN = "\u202e\u{e0041}";
const cards = () => page.getByRole("region", { name: /^Approval: May/ });

test("of two calls at once one is made with what a person changed, and one that is rejected is not", async () => {
  model.replies = [toolCalls(["greeter", { who: "Grace" }], ["greeter", { who: `Him${HIDDEN}` }]), "Done."];
  const run = await ran(server, await working(GREETS));
  await person.go(`/runs/${run["id"]}`);
  await expect.poll(() => cards().count()).toBe(2);
  const [first, second] = [cards().nth(0), cards().nth(1)];
  expect(await first.getByLabel("Who").inputValue()).toBe("Grace");
  // The form says all of the call: it stands there once.
  expect(await first.getByText("arguments").count()).toBe(0);
  // A form can't show all of the other: it is JSON.
  expect(await second.getByLabel("Arguments").inputValue()).toContain(String.raw`"Him\u202e\udb40\udc41"`);
  await expectEachLook(page, "two calls that wait");
  await second.getByText("Characters that nobody sees stand there by their numbers.").waitFor();
  await first.getByLabel("Who").fill("Ada");
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/graphql", async (route) => {
    if (/mutation Decide/.test(route.request().postData() ?? "")) await held;
    await route.continue();
  });
  await first.getByRole("button", { name: "Approve" }).press("Enter");
  // The card shows what is about to be sent, and not what the model asked for.
  await first.getByText("Approving. It is sent in a moment.").waitFor();
  expect(await first.getByText("Ada", { exact: true }).count()).toBe(1);
  expect(await first.getByText("Grace").count()).toBe(0);
  release();
  await page.unroute("**/graphql");
  await second.getByLabel("Comment").fill("Not him");
  await second.focus();
  await page.keyboard.press("r");
  await sendDecisions(page);
  await expect.poll(() => page.title()).toContain("completed");
  const talk = page.getByRole("complementary", { name: "Conversation of work" });
  await talk.getByText("Done.", { exact: true }).waitFor();
  const [made, rejected] = [talk.locator("details").nth(0), talk.locator("details").nth(1)];
  await made.locator("summary").click();
  await made.getByText("Arguments, as a person changed them").waitFor();
  await made.getByText("Ada", { exact: true }).waitFor();
  await rejected.locator("summary").click();
  await rejected.getByText(/rejected: “Not him”/).waitFor();
  await rejected.getByText("Not called.").waitFor();
  await rejected.getByText(String.raw`Him\u{202e}\u{e0041}`, { exact: true }).waitFor();
});

test("arguments that no form can say are changed as JSON, in the inbox and by keyboard", async () => {
  const parameters = { type: "object", properties: { order: { type: "object" } }, required: ["order"] };
  const call = { method: "post", endpoint: `${endpoint.url}/orders`, body: "${ $arguments }" };
  const http = { name: "order", description: "Orders.", parameters, call, approval: true };
  endpoint.answer = { headers: { "content-type": "application/json" }, body: '{"ok": true}' };
  model.replies = [toolCall("order", { order: { count: 2, note: `Now${HIDDEN}` } }), "Ordered."];
  const { id } = await ran(server, await working({ http }));
  await person.go("/approvals");
  await page.getByRole("button", { name: 'May order be called? {"order":{"count":2' }).press("Enter");
  const card = page.getByRole("region", { name: "Approval: May order be called?" });
  const given = card.getByLabel("Arguments");
  expect(await given.inputValue()).toContain(String.raw`"Now\u202e\udb40\udc41"`);
  await expectEachLook(page, "arguments as JSON");
  await given.fill('{"order": {"count": 3}');
  await card.getByRole("button", { name: "Approve" }).press("Enter");
  await card.getByText(/^Arguments .*JSON/).waitFor();
  const isFocused = () => given.evaluate((area) => area === document.activeElement);
  await expect.poll(isFocused).toBe(true);
  // An empty field would call the tool without arguments.
  await given.fill("");
  await card.getByRole("button", { name: "Approve" }).press("Enter");
  await card.getByText("Arguments is required").waitFor();
  await expect.poll(isFocused).toBe(true);
  await given.fill('{"order": {"count": 3}}');
  await card.getByRole("button", { name: "Approve" }).press("Enter");
  await sendDecisions(page);
  expect(await until(server, id, "completed")).toMatchObject({ output: "Ordered." });
  expect(endpoint.seen.map(({ body }) => JSON.parse(body))).toEqual([{ order: { count: 3 } }]);
});

test("a page on which a call still waits says who else has decided about it", async () => {
  model.replies = [toolCall("greeter", { who: "Grace" }), "Done."];
  const { id } = await ran(server, await working(GREETS));
  await person.go(`/runs/${id}`);
  await cards().getByLabel("Who").fill("Ada");
  await decide(server, id, "reject", { comment: "Too late" });
  await cards()
    .getByText(/^Already decided: .* rejected this .*: “Too late”$/)
    .waitFor();
  expect(await cards().getByRole("button", { name: "Approve" }).count()).toBe(0);
});
