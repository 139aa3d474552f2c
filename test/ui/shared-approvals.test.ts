/** Approvals that bind people, as those who are asked see them, those who are not, and those who decide in their place. */
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { LIMITS } from "../../server/src/lib/limits.ts";
import { start } from "../agents.ts";
import { join, login, type Member } from "../people.ts";
import { agentOf, ENDED, until } from "../runs.ts";
import { sharedServer, type SharedServer } from "../shared-server.ts";
import { expectEachLook, expectGoodLooks, LOOKS, Person, sendDecisions, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: SharedServer;
let anna: Member, bob: Member;
let asAnna: Person, asBob: Person, asOwner: Person;
let owner: string;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), sharedServer()]);
  [anna, bob, owner] = [
    await join(server, "editor", "Anna"),
    await join(server, "runner", "Bob"),
    await login(server, server.world),
  ];
  [asAnna, asBob, asOwner] = await Promise.all([open(anna), open(bob), open(server.world)]);
});
afterAll(async () => {
  for (const person of [asAnna, asBob, asOwner]) await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  for (const { page } of [asAnna, asBob, asOwner]) await page.setViewportSize(LOOKS[0]!.viewport);
});

async function open(who: { email: string; password: string }): Promise<Person> {
  const person = await Person.open(browser, { viewport: LOOKS[0]!.viewport });
  await person.enter(server, "/approvals", who);
  return person;
}

/** Ids of a run that waits for an answer and of its approval. */
async function ask(question: string, rest: object): Promise<{ runId: string; id: string }> {
  const asking = { call: "approval:1.0.0@default", with: { question, ...rest } };
  const runId = await start(server, await agentOf(server, `do: ${JSON.stringify([{ asking }])}`));
  const { approvals } = await until(server, runId, "paused");
  return { runId, id: approvals.nodes[0].id };
}
const DECIDE = "mutation ($input: DecideApprovalInput!) { decideApproval(input: $input) { status } }";
const decideAs = (token: string, approvalId: string, comment?: string) =>
  server.data(DECIDE, { input: { approvalId, decision: "approve", ...(comment && { comment }) } }, token);

const line = (page: Page, question: string): Locator => page.getByRole("button", { name: question });
/** In the list; on a run's page the step is part of the name. */
const card = (page: Page, question: string): Locator =>
  page.getByRole("region", { name: `Approval: ${question}`, exact: true });
const ofRun = (page: Page, question: string): Locator =>
  page.getByRole("region", { name: `Approval: ${question} Step 1`, exact: true });
const tab = (page: Page, name: string): Locator =>
  page.getByRole("navigation", { name: "Approvals" }).getByRole("link", { name, exact: true });

test("Mine has what names me, the address keeps it, and what comes meanwhile comes there alone", async () => {
  const { page } = asAnna;
  await ask("For Anna?", { assignees: [anna.email] });
  await ask("For Bob?", { assignees: [bob.email] });
  await ask("For anyone?", {});
  await asAnna.go("/approvals");
  for (const question of ["For Anna?", "For Bob?", "For anyone?"]) await line(page, question).waitFor();
  await tab(page, "Mine").click();
  await line(page, "For Bob?").waitFor({ state: "detached" });
  await line(page, "For Anna?").waitFor();
  expect(await line(page, "For anyone?").count()).toBe(0);
  expect(page.url()).toContain("show=mine");
  await expectGoodLooks(page, "approvals that are mine");

  // Only what she may decide counts.
  const badge = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: /^Approvals 2/ });
  await badge.waitFor();
  await ask("For editors?", { assignees: ["role:editor"] });
  await ask("For Bob too?", { assignees: [bob.email] });
  await page.getByRole("button", { name: "Show 1 new" }).click();
  await line(page, "For editors?").waitFor();
  expect(await line(page, "For Bob too?").count()).toBe(0);

  // By keyboard, as everywhere: the first opens, is approved, and the next one opens.
  await line(page, "For Anna?").focus();
  await page.keyboard.press("Enter");
  await card(page, "For Anna?").getByRole("button", { name: "Approve" }).waitFor();
  expect(await card(page, "For Anna?").getByRole("list", { name: "Who may decide" }).textContent()).toContain("(you)");
  await page.keyboard.press("a");
  await card(page, "For editors?").waitFor();
  expect(page.url()).toContain("show=mine");
  await page.keyboard.press("u");
  await card(page, "For Anna?").getByRole("button", { name: "Approve" }).click();
  await card(page, "For editors?").waitFor();
  expect(page.url()).toContain("show=mine");
  await sendDecisions(page);
  await page.getByRole("region", { name: "Decisions" }).waitFor({ state: "hidden" });
  await page.reload();
  await line(page, "For editors?").waitFor();
  expect(await line(page, "For Anna?").count()).toBe(0);
});

