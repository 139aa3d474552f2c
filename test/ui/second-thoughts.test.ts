/** Accidental acts can be taken back, or need a confirmation first; somebody else's work in the meantime is not lost. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectEachLook, expectGoodLooks, LOOKS, Person, sendDecisions, sharedBrowser, stopTime } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
/** Goes from test to test in one page, where no clock stands still and no request is refused. */
let person: Person;
/** Goes from test to test in one page whose time a test stops, and lets go on at its end. */
let timed: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  person = await Person.open(browser, LOOKS[0]);
  timed = await Person.open(browser, LOOKS[0]);
  await person.enter(server, "/agents");
  await timed.page.clock.install();
  await timed.enter(server, "/agents");
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await timed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const asking = (name: string, form = ""): string => `
document: {dsl: "1.0.3", namespace: test, name: ${name}, version: "1.0.0", title: "Asking ${name}"}
input: {schema: {format: json, document: {type: object, properties: {what: {type: string}}}}}
do:
  - ask:
      call: approval:1.0.0@default
      with: {question: "\${ \\"Pay for \\" + (.what // \\"it\\") + \\"?\\" }"${form}}
  - done: {set: {said: "\${ .comment }"}}
`;
const FORM =
  ", form: {type: object, properties: {costs: {type: integer, title: Costs, minimum: 10}}, required: [costs]}";

async function publish(definition: string): Promise<string> {
  const mutation = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  return (await server.data(mutation, { definition })).publishAgent.id;
}

/** Returns the run's id, once it waits for an answer. */
async function start(agentId: string, what = "it"): Promise<string> {
  const { runAgent } = await server.data(
    "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id status } }",
    { input: { agentId, input: { what }, wait: 30 } },
  );
  expect(runAgent.status).toBe("paused");
  return runAgent.id;
}

const runsOf = async (agentId: string): Promise<{ id: string; status: string }[]> =>
  (await server.data("query ($id: ID!) { agent(id: $id) { runs { nodes { id status } } } }", { id: agentId })).agent
    .runs.nodes;

const statusOf = async (runId: string): Promise<string> =>
  (await server.data(`{ run(id: "${runId}") { status } }`)).run.status;

/** The present status of each approval of a run. */
const approvalsOf = async (runId: string): Promise<{ status: string; comment: string | null; answer: unknown }[]> =>
  (
    await server.data("query ($id: ID!) { run(id: $id) { approvals { nodes { status comment answer } } } }", {
      id: runId,
    })
  ).run.approvals.nodes;

const bar = (page: Page): Locator => page.getByRole("region", { name: "Decisions" });
const card = (page: Page, what = "it"): Locator =>
  page.getByRole("region", { name: new RegExp(`^Approval: Pay for ${what}\\?`) });

type Box = { x: number; y: number; width: number; height: number };
const boxOf = async (of: Locator): Promise<Box> => (await of.boundingBox())!;
const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

test.each([1280, 700, 360])(
  "at %i px a run is cancelled after a question, and no button that starts one comes to its place",
  async (width) => {
    const agentId = await publish(asking(`cancelled-${width}`));
    const runId = await start(agentId);
    const { page } = person;
    await page.setViewportSize({ width, height: 800 });
    await person.go(`/runs/${runId}`);
    const cancel = page.getByRole("button", { name: "Cancel run…", exact: true });
    const before = await boxOf(cancel);
    await cancel.click();
    const keep = page.getByRole("button", { name: "Keep it running" });
    await keep.and(page.locator(":focus")).waitFor();
    const sure = page.getByRole("button", { name: "Cancel run", exact: true });
    expect(overlap(await boxOf(sure), before), "the second click of two cancels nothing").toBe(false);
    expect(overlap(await boxOf(keep), before), "it keeps the run").toBe(true);
    await page.keyboard.press("Escape");
    await cancel.and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Enter");
    await keep.waitFor();
    await expectGoodLooks(page, `cancel, ${width}`);
    const asked = [before, await boxOf(sure), await boxOf(keep)];
    await sure.click();
    await page.getByRole("status").getByText("Cancelled", { exact: true }).waitFor();
    for (const name of ["Retry", "More ways to run it"]) {
      const started = await boxOf(page.getByRole("button", { name, exact: true }));
      for (const place of asked) expect(overlap(started, place), name).toBe(false);
    }
    // The same place again and again starts nothing.
    const { x, y, width: wide, height } = asked[1]!;
    for (let count = 0; count < 3; count++) await page.mouse.click(x + wide / 2, y + height / 2);
    await page.reload();
    await page.getByRole("button", { name: "Retry", exact: true }).waitFor();
    expect((await runsOf(agentId)).map(({ id }) => id)).toEqual([runId]);
    expect(await page.getByText("Cancelled", { exact: true }).count(), "nothing was cancelled on this page").toBe(0);
  },
);

