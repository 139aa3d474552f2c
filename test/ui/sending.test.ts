/** The requests of a page: an answer that is lost or late, a rejection without the form, and what would be lost by leaving. */
import type { Browser, WebSocketRoute } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startEndpoint } from "../endpoint.ts";
import { startLlmService, toolCall } from "../llm-service.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, sharedBrowser, Person, sendDecisions } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser);
  person.mayFail();
  await person.enter(server, "/agents");
  await person.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const definition = (name: string, rest: string): string =>
  `document: {dsl: "1.0.3", namespace: test, name: ${name}, version: "1.0.0", title: ${name}}\n${rest}`;

async function publish(name: string, rest: string): Promise<string> {
  const publishAgent = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  return (await server.data(publishAgent, { definition: definition(name, rest) })).publishAgent.id;
}
const start = async (agentId: string): Promise<string> =>
  (await server.data("mutation ($id: ID!) { runAgent(input: {agentId: $id}) { id } }", { id: agentId })).runAgent.id;

const ASKING_FOR = `
do:
  - ask:
      call: approval:1.0.0@default
      with:
        question: How much?
        onReject: continue
        form: {type: object, properties: {amount: {type: number, title: Amount}}, required: [amount]}
`;

test("a question with a field that must be filled in is rejected without it, and approved only with it", async () => {
  const { page } = person;
  const agentId = await publish("asking-for", ASKING_FOR);
  for (const isByKey of [false, true]) {
    const runId = await start(agentId);
    await person.go(`/runs/${runId}`);
    const card = page.getByRole("region", { name: "Approval: How much?" });
    await card.getByRole("button", { name: "Approve" }).click();
    await card.getByRole("alert").waitFor();
    await card
      .getByRole("spinbutton", { name: /^Amount/ })
      .or(card.getByLabel(/^Amount/))
      .first()
      .waitFor();
    if (isByKey) {
      await card.focus();
      await page.keyboard.press("r");
    } else await card.getByRole("button", { name: "Reject" }).click();
    await sendDecisions(page);
    await expect.poll(() => page.title()).toContain("completed");
  }
});

test("the arguments of a tool call are a form, and the tool is called with what stands in it", async () => {
  await using model = await startLlmService();
  await using endpoint = await startEndpoint();
  endpoint.answer = { headers: { "content-type": "application/json" }, body: '{"id":7}' };
  model.replies = [toolCall("createTicket", { title: "Printer", pages: 3 }), "Done"];
  const input = { projectId: server.world.projectId, name: "tickets", provider: "openai_compatible", model: "small" };
  await server.data("mutation ($input: CreateModelConnectionInput!) { createModelConnection(input: $input) { id } }", {
    input: { ...input, baseUrl: model.url },
  });
  const parameters = {
    type: "object",
    properties: { title: { type: "string", title: "Title" }, pages: { type: "integer", maximum: 9 } },
    required: ["title"],
  };
  const call = { method: "post", endpoint: `${endpoint.url}/tickets`, body: "${ $arguments }" };
  const tool = { name: "createTicket", description: "Opens a ticket.", parameters, call, approval: true };
  const work = {
    call: "assistant:1.0.0@default",
    with: { connection: "tickets", prompt: "Go", tools: [{ http: tool }] },
  };
  const runId = await start(await publish("opens-tickets", `do: [{work: ${JSON.stringify(work)}}]`));
  const { page } = person;
  await person.go(`/runs/${runId}`);
  const asked = page.getByRole("region", { name: "Approval: May createTicket be called?" });
  await asked.getByLabel("Title").fill("Scanner");
  await asked.getByLabel("pages").fill("10");
  await expectGoodLooks(page, "the arguments of a tool call");
  await asked.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await asked.getByText("pages must be at most 9").waitFor();
  await asked.getByLabel("pages").fill("4");
  await asked.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await expect.poll(async () => (await server.data(`{ run(id: "${runId}") { status } }`)).run.status).toBe("completed");
  expect(endpoint.seen.map(({ body }) => JSON.parse(body))).toEqual([{ title: "Scanner", pages: 4 }]);
});

test("a number of many digits is typed, sent and shown with all of them", async () => {
  const { page } = person;
  const order = "820982911946154508";
  const form = "{type: object, properties: {order: {type: integer, title: Order}}, required: [order]}";
  const rest = `input: {schema: {document: ${form}}}\ndo:\n  - out: {set: '\${ {order: .order, next: [.order, -9007199254740993]} }'}\n`;
  await person.go(`/agents/${await publish("long-ids", rest)}`);
  await page.getByLabel(/^Order/).fill(order);
  await page.getByRole("button", { name: "Run long-ids" }).click();
  // As it is shown while it runs, and as it is read again.
  for (const isAgain of [false, true]) {
    if (isAgain) await page.reload();
    await page.getByRole("region", { name: "Output" }).getByText(`${order}, -9007199254740993`).waitFor();
    await page.getByRole("region", { name: "Input" }).getByText(order).waitFor();
  }
  await page.getByRole("treeitem", { name: /out/ }).click();
  await page
    .getByRole("complementary", { name: "Step 1" })
    .getByLabel("output", { exact: true })
    .getByText(order)
    .first()
    .waitFor();
});