test("who is not assigned reads why, has no form, and keys do nothing", async () => {
  const { page } = asBob;
  const { id, runId } = await ask("Not for Bob?", { assignees: [anna.email, "role:admin"], timeout: "P1D" });
  const places = [
    [`/approvals?open=${id}`, card(page, "Not for Bob?")],
    [`/runs/${runId}`, ofRun(page, "Not for Bob?")],
  ] as const;
  for (const [path, one] of places) {
    await asBob.go(path);
    await one.getByText(`You are not assigned: ${anna.email} and any admin may decide it`, { exact: false }).waitFor();
    expect(await one.getByRole("button", { name: /Approve|Reject|in place/ }).count()).toBe(0);
    await one.focus();
    for (const key of ["a", "r"]) await page.keyboard.press(key);
    expect(await page.getByRole("region", { name: "Decisions" }).isVisible()).toBe(false);
    await expectEachLook(page, `not assigned, ${path}`);
    await page.setViewportSize(LOOKS[0]!.viewport);
  }
  // The step says who is waited for.
  await page.getByRole("treeitem", { name: `waits for ${anna.email} and any admin` }).waitFor();
  const { errors } = await server.graphql(DECIDE, { input: { approvalId: id, decision: "approve" } }, bob.token);
  expect(errors![0]!.extensions["reason"]).toBe("not_assigned");
});

test("two have to approve: what the first said is there at once, and the second approves the same", async () => {
  const form = {
    type: "object",
    properties: { centre: { type: "string", title: "Cost centre" } },
    required: ["centre"],
  };
  const { id, runId } = await ask("Pay twice?", { assignees: [anna.email, bob.email], quorum: 2, form });
  await asBob.go(`/runs/${runId}`);
  const bobs = ofRun(asBob.page, "Pay twice?");
  await bobs.getByText("0 of 2 approvals").waitFor();
  await asAnna.go(`/approvals?open=${id}`);
  const annas = card(asAnna.page, "Pay twice?");
  await annas.getByLabel("Cost centre").fill("Travel");
  await annas.getByLabel("Comment").fill("fine by me");
  await annas.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(asAnna.page);

  await bobs.getByText("1 of 2 approvals").waitFor();
  const decisions = bobs.getByRole("list", { name: "Decisions" });
  await decisions.getByText("“fine by me”").waitFor();
  await decisions.getByText("Anna").waitFor();
  await bobs.getByText("Others have approved this answer").waitFor();
  await bobs.getByText("Travel").waitFor();
  expect(await bobs.getByLabel("Cost centre").count()).toBe(0);
  await expectEachLook(asBob.page, "half approved");

  await asAnna.go(`/approvals?open=${id}`);
  await annas.getByText("You have approved it. One more approval is needed.").waitFor();
  expect(await annas.getByRole("button", { name: "Approve" }).count()).toBe(0);
  expect(await line(asAnna.page, "Pay twice?").textContent()).toContain("1 of 2 approvals");

  await bobs.focus();
  await asBob.page.keyboard.press("a");
  await sendDecisions(asBob.page);
  await until(server, runId, ...ENDED);
  await decisions.getByText("Bob").waitFor();
  expect(await decisions.getByRole("listitem").filter({ hasText: "approved" }).count()).toBe(2);
  // Anna's page was told.
  await annas.getByRole("list", { name: "Decisions" }).getByText("Bob").waitFor();
});