test("the second of two quick clicks in one place does nothing to what came there meanwhile", async () => {
  const agentId = await publish(asking("quick"));
  await start(agentId, "one");
  await start(agentId, "two");
  const { page } = timed;
  await timed.go("/approvals");
  await page.getByRole("button", { name: "Pay for one?" }).click();
  const approve = card(page, "one").getByRole("button", { name: "Approve" });
  await approve.scrollIntoViewIfNeeded();
  const { x, y } = await boxOf(approve);
  // The popover is put where the pointer is, whatever the layout.
  await page.evaluate(
    ([left, top]) => {
      const found = new MutationObserver(() => {
        const next = document.querySelectorAll<HTMLElement>('button[value="approve"]');
        for (const button of next)
          Object.assign(button.style, { position: "fixed", left: `${left}px`, top: `${top}px` });
      });
      found.observe(document.body, { childList: true, subtree: true });
      Object.assign(window, { letLieWhereItIs: () => found.disconnect() });
    },
    [x, y],
  );
  await stopTime(page);
  await page.mouse.click(x + 4, y + 4, { clickCount: 1 });
  await card(page, "two").getByRole("button", { name: "Approve" }).waitFor();
  // As quick as a hand, however slow the machine: the time between is the page's.
  await page.evaluate(
    ([left, top]) => {
      const target = document.elementFromPoint(left! + 4, top! + 4)!;
      const click = (): MouseEvent =>
        new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1, clientX: left! + 4, clientY: top! + 4 });
      document.body.dispatchEvent(click());
      target.dispatchEvent(click());
    },
    [x, y],
  );
  await bar(page).getByText("Pay for one?").waitFor();
  expect(await bar(page).getByRole("listitem").count()).toBe(1);
  await bar(page).getByRole("button", { name: "Undo" }).click();
  await page.evaluate(() => (window as unknown as { letLieWhereItIs: () => void }).letLieWhereItIs());
  await page.clock.resume();
});

test("on a run's page keys decide once the card has the focus, and a decision is taken back for five seconds", async () => {
  const agentId = await publish(asking("focused"));
  const runId = await start(agentId);
  const { page } = timed;
  await timed.go(`/runs/${runId}`);
  await card(page).getByRole("button", { name: "Approve" }).waitFor();
  await stopTime(page);
  await page.keyboard.press("a");
  await page.keyboard.press("r");
  await card(page).getByLabel("Comment").fill("fine");
  await page.getByRole("heading", { name: "Asking focused" }).click();
  await page.keyboard.press("a");
  expect(await bar(page).count(), "the focus was elsewhere").toBe(0);

  await card(page).focus();
  await page.keyboard.press("a");
  await bar(page)
    .getByText(/^Approving in 5 s/)
    .waitFor();
  await page.clock.runFor(4_900);
  await bar(page)
    .getByText(/^Approving in 1 s/)
    .waitFor();
  expect(await approvalsOf(runId)).toMatchObject([{ status: "open" }]);
  // An approval that is taken back is there again, with its comment.
  await page.keyboard.press("u");
  await bar(page).waitFor({ state: "detached" });
  await card(page).getByRole("button", { name: "Approve" }).and(page.locator(":focus")).waitFor();
  expect(await card(page).getByLabel("Comment").inputValue()).toBe("fine");
  await page.clock.runFor(6_000);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "open" }]);

  await page.keyboard.press("r");
  await bar(page)
    .getByText(/^Rejecting in \d s/)
    .waitFor();
  await page.clock.runFor(5_000);
  await card(page)
    .getByText(/rejected this/)
    .waitFor();
  expect(await card(page).getByText("Already decided").count(), "by oneself").toBe(0);
  expect(await approvalsOf(runId)).toEqual([{ status: "rejected", comment: "fine", answer: null }]);
  await page.clock.resume();
});

