/** Screens stay true: two tabs, runs that start elsewhere, many steps. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectGoodLooks, sharedBrowser, Person, sendDecisions } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
/** Goes from test to test in one page, where a test needs none of its own. */
let person: Person;
/** Another browser, for one who is somebody else. */
let other: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser);
  other = await Person.open(browser);
  // Answers are held back, and lost.
  person.mayFail();
  other.mayFail();
  await person.enter(server, "/agents");
  await person.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const WAITING = `
document: {dsl: "1.0.3", namespace: test, name: asking, version: "1.0.0", title: Asking}
do:
  - before: {set: {ready: true}}
  - ask:
      call: approval:1.0.0@default
      with: {question: "Go on?"}
  - after: {set: {done: true}}
`;

async function publish(definition: string): Promise<string> {
  const publishAgent = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  return (await server.data(publishAgent, { definition })).publishAgent.id;
}

const start = async (agentId: string): Promise<string> =>
  (await server.data("mutation ($id: ID!) { runAgent(input: {agentId: $id}) { id } }", { id: agentId })).runAgent.id;

test("a run that starts elsewhere shows on both tabs, and a decision in one ends it in the other", async () => {
  const agentId = await publish(WAITING);
  const { page } = person;
  await person.go("/runs");
  await page.getByRole("heading", { name: "No runs here" }).waitFor();
  const inbox = await person.tab();
  let connect = (): void => undefined;
  const held = new Promise<void>((resolve) => (connect = resolve));
  await inbox.routeWebSocket(/graphql/, async (socket) => {
    await held;
    socket.connectToServer();
  });
  await inbox.goto(`${server.url}/approvals`);
  await inbox.getByRole("heading", { name: "No approvals waiting" }).waitFor();

  const runId = await start(agentId);
  const row = page.getByRole("row", { name: /Asking/ });
  const fresh = page.getByRole("button", { name: "Show 1 new" });
  await fresh.click();
  await row.getByText("paused").waitFor();
  // Questions asked before the page was connected show as well.
  connect();
  await inbox.getByRole("button", { name: /Go on\?/ }).click();
  await person.go(`/runs/${runId}`);
  await page.getByRole("heading", { name: "Go on?" }).waitFor();
  await inbox.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(inbox);
  await expect.poll(() => page.title()).toContain("completed");
  await inbox.getByRole("row", { name: /^approved Go on\?/ }).waitFor();
  await inbox.reload();
  await inbox.getByRole("heading", { name: "No approvals waiting" }).waitFor();
  await inbox.close();
});

test("a run is cancelled, and run again with another input from the one before", async () => {
  const agentId = await publish(WAITING.replace("asking", "asking-again"));
  const runId = await start(agentId);
  const { page } = person;
  await person.go(`/runs/${runId}`);
  await page.getByRole("button", { name: "Cancel run…" }).click();
  await page.getByRole("button", { name: "Cancel run", exact: true }).click();
  await expect.poll(() => page.title()).toContain("cancelled");
  await page.getByRole("button", { name: "Retry" }).click();
  await expect.poll(() => page.url()).not.toContain(runId);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page
    .getByRole("link", { name: /retry of|run_/ })
    .first()
    .waitFor();

  // From a step that is looked at: what was before it is kept, and so is its answer.
  await page.getByRole("region", { name: /^Approval/ }).focus();
  await page.keyboard.press("a");
  await sendDecisions(page);
  await expect.poll(() => page.title()).toContain("completed");
  const completed = page.url();
  await page.getByRole("treeitem", { name: /after/ }).click();
  await page.getByRole("button", { name: "More ways to run it" }).click();
  await page.getByRole("menuitem", { name: "Run again from after (step 3)" }).click();
  await expect.poll(() => page.url().split("?")[0]).not.toBe(completed.split("?")[0]);
  await expect.poll(() => page.title()).toContain("completed");
  await page.getByRole("treeitem", { name: /ask.*approved/ }).waitFor();
});

