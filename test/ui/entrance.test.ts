/** The ways in and out: setup, sign-in, invitation, the end of a session. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../client.ts";
import {
  GREETER,
  accessTokenOf,
  expectEachLook,
  expectGoodLooks,
  OWNER,
  Person,
  sharedBrowser,
  signIn,
  stopTime,
} from "./ui.ts";

const ASKING = `
document: {dsl: "1.0.3", namespace: test, name: asking, version: "1.0.0", title: Asking}
do:
  - ask: {call: "approval:1.0.0@default", with: {question: "Go on?"}}
`;

let browser: Browser;
let server: TestServer;
/** Goes from test to test in one browser, and signs in again each time. */
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), startTestServer()]);
  person = await Person.open(browser);
  person.mayFail();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test("setup below a path of PUBLIC_URL: a wrong link is said; by keyboard alone, after what is wrong was said at its fields; the server that is gone", async () => {
  // The proxy before a server gets its address first: a port that is only chosen may be taken by another process.
  let port = 0;
  await using front = await startFront(() => port);
  const base = `${front.url}/agents/here`;
  await using fresh = await startTestServer({ fresh: true, env: { PUBLIC_URL: base } });
  port = Number(new URL(fresh.url).port);
  const { page } = person;
  await page.goto(`${base}/#setup=wrong`);
  await setUpAgain(page);
  await page.getByText("The setup link is not valid or has expired").waitFor();

  // Another fragment alone would load nothing.
  await page.goto("about:blank");
  await page.goto(fresh.setupLink!);
  await page.getByLabel("Organization").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Your name is required").waitFor();
  expect(await page.getByLabel("Organization").evaluate((input) => input === document.activeElement)).toBe(true);
  await expectGoodLooks(page, "setup");
  for (const text of [OWNER.organization, OWNER.name, OWNER.email]) {
    await page.keyboard.insertText(text);
    await page.keyboard.press("Tab");
  }
  await page.keyboard.insertText("x".repeat(300));
  await page.keyboard.press("Enter");
  await page.getByText("Password must have at most 256 characters").waitFor();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText(OWNER.password);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  expect(page.url()).toBe(`${base}/agents`);
  // A page deep within.
  await page.goto(`${base}/runs?status=failed`);
  await page.getByText("No failed runs").waitFor();

  // The same link again.
  await page.goto(fresh.setupLink!);
  await setUpAgain(page);
  await page.getByText(/already set up/).waitFor();
  await fresh.stop();
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByText("The server does not answer").waitFor();
});

const setUpAgain = async (page: Page): Promise<void> => {
  await page.getByLabel("Organization").fill("other");
  await page.getByLabel("Your name").fill("Eve");
  await page.getByLabel("E-mail").fill("eve@example.org");
  await page.getByRole("textbox", { name: "Password" }).fill("correct horse battery");
  await page.getByRole("button", { name: "Set up" }).click();
};