test("an owner decides in place of others, after a question, and that is marked", async () => {
  const { page } = asOwner;
  const { id } = await ask("In whose place?", { assignees: [anna.email, bob.email, "role:admin"] });
  await asOwner.go(`/approvals?open=${id}`);
  const one = card(page, "In whose place?");
  const inPlace = one.getByRole("button", { name: `Decide in place of ${anna.email}, ${bob.email} and 1 more` });
  await inPlace.waitFor();
  await one.focus();
  await page.keyboard.press("a");
  expect(await page.getByRole("region", { name: "Decisions" }).isVisible()).toBe(false);
  expect(await one.getByRole("button", { name: "Approve" }).count()).toBe(0);
  await expectEachLook(page, "in place of others");
  await page.setViewportSize(LOOKS[0]!.viewport);

  await inPlace.click();
  const dialog = page.getByRole("dialog", { name: "Decide in their place?" });
  await expectGoodLooks(page, "asked whether in their place");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => inPlace.evaluate((button) => button === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await dialog.getByRole("button", { name: "Decide in their place" }).click();
  await dialog.waitFor({ state: "detached" });
  await one.getByRole("button", { name: "Approve" }).waitFor();
  // The keys decide now: the focus is on the card.
  await expect.poll(() => one.evaluate((card) => card.contains(document.activeElement))).toBe(true);
  await page.keyboard.press("r");
  await sendDecisions(page);
  await page.getByRole("region", { name: "Decisions" }).waitFor({ state: "hidden" });
  await asOwner.go(`/approvals?show=decided&open=${id}`);
  await one.getByText("in place of those assigned").waitFor();
  await expectEachLook(page, "decided in place of others");
});

const dialogOf = (page: Page): Locator => page.getByRole("dialog", { name: "Reassign the approval" });
const reassign = (one: Locator): Locator => one.getByRole("button", { name: "Reassign" });

test("an assignee reassigns by keyboard, and those who decide now see it at once", async () => {
  const { page } = asAnna;
  const { id, runId } = await ask("For another?", { assignees: [anna.email] });
  await asBob.go(`/runs/${runId}`);
  const bobs = ofRun(asBob.page, "For another?");
  await bobs.getByText("You are not assigned", { exact: false }).waitFor();
  expect(await reassign(bobs).count()).toBe(0);

  await asAnna.go(`/approvals?open=${id}`);
  const annas = card(page, "For another?");
  await annas.getByRole("button", { name: "Approve" }).waitFor();
  await reassign(annas).focus();
  await page.keyboard.press("Enter");
  const who = dialogOf(page).getByLabel("Who decides");
  await expect.poll(() => who.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await who.inputValue()).toBe(anna.email.toLowerCase());
  await expectEachLook(page, "reassigning");
  await page.setViewportSize(LOOKS[0]!.viewport);
  // Escape leaves it, and the focus is where it was.
  await page.keyboard.press("Escape");
  await dialogOf(page).waitFor({ state: "detached" });
  await expect.poll(() => reassign(annas).evaluate((button) => button === document.activeElement)).toBe(true);

  await page.keyboard.press("Enter");
  await who.fill("nobody@example.org");
  await page.keyboard.press("Tab");
  await page.keyboard.type("on holiday");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await dialogOf(page).getByText("nobody@example.org is no member who may decide").waitFor();
  await expectGoodLooks(page, "reassigned to nobody");
  await who.fill(bob.email);
  await dialogOf(page).getByRole("button", { name: "Reassign" }).press("Enter");
  await dialogOf(page).waitFor({ state: "detached" });
  await annas.getByText("You are not assigned", { exact: false }).waitFor();
  expect(await reassign(annas).count()).toBe(0);
  await expect.poll(() => annas.evaluate((one) => one.contains(document.activeElement))).toBe(true);
  const said = annas.getByRole("list", { name: "Reassignments" });
  await said.getByText(`Anna reassigned it from ${anna.email} to ${bob.email}`, { exact: false }).waitFor();
  await said.getByText("“on holiday”", { exact: false }).waitFor();
  await expectEachLook(page, "reassigned");

  await bobs.getByText("“on holiday”", { exact: false }).waitFor();
  await bobs.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(asBob.page);
  await until(server, runId, ...ENDED);
  await bobs.getByRole("list", { name: "Reassignments" }).waitFor();
});

test("if two have to approve, an assignee passes on their own place; an owner chooses all, and that is marked", async () => {
  const { runId } = await ask("Two of us?", { assignees: [anna.email, bob.email], quorum: 2 });
  await asAnna.go(`/runs/${runId}`);
  const annas = ofRun(asAnna.page, "Two of us?");
  await reassign(annas).click();
  const own = dialogOf(asAnna.page);
  await own.getByText("2 have to approve, so you pass on your own place alone", { exact: false }).waitFor();
  await expectGoodLooks(asAnna.page, "passing on a place");
  await own.getByLabel("Who decides in your place").fill(server.world.email);
  await own.getByRole("button", { name: "Reassign" }).click();
  await own.waitFor({ state: "detached" });
  const names = annas.getByRole("list", { name: "Who may decide" });
  await names.getByText(server.world.email).waitFor();
  await names.getByText(bob.email).waitFor();
  expect(await names.getByText(anna.email).count()).toBe(0);

  const others = await ask("In whose stead?", { assignees: [anna.email] });
  const { page } = asOwner;
  await asOwner.go(`/approvals?open=${others.id}`);
  const owners = card(page, "In whose stead?");
  await owners.getByRole("button", { name: "Decide in place of" }).waitFor();
  // From the palette, too.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run" }).fill("reassign");
  await page.getByRole("option", { name: "Reassign: In whose stead?" }).click();
  const all = dialogOf(page);
  await all.getByText("marked as done in their place", { exact: false }).waitFor();
  await all.getByLabel("Who decides").fill(`${bob.email}\nrole:editor`);
  await all.getByRole("button", { name: "Reassign" }).click();
  await all.waitFor({ state: "detached" });
  await owners.getByRole("list", { name: "Who may decide" }).getByText("any editor").waitFor();
  await owners.getByText("in place of those assigned").waitFor();
  const { approval } = await server.data(
    "query ($id: ID!) { approval(id: $id) { assignees reassignments { isOverride } } }",
    { id: others.id },
  );
  expect(approval).toEqual({
    assignees: [bob.email.toLowerCase(), "role:editor"],
    reassignments: [{ isOverride: true }],
  });
});

test("whoever started the run may not decide it, and is told so", async () => {
  const agentId = await agentOf(
    server,
    `do: ${JSON.stringify([{ ask: { call: "approval:1.0.0@default", with: { question: "Started by me?", excludeStarter: true } } }])}`,
  );
  const { runAgent } = await server.data(
    "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }",
    { input: { agentId } },
    anna.token,
  );
  await until(server, runAgent.id, "paused");
  await asAnna.go(`/runs/${runAgent.id}`);
  await ofRun(asAnna.page, "Started by me?").getByText("You started the run, so you may not decide it").waitFor();
});

test("as many assignees as there may be, with long names, take little room until somebody wants to see them all", async () => {
  const { page } = asAnna;
  const many = Array.from(
    { length: LIMITS.approvalAssignees - 2 },
    (_, n) => `${"very.long.name.".repeat(4)}${n}@accounts.payable.example.org`,
  );
  const { id, runId } = await ask("For very many?", { assignees: [anna.email, ...many, "role:owner"] });
  await asAnna.go(`/runs/${runId}`);
  const one = ofRun(page, "For very many?");
  const who = one.getByRole("list", { name: "Who may decide" });
  await who.waitFor();
  expect(await who.getByRole("listitem").count()).toBe(5);
  await one.getByRole("button", { name: `and ${LIMITS.approvalAssignees - 5} more` }).click();
  expect(await who.getByRole("listitem").count()).toBe(LIMITS.approvalAssignees);
  await who.getByText("any owner").waitFor();
  await expectEachLook(page, "many assignees");
  await asOwner.go(`/approvals?open=${id}`);
  const owners = card(asOwner.page, "For very many?");
  await owners.getByRole("button", { name: "Approve" }).waitFor();
  await decideAs(owner, id, "enough");
  await one.getByText("“enough”").waitFor();
});