test("what a run has put out is there, however late the answer is to what was asked before, or after it is lost", async () => {
  const agentId = await publish(WAITING.replace("asking", "asking-slowly"));
  const { page } = person;
  await person.go(`/runs/${await start(agentId)}`);
  const output = page.getByRole("region", { name: "Output" });

  // The first answer is of a time when the run was paused, and comes when it has completed.
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let count = 0;
  const ofOutcome = (url: URL): boolean => url.pathname === "/graphql";
  await page.route(ofOutcome, async (route) => {
    if (!route.request().postData()?.includes("RunOutcome") || count++ > 0) return route.continue();
    const response = await route.fetch();
    const json = await response.json();
    Object.assign(json.data.run, { output: null });
    await held;
    // By then nobody may wait for it any more.
    await route.fulfill({ response, json }).catch(() => undefined);
  });
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await expect.poll(() => page.title()).toContain("completed");
  release();
  await output.getByText("done", { exact: true }).waitFor();
  await page.unroute(ofOutcome);

  // Every answer is lost: that is said.
  await page.goto(`${server.url}/runs/${await start(agentId)}`);
  await page.route(ofOutcome, async (route) => {
    const isOutcome = route.request().postData()?.includes("RunOutcome");
    if (isOutcome && !(await page.evaluate(() => "isPressed" in window))) await route.abort();
    else await route.continue();
  });
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await expect.poll(() => page.title()).toContain("completed");
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  expect(await output.count()).toBe(0);
  // Until the button is pressed: what is read again by itself meanwhile is lost, too.
  await page.evaluate(() =>
    addEventListener("click", () => Object.assign(window, { isPressed: true }), { once: true }),
  );
  await again.click();
  await output.getByText("done", { exact: true }).waitFor();
  await page.unroute(ofOutcome);
});

const DOUBLING = `
document: {dsl: "1.0.3", namespace: test, name: doubling, version: "1.0.0", title: Doubling}
input: {schema: {format: json, document: {type: object, properties: {
  amount: {type: number, title: Amount}, memo: {type: string, title: Memo, maxLength: 1000}}, required: [amount]}}}
do:
  - judge: {if: "\${ .amount > 100 }", raise: {error: {type: https://example.com/too-much, status: 422, title: Too much}}}
  - double: {set: {twice: "\${ .amount * 2 }"}}
`;

test("a failed run is run again with its input edited, and the list says what the run's page says", async () => {
  const agentId = await publish(DOUBLING);
  const runAgent = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const runId = (await server.data(runAgent, { input: { agentId, input: { amount: 500, memo: "a\nb" } } })).runAgent.id;
  const { page } = person;
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/graphql") && request.method() === "POST") asked.push(request.postData() ?? "");
  });
  await person.go("/agents");
  await page.getByRole("link", { name: "Doubling", exact: true }).waitFor();
  asked.length = 0;
  await page.goto(`${server.url}/runs/${runId}`);
  await page.getByRole("region", { name: "Error" }).getByText("Too much").waitFor();
  await page.waitForLoadState("networkidle");
  expect(asked.length, "the frame, and two at most").toBeLessThanOrEqual(3);
  await page.getByRole("button", { name: "Show the step" }).click();
  await page.getByText("This error ended the run. It is shown above.").waitFor();
  expect(await page.getByText("Too much").count()).toBe(1);

  await page.getByRole("button", { name: "More ways to run it" }).click();
  await page.getByRole("menuitem", { name: "Edit the input and run" }).click();
  const amount = page.getByLabel(/^Amount/);
  await expect.poll(() => amount.inputValue()).toBe("500");
  // A long text keeps its lines; the short one beside it is one line.
  expect(await page.getByLabel(/^Memo/).inputValue()).toBe("a\nb");
  await amount.fill("");
  await amount.blur();
  await page.getByText("Amount is required").waitFor();
  await page.getByRole("button", { name: "Run doubling" }).click();
  await page.getByRole("alert").getByRole("button", { name: "Amount is required" }).click();
  await expect.poll(() => amount.evaluate((field) => field === document.activeElement)).toBe(true);
  await amount.fill("21");
  await page.getByRole("button", { name: "Run doubling" }).click();
  await page.getByRole("region", { name: "Output" }).getByText("42").waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  const rows = page.getByRole("row", { name: /Doubling/ });
  await expect
    .poll(() => rows.allTextContents())
    .toEqual([expect.stringContaining("completed"), expect.stringContaining("failed")]);
});