test("an invitation leads a new member in, once", async () => {
  const owner = await accessTokenOf(server, server.world);
  const { inviteMember } = await server.data("mutation { inviteMember(input: {role: runner}) { url } }", {}, owner);
  const { page } = person;
  await page.goto(inviteMember.url);
  await page.getByRole("heading", { name: /^Join / }).waitFor();
  await expectGoodLooks(page, "invitation");
  await page.getByLabel("Your name").fill("Katherine");
  await page.getByLabel("E-mail").fill("katherine@example.org");
  await page.getByRole("textbox", { name: "Password" }).fill("a good long password");
  await page.getByRole("button", { name: "Join", exact: true }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const again = await person.tab();
  await again.goto(inviteMember.url);
  await again.getByRole("heading", { name: "This invitation cannot be used" }).waitFor();
  await again.close();
});

test("who is not signed in is asked to by a page of good looks, told what is wrong, then sees the page that was asked for; signing out leads back", async () => {
  const member = await server.member("grace@example.org", "runner");
  await using person = await Person.open(browser);
  const { page } = person;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(`${server.url}/runs?status=failed`);
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  expect(
    asked.filter((path) => path.startsWith("/auth")),
    "nothing that it cannot have",
  ).toEqual([]);
  await expectEachLook(page, "sign in");
  await page.setViewportSize({ width: 1280, height: 720 });
  person.mayFail();
  const refused = page.getByRole("alert");
  await signIn(page, { ...member, password: "wrong password" });
  await refused.getByText("wrong").waitFor();
  // A second person, who has been wrong too often, learns when to try again.
  const who = { email: "nobody@example.org", password: "wrong password" };
  const login =
    "mutation ($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }";
  for (let failed = 0; failed < 10; failed++) await server.graphql(login, who, null);
  await signIn(page, who);
  await refused.getByText(/^Too many failed sign-ins: try again at \d?\d:\d\d:\d\d/).waitFor();
  await signIn(page, member);
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?status=failed");
  await page.reload();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  // As by a bookmark.
  await page.goto(`${server.url}/sign-in?to=/runs`);
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();

  const other = await person.tab();
  await other.goto(`${server.url}/agents`);
  await other.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await other.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await signIn(other, member);
  await other.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});

test("tabs that exchange their tokens at once stay signed in", async () => {
  const member = await server.member("lin@example.org", "runner");
  await person.enter(server, "/agents", member);
  await person.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
  const tabs = [person.page, await person.tab(), await person.tab()];
  await Promise.all(tabs.map((tab) => tab.goto(`${server.url}/agents`)));
  for (const place of ["Runs", "Approvals"]) {
    await server.clock.advance(11 * 60_000);
    await Promise.all(tabs.map((tab) => tab.getByRole("link", { name: place, exact: true }).click()));
    for (const tab of tabs) await tab.getByRole("heading", { name: place, exact: true }).waitFor();
  }
  await Promise.all(tabs.slice(1).map((tab) => tab.close()));
});

test("when the session has ended one signs in again over the page, and what was typed is there", async () => {
  const member = await server.member("hopper@example.org", "runner");
  await server.data("mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }", {
    definition: GREETER,
  });
  const { page } = person;
  await person.enter(server, "/agents", member);
  await page.getByRole("link", { name: "Greeter", exact: true }).click();
  await page.getByLabel(/^Who/).fill("the crew of the Mark I");
  const address = page.url();
  await server.data("mutation { revokeOtherSessions { revokedCount } }", {}, await accessTokenOf(server, member));
  await server.clock.advance(15_000);
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  await expectGoodLooks(page, "signing in again");
  expect(await dialog.getByLabel("E-mail").inputValue()).toBe(member.email);
  await page.keyboard.press("Escape");
  await signIn(page, { ...member, password: "wrong password" });
  await dialog.getByRole("alert").waitFor();
  await signIn(page, member);
  await dialog.waitFor({ state: "detached" });
  expect(page.url()).toBe(address);
  expect(await page.getByLabel(/^Who/).inputValue()).toBe("the crew of the Mark I");
  await page.getByRole("button", { name: "Run greeter" }).click();
  await page.getByRole("region", { name: "Output" }).getByText("hello").waitFor();
});

test("who signs out of a session that has ended waits for no decision", async () => {
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  const agentId = (await server.data(publish, { definition: ASKING })).publishAgent.id;
  const run = "mutation ($agentId: ID!) { runAgent(input: {agentId: $agentId, wait: 30}) { id status } }";
  const { id: runId } = (await server.data(run, { agentId })).runAgent;
  const member = await server.member("ending@example.org", "editor");
  const { page } = person;
  await page.clock.install();
  await person.enter(server, `/runs/${runId}`, member);
  const approve = page.getByRole("button", { name: "Approve" });
  await approve.waitFor();
  await stopTime(page);
  await approve.click();
  await server.data("mutation { revokeOtherSessions { revokedCount } }", {}, await accessTokenOf(server, member));
  await server.clock.advance(15_000);
  await page.clock.resume();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect((await server.data(`{ run(id: "${runId}") { status } }`)).run.status).toBe("paused");
});

test("who signs out while the page connects again leaves nothing behind that fails", async () => {
  await using leaving = await Person.open(browser);
  const { page } = leaving;
  await page.routeWebSocket(/graphql/, (socket) => void socket.close({ code: 4205, reason: "restart" }));
  await leaving.enter(server, "/agents");
  await page.getByText(/^Reconnecting/).waitFor();
  await page.getByRole("button", { name: "account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  // The pause before the next try is over.
  await page.evaluate(async () => {
    dispatchEvent(new Event("online"));
    await new Promise((resolve) => void setTimeout(resolve, 50));
  });
});

/** Passes on what comes, as it is. */
async function startFront(portOf: () => number): Promise<{ url: string } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const behind = connect(portOf(), "127.0.0.1");
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => (client.destroy(), behind.destroy()));
    }
    client.pipe(behind).pipe(client);
  });
  await once(front.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      front.close();
    },
  };
}