test("of a run with more steps than are read at once all are as they are now when one comes back", async () => {
  const { page } = person;
  const tasks = Array.from({ length: 510 }, (_, index) => `  - step${index}: {set: {a: 1}}`).join("\n");
  const ask = `  - ask: {call: "approval:1.0.0@default", with: {question: "Go on?"}}\n  - after: {set: {a: 2}}\n`;
  const runId = await start(await publish("many-steps", `do:\n${tasks}\n${ask}`));
  await person.go(`/runs/${runId}`);
  await page.getByRole("heading", { name: "511 steps" }).waitFor();
  await page.getByRole("link", { name: "Approvals" }).first().click();
  await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
  const { approvals } = await server.data("query ($id: ID!) { approvals(filter: {runId: [$id]}) { nodes { id } } }", {
    id: runId,
  });
  const decide = "mutation ($id: ID!) { decideApproval(input: {approvalId: $id, decision: approve}) { id } }";
  await server.data(decide, { id: approvals.nodes[0].id });
  await expect
    .poll(async () => (await server.data("query ($id: ID!) { run(id: $id) { status } }", { id: runId })).run.status)
    .toBe("completed");
  // The rest is refused once: that is said, and it is read on.
  let isRefused = true;
  await page.route("**/graphql", async (route) => {
    if (isRefused && (route.request().postData() ?? "").includes("MoreSteps")) await route.abort();
    else await route.continue();
  });
  await page.goBack();
  await page
    .getByRole("alert")
    .getByText(/does not answer/)
    .waitFor();
  isRefused = false;
  await page.getByRole("button", { name: "Follow the run again" }).click();
  await page.getByRole("heading", { name: "512 steps" }).waitFor();
  await page.unroute("**/graphql");
});

test("what came after a connection was lost again is there, however late the answer is to what was asked before", async () => {
  const ask = 'do: [{ask: {call: "approval:1.0.0@default", with: {question: "Late?"}}}]';
  const agentId = await publish("asking-late", ask);
  const page = await person.tab();
  const sockets: WebSocketRoute[] = [];
  let connecting = Promise.resolve();
  await page.routeWebSocket(/graphql/, async (socket) => {
    await connecting;
    socket.connectToServer();
    sockets.push(socket);
  });
  await page.goto(`${server.url}/approvals`);
  await page.getByRole("heading", { name: "No approvals waiting" }).waitFor();
  await expect.poll(() => sockets.length).toBe(1);

  const answered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let asked = 0;
  await page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("MissedApprovals") || ++asked > 1) return route.continue();
    const response = await route.fetch();
    answered.resolve();
    await released.promise;
    // The page may not wait for it any longer.
    return route.fulfill({ response }).catch(() => undefined);
  });
  const lose = (): Promise<void> => sockets.at(-1)!.close({ code: 1012 });
  await lose();
  await answered.promise;
  const { promise, resolve: connect } = Promise.withResolvers<void>();
  connecting = promise;
  await lose();
  const runId = await start(agentId);
  const status = "query ($id: ID!) { run(id: $id) { status } }";
  await expect.poll(async () => (await server.data(status, { id: runId })).run.status).toBe("paused");
  connect();
  await expect.poll(() => sockets.length).toBe(3);
  await page.getByText("Reconnecting").waitFor({ state: "detached" });
  released.resolve();
  await page.getByRole("button", { name: /Late\?/ }).waitFor();
  await server.data("mutation ($id: ID!) { cancelRun(runId: $id) { id } }", { id: runId });
  await page.close();
});

const GREETING = `
input: {schema: {format: json, document: {type: object, properties: {who: {type: string, title: Who}}, required: [who]}}}
do:
  - greet: {set: {text: "\${ \\"hello \\" + .who }"}}
`;