const RETRYING = `
document: {dsl: "1.0.3", namespace: test, name: retrying, version: "1.0.0", title: Retrying}
do:
  - again:
      try:
        - refuse: {raise: {error: {type: https://example.com/no, status: 503, title: Not yet}}}
        - never: {set: {a: 1}}
      catch: {retry: {delay: {milliseconds: 1}, limit: {attempt: {count: 22}}}}
`;

test("all attempts of a step are counted, the newest are shown first, and the earlier ones on request", async () => {
  const runId = await start(await publish(RETRYING));
  const { page } = person;
  await person.go(`/runs/${runId}`);
  await page
    .getByRole("region", { name: "Error" })
    .getByText(/refuse \(step 2, attempt 23\)/)
    .waitFor();
  await page.getByRole("button", { name: "Retry from refuse (step 2)" }).waitFor();
  const line = page.getByRole("treeitem", { name: /refuse.*raise ×23/ });
  expect(await line.getAttribute("aria-posinset")).toBe("1");
  expect(await line.getAttribute("aria-setsize")).toBe("1");
  await line.click();
  const step = page.getByRole("complementary", { name: "Step 2" });
  await step.getByText("Attempts 23").click();
  await expect.poll(() => step.getByRole("listitem").count()).toBe(20);
  await step.getByRole("button", { name: "Show earlier attempts" }).click();
  await expect.poll(() => step.getByRole("listitem").count()).toBe(23);
});

test("a step is opened by keyboard, its parts are read, and its address is the step's", async () => {
  const agentId = await publish(WAITING.replace("asking", "asking-at-last"));
  const runId = await start(agentId);
  const { page } = person;
  await person.go(`/runs/${runId}`);
  const steps = page.getByRole("tree", { name: "Steps" });
  await steps.focus();
  await page.keyboard.press("j");
  await page.getByRole("complementary", { name: "Step 1" }).getByText('"ready": true').waitFor();
  expect(new URL(page.url()).search).toBe("?step=1");
  await page.keyboard.press("j");
  await page.getByRole("complementary", { name: "Step 2" }).waitFor();
});