test("two decisions in quick succession have five seconds each, wherever one goes meanwhile", async () => {
  const agentId = await publish(asking("both"));
  const runs = [await start(agentId, "first"), await start(agentId, "second")];
  const { page } = timed;
  await timed.go("/approvals");
  await page.getByRole("button", { name: "Pay for first?" }).click();
  await card(page, "first").getByRole("button", { name: "Approve" }).waitFor();
  await expectGoodLooks(page, "an open approval");
  await stopTime(page);
  await page.keyboard.press("a");
  await page.getByRole("row", { name: /^approving… Pay for first\?/ }).waitFor();
  await card(page, "second").getByRole("button", { name: "Approve" }).waitFor();
  await page.clock.runFor(2_000);
  await page.keyboard.press("r");
  await page.getByRole("row", { name: /^rejecting… Pay for second\?/ }).waitFor();
  await page.getByRole("link", { name: "Agents", exact: true }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  expect(await bar(page).getByRole("listitem").count()).toBe(2);
  await page.clock.runFor(3_000);
  await expect.poll(() => statusOf(runs[0]!)).toBe("completed");
  await bar(page).getByText("Pay for first?").waitFor({ state: "detached" });
  expect(await approvalsOf(runs[1]!)).toMatchObject([{ status: "open" }]);
  await bar(page).getByRole("button", { name: "Undo" }).click();
  await page.clock.runFor(10_000);
  expect(await approvalsOf(runs[1]!)).toMatchObject([{ status: "open" }]);
  await page.clock.resume();
});

test("reloading the page, closing it or signing out is a decision", async () => {
  const agentId = await publish(asking("leaving"));
  const decide = async (page: Page, runId: string): Promise<void> => {
    await page.goto(`${server.url}/runs/${runId}`);
    await card(page).getByRole("button", { name: "Approve" }).click();
    await bar(page)
      .getByText(/^Approving/)
      .waitFor();
  };
  const isSent = async (runId: string): Promise<void> => {
    await expect.poll(() => statusOf(runId)).toBe("completed");
  };
  await using person = await Person.open(browser, LOOKS[0]);
  const { page } = person;
  await page.clock.install();
  await person.enter(server, "/agents");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const runs = [await start(agentId), await start(agentId)] as const;
  // A token near its end is exchanged when one decides: a page that is left has no time for it.
  const exchange = "**/auth/session/refresh";
  await page.route(exchange, async (route) => {
    const response = await route.fetch();
    const expiresAt = new Date(Date.now() + 20_000).toISOString();
    await route.fulfill({ response, json: { ...(await response.json()), expiresAt } });
  });
  await page.goto(`${server.url}/runs/${runs[0]}`);
  await card(page).getByRole("button", { name: "Approve" }).waitFor();
  await stopTime(page);
  await page.unroute(exchange);
  const exchanged = page.waitForResponse(exchange);
  await card(page).getByRole("button", { name: "Approve" }).click();
  await exchanged;
  await page.clock.resume();
  await page.reload();
  await isSent(runs[0]);
  const closeTab = async (): Promise<void> => {
    const runId = await start(agentId);
    const other = await person.tab();
    await other.clock.install();
    await decide(other, runId);
    await other.close();
    await isSent(runId);
  };
  // Chromium ends the page of a closing tab after half a second, whether it has come to its turn or not.
  await closeTab().catch(closeTab).catch(closeTab);
  await decide(page, runs[1]);
  // The requests that the page repeats as it signs out are refused.
  person.mayFail();
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await isSent(runs[1]);
});

test("who signs out waits for a decision that is under way", async () => {
  const agentId = await publish(asking("ending"));
  const runId = await start(agentId, "first");
  const member = await server.member("ending@example.org", "editor");
  await using person = await Person.open(browser, LOOKS[0]);
  person.mayFail();
  const { page } = person;
  const held = Promise.withResolvers<void>();
  await page.route("**/graphql", async (route) => {
    if (route.request().postData()?.includes("mutation Decide")) await held.promise;
    await route.fallback();
  });
  let isOut = false;
  page.on("request", (request) => (isOut ||= request.method() === "DELETE"));
  await person.enter(server, `/runs/${runId}`, member);
  await card(page, "first").getByRole("button", { name: "Approve" }).click();
  const sent = page.waitForRequest((request) => !!request.postData()?.includes("mutation Decide"));
  await sendDecisions(page);
  await sent;
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  // It has sent its decision before it answers.
  await page.evaluate(() => fetch("/healthz"));
  expect(isOut, "it waits").toBe(false);
  held.resolve();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await statusOf(runId)).toBe("completed");
});