test("after an answer that was lost another input is another run, and the input is there to begin with", async () => {
  const { page } = person;
  const agentId = await publish("greeting", GREETING);
  await person.go(`/agents/${agentId}`);
  let isLost = true;
  await page.route("**/graphql", async (route) => {
    if (isLost && /runAgent\(/.test(route.request().postData() ?? "")) {
      isLost = false;
      await route.fetch();
      await route.abort();
    } else await route.continue();
  });
  await page.getByLabel(/^Who/).fill("Ada");
  await page.getByRole("button", { name: "Run greeting" }).click();
  await page
    .getByRole("alert")
    .getByText(/does not answer/)
    .waitFor();
  await page.getByLabel(/^Who/).fill("Grace");
  // The other way to say it, and back.
  await page.getByText("Describe it", { exact: true }).click();
  await page.getByLabel("What should it do?").waitFor();
  await page.getByText("Form", { exact: true }).click();
  expect(await page.getByLabel(/^Who/).inputValue()).toBe("Grace");
  await page.getByRole("button", { name: "Run greeting" }).click();
  await page.getByRole("region", { name: "Output" }).getByText("hello Grace").waitFor();
  await page.unroute("**/graphql");
  await page.goBack();
  await page.getByRole("button", { name: "Use an earlier input" }).click();
  await page.getByRole("menuitem", { name: /Grace/ }).waitFor();
  await page.keyboard.press("Escape");
});

test("a definition that was changed and is saved nowhere is not left without a question", async () => {
  const { page } = person;
  const agentId = await publish("changing", GREETING);
  await person.go(`/agents/${agentId}?tab=definition`);
  await page.getByText(/^Published version/).waitFor();
  const editor = page.getByRole("textbox").first();
  await editor.click();
  await page.keyboard.type("# mine\n");
  await page.getByRole("button", { name: "Save as draft" }).waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).last().click();
  const question = page.getByRole("dialog", { name: "Leave without saving?" });
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save as draft" }).waitFor();
  await page.getByRole("link", { name: "Approvals" }).first().click();
  await question.getByRole("button", { name: "Discard changes" }).click();
  await page.getByRole("heading", { name: "Approvals", exact: true }).waitFor();
});

const TICK_MS = 250;

test("a run's stream that is refused is asked for again with growing pauses if that can help; else the page says why, and asks when told to", async () => {
  const id = await start(await publish("asked-again", ASKING_FOR));
  await using another = await Person.open(browser);
  // An hour passes, and with it the access token.
  another.mayFail();
  const { page } = another;
  let asked = 0;
  let isRefused = true;
  let refuse = (_code: string): void => undefined;
  await page.routeWebSocket(/graphql/, (socket) => {
    const beyond = socket.connectToServer();
    socket.onMessage((message) => {
      const { id: operation, type, payload } = JSON.parse(String(message));
      // The test moves the page's clock: by it the server would seem to take too long for a pong.
      if (type === "ping") return socket.send('{"type":"pong"}');
      if (!isRefused || type !== "subscribe" || !/runEvents/.test(payload.query)) return beyond.send(message);
      refuse = (code) => {
        const error = { message: "not now, or never", extensions: { code } };
        socket.send(JSON.stringify({ id: operation, type: "error", payload: [error] }));
      };
      asked++;
    });
  });
  await page.clock.install();
  await another.enter(server, `/runs/${id}`);
  await expect.poll(() => asked).toBe(1);
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));
  /**
   * Refuses what was asked, and lets time pass until it is asked once more. Returns how much, ms: a busy page may begin its pause
   * late. None of it passes between the two, or the page would have begun before we count.
   */
  const untilAsked = async (): Promise<number> => {
    const before = asked;
    refuse("UNAVAILABLE");
    const isAsked = (): boolean => asked > before;
    let ms = 0;
    for (; !isAsked(); ms += TICK_MS) await page.clock.runFor(TICK_MS);
    return ms;
  };
  for (const seconds of [1, 2, 4, 8]) expect(await untilAsked()).toBeGreaterThanOrEqual(seconds * 1_000);
  refuse("NOT_FOUND");
  const problem = page.getByRole("alert").filter({ hasText: "not now, or never" });
  await problem.waitFor();
  const before = asked;
  await page.clock.runFor(600_000);
  expect(asked).toBe(before);
  isRefused = false;
  await problem.getByRole("button", { name: "Follow the run again" }).click();
  await problem.waitFor({ state: "detached" });
});

test("a changed webhook takes forms and passes over what its filter does not name, and keeps what its form does not show", async () => {
  const { page } = person;
  const agentId = await publish("picky", "do:\n  - echo: {set: '${ . }'}\n");
  const policy = { allowedAddresses: ["127.0.0.1"], mapping: "{}" };
  const { createTrigger } = await server.data(
    "mutation ($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }",
    { input: { agentId, name: "hook", trigger: { type: "webhook" }, policy } },
  );
  await person.go(`/agents/${agentId}?tab=triggers`);
  const trigger = page.getByRole("region", { name: "hook", exact: true });
  await trigger.getByRole("button", { name: /^More for / }).click();
  await page.getByRole("menuitem", { name: "Change", exact: true }).click();
  const form = page.getByRole("form", { name: "When a URL is called" });
  await form.getByRole("combobox", { name: "Bodies" }).selectOption("JSON and forms");
  await form.getByText("Every call is taken.").waitFor();
  await form.getByText("JSON", { exact: true }).last().click();
  await form.getByRole("textbox", { name: "Filter" }).fill('{"action": ["opened"]}');
  await expectGoodLooks(page, "a webhook's form");
  await form.getByRole("button", { name: "Change hook" }).click();
  await form.waitFor({ state: "detached" });
  const { trigger: changed } = await server.data(
    "query ($id: ID!) { trigger(id: $id) { policy { accept filter mapping allowedAddresses } } }",
    { id: createTrigger.id },
  );
  expect(changed.policy).toEqual({ ...policy, accept: "form", filter: { action: ["opened"] } });
});