test("a viewer sees no button that writes", async () => {
  const calledId = await publish(`
document:
  dsl: "1.0.3"
  namespace: test
  name: called
  version: "1.0.0"
  title: Called
  metadata: {triggers: [{name: shop, trigger: {type: webhook}}]}
do:
  - done: {set: {ok: true}}
`);
  await start(calledId);
  const viewer = await server.member("viewer@example.org", "viewer");
  const { page } = other;
  await other.enter(server, "/agents?text=called", viewer);
  await page.getByRole("link", { name: "Called", exact: true }).waitFor();
  expect(await page.getByRole("link", { name: /^(Describe a run|Run Called)$/ }).count()).toBe(0);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).fill("called");
  await page.getByRole("option", { name: /^Open Called/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Called", exact: true }).click();
  await page.getByRole("heading", { name: "You may not run agents" }).waitFor();
  await page.getByRole("link", { name: "Triggers" }).click();
  await page.getByRole("region", { name: "shop" }).waitFor();
  await page.getByText(/^You may read triggers, but not change them/).waitFor();
  expect(await page.getByRole("button", { name: /Add a trigger|test call|Fire|More for|Show the token/ }).count()).toBe(
    0,
  );
  await page.getByRole("link", { name: "Definition" }).click();
  await page.getByRole("region", { name: "Versions" }).waitFor();
  await page.getByText(/^You may read the definition, but not change it/).waitFor();
  expect(await page.getByRole("button", { name: /^Publish|^Save/ }).count()).toBe(0);
  await other.go("/runs");
  await page.getByRole("row", { name: /Called/ }).waitFor();
  expect(await page.getByRole("checkbox").count(), "nobody who may not cancel runs chooses any").toBe(0);

  const runId = await start(await publish(WAITING.replace("asking", "asking-nobody")));
  await other.go(`/runs/${runId}`);
  await page.getByText(/you are a viewer here/).waitFor();
  expect(await page.getByRole("button", { name: /Cancel run|Approve|Reject/ }).count()).toBe(0);
  await other.go("/events");
  await page.getByRole("heading", { name: "No events yet" }).waitFor();
  expect(await page.getByRole("button", { name: /Publish/ }).count()).toBe(0);
});

test("a question that somebody else was faster with says in its place who decided", async () => {
  const agentId = await publish(WAITING.replace("asking", "asking-two").replace("Go on?", "Whose turn?"));
  await start(agentId);
  const faster = await server.member("grace@example.org", "runner");
  const [slow, fast] = [person, other];
  await slow.go("/approvals");
  await fast.enter(server, "/approvals", faster);
  for (const { page } of [slow, fast]) {
    await page.getByRole("button", { name: /Whose turn\?/ }).click();
    await page.getByRole("region", { name: "Approval: Whose turn?" }).waitFor();
  }
  await slow.page.getByLabel("Comment").fill("I think");
  // The address has what is open. Another question waits, and moves nothing.
  expect(new URL(slow.page.url()).searchParams.get("open")).toMatch(/^approval_/);
  await start(agentId);
  await slow.page.getByRole("button", { name: "Show 1 new" }).waitFor();
  await fast.page.keyboard.press("a");
  const card = slow.page.getByRole("region", { name: "Approval: Whose turn?" });
  await card.getByText(/^Already decided: runner approved this/).waitFor();
  // The field that had the focus is gone; the keys go on from the line.
  await slow.page
    .getByRole("row", { name: /^approved Whose turn\?/ })
    .getByRole("button", { expanded: true })
    .waitFor();
  await expect.poll(() => slow.page.evaluate(() => document.activeElement?.hasAttribute("data-line"))).toBe(true);
  const link = slow.page.url();
  await slow.page.getByRole("button", { name: "Show 1 new" }).click();
  await slow.page.getByRole("row", { name: /^open Whose turn\?/ }).waitFor();
  expect(await slow.page.getByRole("row", { name: /Whose turn\?/ }).count(), "what was decided has left").toBe(1);
  // A link to it shows what became of it.
  await slow.page.goto(link);
  await card.getByText(/runner approved this/).waitFor();
});

const MANY = `
document: {dsl: "1.0.3", namespace: test, name: many, version: "1.0.0", title: Many}
do:
  - all:
      call: each:1.0.0@default
      with:
        in: "\${ [range(1; 61)] }"
        onError: collect
        do:
          - look: {set: {seen: true}}
          - judge: {if: "\${ $item > 58 }", raise: {error: {type: https://example.com/too-many, status: 410, title: Too many}}}
  - list: {set: {lines: "\${ [range(40)] | map({line: .}) }"}}
  - ask: {call: "approval:1.0.0@default", with: {question: "Enough?"}}
  - after: {set: {done: true}}
`;

test("a loop is folded with its counts, a failed item is found, and an output is searched and kept", async () => {
  const runId = await start(await publish(MANY));
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 600 });
  await person.go(`/runs/${runId}`);
  await page.getByRole("button", { name: "Approve" }).waitFor();
  await page.reload();
  const steps = page.getByRole("tree", { name: "Steps" });
  const loop = steps.getByRole("treeitem", { name: /all items 1–60: 58 completed 2 failed/ });
  await loop.waitFor();
  await steps.getByRole("treeitem", { name: /look/ }).waitFor({ state: "detached" });

  await page.getByText("Failed 2").click();
  await steps.getByRole("treeitem", { name: /judge 60/ }).click();
  const step = page.getByRole("complementary", { name: /^Step \d+$/ });
  await step.getByText("Too many").waitFor();
  await page.getByText("All", { exact: true }).click();
  await steps.getByRole("treeitem", { name: /judge 60/, selected: true }).waitFor();
  await expectGoodLooks(page, "a failed item");

  await page.keyboard.press("j");
  await steps.getByRole("treeitem", { name: /list/, selected: true }).waitFor();
  await step.getByRole("searchbox", { name: "Search the output" }).fill("line");
  await step.getByText("1 of 41").waitFor();
  await step.getByRole("searchbox", { name: "Search the output" }).press("Enter");
  await step.getByText("2 of 41").waitFor();
  const kept = page.waitForEvent("download");
  await step.getByRole("button", { name: "Download the output" }).click();
  expect((await kept).suggestedFilename()).toMatch(/^step-\d+-output\.json$/);

  // The palette acts on what is shown, by the verb.
  await step.getByRole("button", { name: "Close the step" }).click();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).fill("rej");
  await page.getByRole("option", { name: "Reject: Enough?", selected: true }).waitFor();
  await page.keyboard.press("Escape");
});