test("a decision that is not taken says why, and its form is as it was; one that somebody else was faster with says so", async () => {
  const agentId = await publish(asking("refused", FORM));
  const runId = await start(agentId);
  const { page } = timed;
  await timed.go("/approvals");
  await page.getByRole("button", { name: "Pay for it?" }).last().click();
  await card(page).getByLabel("Costs").fill("3");
  await stopTime(page);
  await card(page).getByRole("button", { name: "Approve" }).click();
  await bar(page)
    .getByText(/^Approving/)
    .waitFor();
  await sendDecisions(page);
  await bar(page).getByText("Not approved:").waitFor();
  await page.clock.resume();
  await expectGoodLooks(page, "a decision that was not taken");
  await bar(page).getByRole("button", { name: "Open it again" }).click();
  await bar(page).waitFor({ state: "detached" });
  await card(page)
    .getByText(/at least 10/)
    .first()
    .waitFor();
  expect(await card(page).getByLabel("Costs").inputValue()).toBe("3");
  await card(page).getByLabel("Costs").fill("30");
  await card(page).getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await expect.poll(() => approvalsOf(runId)).toEqual([{ status: "approved", comment: null, answer: { costs: 30 } }]);

  const late = await start(agentId);
  await page.goto(`${server.url}/runs/${late}`);
  await card(page).getByLabel("Costs").fill("20");
  await stopTime(page);
  await card(page).getByRole("button", { name: "Approve" }).click();
  await server.data("query ($id: ID!) { run(id: $id) { approvals { nodes { id } } } }", { id: late }).then(({ run }) =>
    server.data("mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { id } }", {
      input: { approvalId: run.approvals.nodes[0].id, decision: "reject" },
    }),
  );
  await sendDecisions(page);
  await bar(page).getByText("Not approved:").waitFor();
  await card(page)
    .getByText(/^Already decided: .* rejected this/)
    .waitFor();
  await bar(page).getByRole("button", { name: "Dismiss" }).click();
  expect(await approvalsOf(late)).toMatchObject([{ status: "rejected" }]);
});

const GREETING = (
  version: string,
  title = "Greeter",
  more = "",
): string => `document: {dsl: "1.0.3", namespace: test, name: greeter, version: "${version}", title: ${title}}
do:
  - greet: {set: {greeting: "hello${more}"}}
`;

/** Puts another text into the editor. */
async function write(page: Page, text: string): Promise<void> {
  const editor = page.getByRole("textbox", { name: "Definition" });
  await editor.focus();
  await page.keyboard.press("ControlOrMeta+a");
  await editor.evaluate((element, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}
const written = (page: Page): Promise<string[]> => page.locator(".cm-content .cm-line").allTextContents();

test("what is published while a draft is there is what is shown as published, and the page is called as it says", async () => {
  const id = await publish(GREETING("1.0.0"));
  const save = "mutation ($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { draft { revision } } }";
  await server.data(save, { input: { agentId: id, definition: GREETING("1.1.0", "Greeter", " from an old draft") } });
  const { page } = person;
  await page.setViewportSize(LOOKS[0]!.viewport);
  await person.go(`/agents/${id}?tab=definition`);
  await page.getByText("This draft is not published").waitFor();
  await expectGoodLooks(page, "a draft");
  await write(page, GREETING("1.2.0", "Welcomer", " again"));
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText("1.2.0 is published").waitFor();
  await page.getByText("Published version 1.2.0.").waitFor();
  await page.getByRole("heading", { name: "Welcomer", exact: true }).waitFor();
  await expect.poll(() => page.title()).toBe("Welcomer · Autograph");
  expect((await written(page)).join("\n")).toContain("hello again");
  // It grew out of the draft, which is gone with it.
  await expect.poll(() => page.getByText("There is an unpublished draft").count()).toBe(0);
  const draftOf = async () =>
    (await server.data("query ($id: ID!) { agent(id: $id) { draft { definition revision } } }", { id })).agent.draft;
  await expect.poll(draftOf).toBeNull();

  // One that somebody else saves stays, and what is published is shown as published.
  await page.reload();
  await page.getByText("Published version 1.2.0.").waitFor();
  const theirs = GREETING("2.0.0", "Theirs", " from them");
  await server.data(save, { input: { agentId: id, definition: theirs } });
  await write(page, GREETING("1.3.0", "Welcomer", " once more"));
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText("Published version 1.3.0.").waitFor();
  expect((await written(page)).join("\n")).toContain("hello once more");
  await page.getByText("There is an unpublished draft").waitFor();
  expect((await draftOf()).definition).toBe(theirs);
  await page.getByRole("button", { name: "Open the draft" }).click();
  await expect.poll(async () => (await written(page)).join("\n")).toContain("hello from them");
  await page.getByRole("button", { name: "Show the published version" }).click();
  await expect.poll(async () => (await written(page)).join("\n")).toContain("hello once more");
  await page.getByRole("button", { name: "Discard draft…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard draft" }).click();
  await page.getByText("There is an unpublished draft").waitFor({ state: "detached" });
  expect(await draftOf()).toBeNull();
});

test("two who save a draft at once: theirs is shown, mine is kept, or it is discarded; nothing is lost before", async () => {
  const id = await publish(GREETING("1.0.0").replace("name: greeter", "name: shared"));
  const text = (more: string): string => GREETING("1.1.0", "Greeter", more).replace("name: greeter", "name: shared");
  const saveTheirs = (more: string): Promise<unknown> =>
    server.data("mutation ($input: SaveAgentDraftInput!) { saveAgentDraft(input: $input) { id } }", {
      input: { agentId: id, definition: text(more) },
    });
  const draft = async (): Promise<string> =>
    (await server.data("query ($id: ID!) { agent(id: $id) { draft { definition } } }", { id })).agent.draft.definition;
  const { page } = person;
  await page.setViewportSize(LOOKS[0]!.viewport);
  await person.go(`/agents/${id}?tab=definition`);
  await page.getByText("Published version 1.0.0.").waitFor();
  await saveTheirs(" of theirs");
  await write(page, text(" of mine"));
  await page.getByRole("button", { name: "Save as draft" }).click();
  const conflict = page.getByRole("alert", { name: "Conflict" });
  await conflict.getByText(/saved another draft/).waitFor();
  await expectEachLook(page, "a conflict");
  await page.setViewportSize(LOOKS[0]!.viewport);
  await conflict.getByRole("button", { name: "Show theirs" }).click();
  await page.getByRole("textbox", { name: "The version" }).getByText("hello of theirs").waitFor();
  await page.getByRole("textbox", { name: "Current text" }).getByText("hello of mine").waitFor();
  expect(await draft()).toBe(text(" of theirs"));
  // The read after a save gets its answer late: by then they have saved again.
  const [read, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route("**/graphql", async (route) => {
    if (!/query AgentDefinition\b/.test(route.request().postData() ?? "")) return route.fallback();
    const response = await route.fetch();
    read.resolve();
    await late.promise;
    await route.fulfill({ response });
  });
  await conflict.getByRole("button", { name: "Keep mine" }).click();
  await conflict.waitFor({ state: "detached" });
  expect(await draft()).toBe(text(" of mine"));
  await page.getByText("This draft is not published").waitFor();
  await read.promise;

  await saveTheirs(" of theirs again");
  await write(page, text(" of mine again"));
  const refused = page.waitForResponse((response) => /mutation SaveDraft\b/.test(response.request().postData() ?? ""));
  await page.getByRole("button", { name: "Save as draft" }).click();
  await (await refused).finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  expect(
    await conflict.count(),
    "neither the draft that they replaced nor an answer of before is taken for theirs",
  ).toBe(0);
  late.resolve();
  await conflict.getByText(/saved another draft/).waitFor();
  await page.unroute("**/graphql");
  await conflict.getByRole("button", { name: "Discard draft" }).click();
  await expect.poll(async () => (await written(page)).join("\n")).toContain("hello of theirs again");
  expect(await draft()).toBe(text(" of theirs again"));
  expect(await conflict.count()).toBe(0);
});