test("the newest step is followed until somebody scrolls up", async () => {
  const tasks = Array.from({ length: 40 }, (_, index) => `  - step${index}: {set: {a: 1}}`).join("\n");
  const definition = WAITING.replace("asking", "asking-long").replace("  - before: {set: {ready: true}}", tasks);
  const runId = await start(await publish(definition));
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 600 });
  await person.go(`/runs/${runId}`);
  await page.getByRole("treeitem", { name: /step0/ }).waitFor();
  await page.getByRole("button", { name: "Follow" }).click();
  await page.getByRole("treeitem", { name: /ask/ }).waitFor();
  await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(100);
  await page.getByRole("button", { name: "Follow", pressed: true }).waitFor();
  await page.mouse.move(600, 300);
  await page.mouse.wheel(0, -200);
  await page.getByRole("button", { name: "Follow", pressed: false }).waitFor();
});

const MANY_QUESTIONS = `
document: {dsl: "1.0.3", namespace: test, name: questions, version: "1.0.0", title: Questions}
do:
  - all:
      call: each:1.0.0@default
      with:
        in: "\${ [range(1; 26)] }"
        concurrency: 25
        do:
          - ask: {call: "approval:1.0.0@default", with: {question: '\${ "Number " + ($item | tostring) }'}}
`;

test("a run with 25 questions shows the first 20 and says that there are more; a decision brings the next", async () => {
  const runId = await start(await publish(MANY_QUESTIONS));
  const { page } = other;
  await other.enter(server, `/runs/${runId}`);
  await page.getByText("and 5 more:").waitFor();
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(20);
  await page.getByRole("link", { name: "all that wait for a decision" }).waitFor();
  const card = page.getByRole("region", { name: /^Approval/ }).first();
  await card.focus();
  await page.keyboard.press("a");
  await sendDecisions(page);
  await page.getByText("and 4 more:").waitFor();

  // Who has turned single keys off decides nothing by accident. They stay off in this browser.
  await page.keyboard.press("?");
  await page.getByRole("switch", { name: "Single keys" }).click({ force: true });
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("region", { name: "Approval: Number 2 Step" }).focus();
  await page.keyboard.press("r");
  await page.keyboard.press("?");
  expect(await page.getByRole("dialog").count()).toBe(0);
  expect(await page.getByRole("region", { name: "Decisions" }).count()).toBe(0);
  await page.getByText("and 4 more:").waitFor();
});
