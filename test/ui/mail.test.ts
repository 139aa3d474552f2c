/** Mail as people meet it on pages: an invitation that was mailed, a forgotten password. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { connectTo } from "../faults/audit.ts";
import { startSmtp, type Smtp } from "../smtp.ts";
import { Person, expectEachLook, sharedBrowser } from "./ui.ts";

let browser: Browser;
let smtp: Smtp;
let server: TestServer;
beforeAll(async () => {
  smtp = await startSmtp();
  const env = { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "Autograph <agents@example.org>" };
  [browser, server] = await Promise.all([sharedBrowser(), startTestServer({ env })]);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});

test("an invitation says whether it was mailed", async () => {
  await using owner = await Person.open(browser);
  const page = await owner.enter(server, "/settings/members");
  await page.getByRole("button", { name: "Create invite link" }).click();
  await page.getByText("It was not mailed: pass it on yourself.").waitFor();
  await page.getByLabel(/^E-mail/).fill("dave@example.org");
  await page.getByLabel("Role", { exact: true }).selectOption("viewer");
  await page.getByRole("button", { name: "Create invite link" }).click();
  await page.getByText("It was also mailed to dave@example.org.").waitFor();
  await expectEachLook(page, "an invitation that was mailed");
  await eventually(() => smtp.received.some(({ to }) => to.includes("dave@example.org")));
});

test("a forgotten password: asked for by keyboard alone, a new one set by the mailed link, once", async () => {
  const { email } = await server.member("grace@example.org", "viewer");
  await using person = await Person.open(browser);
  person.mayFail();
  const { page } = person;
  await page.goto(`${server.url}/sign-in`);
  await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();
  await expectEachLook(page, "sign in with the way to a new password");
  await page.getByRole("link", { name: "Forgotten password" }).press("Enter");
  await page.getByRole("heading", { name: "Forgotten password" }).waitFor();
  await expectEachLook(page, "a forgotten password");
  await page.keyboard.press("Enter");
  await page.getByText("E-mail is required").waitFor();
  await page.keyboard.insertText(email);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Check your mail" }).waitFor();
  await expectEachLook(page, "a link is on its way");

  const { raw } = await eventually(() => smtp.received.find(({ to }) => to.includes(email)));
  const link = /http\S+#password-reset=\S+/.exec(raw.replaceAll("=\r\n", "").replaceAll("=3D", "="))![0];
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("heading", { name: "New password" }).waitFor();
  await expectEachLook(page, "a new password");
  await page.keyboard.insertText("too short");
  await page.keyboard.press("Enter");
  await page.getByText("New password must have at least 10 characters").waitFor();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText("a new and good password");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Your password is set" }).waitFor();
  await page.getByRole("link", { name: "Sign in" }).press("Enter");
  await page.getByLabel("E-mail").fill(email);
  await page.getByRole("textbox", { name: "Password" }).fill("a new and good password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();

  await using again = await Person.open(browser);
  again.mayFail();
  await again.page.goto(link);
  await again.page.getByRole("textbox", { name: "New password" }).fill("one more good password");
  await again.page.getByRole("button", { name: "Set password" }).click();
  await again.page.getByRole("heading", { name: "This link cannot be used" }).waitFor();
  await expectEachLook(again.page, "a used link");
  await again.page.getByRole("link", { name: "Ask for another link" }).click();
  await again.page.getByRole("heading", { name: "Forgotten password" }).waitFor();
});

test("who gets a mail when runs fail is chosen at the agent's triggers, by keyboard", async () => {
  await server.member("oncall@example.org", "viewer");
  const definition = `document: {dsl: "1.0.3", namespace: test, name: failing, version: "1.0.0", title: Failing}
do: [{break: {raise: {error: {type: "https://example.org/x", status: 500}}}}]`;
  const { publishAgent } = await server.data(
    "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }",
    { definition },
  );
  await using owner = await Person.open(browser);
  const page = await owner.enter(server, `/agents/${publishAgent.id}?tab=triggers`);
  await page.getByRole("heading", { name: "Mail when a run fails" }).waitFor();
  await page.getByRole("combobox", { name: "Members" }).focus();
  await page.keyboard.type("oncall");
  await page.getByRole("option", { name: /oncall@example.org/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await expect
    .poll(async () => (await server.data(`{ agent(id: "${publishAgent.id}") { failureMails } }`)).agent.failureMails)
    .toEqual(["oncall@example.org"]);
  await page.getByText("Saved.", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await expectEachLook(page, "who gets a mail of failures");
  await expectToldOfMoreMembers(page);
});

/** 200 further members: the page reads as many. */
async function expectToldOfMoreMembers(page: Page): Promise<void> {
  const client = await connectTo(server);
  await using _ = { [Symbol.asyncDispose]: () => client.end() };
  await client.query(
    `with u as (
       insert into users (id, email, name, password_hash, created_at)
       select gen_random_uuid(), 'm' || n || '@many.example.org', 'M', 'x', now() from generate_series(1, 200) n returning id)
     insert into members (organization_id, user_id, role, created_at)
     select (select organization_id from members where user_id = (select id from users where email = 'oncall@example.org')),
       id, 'viewer', now() from u`,
  );
  await page.reload();
  await page.getByRole("combobox", { name: "Members" }).fill("nobody at all");
  const more = page.getByRole("option", { name: "and more people, who joined earlier", exact: true });
  await more.waitFor();
  expect(await more.isDisabled()).toBe(true);
}

test("a server that sends no mail says which command makes a new password", async () => {
  await using silent = await startTestServer();
  await using person = await Person.open(browser);
  person.mayFail();
  const { page } = person;
  await page.goto(`${silent.url}/reset-password`);
  await page.getByLabel("E-mail").fill("ada@example.org");
  await page.getByRole("button", { name: "Send link" }).click();
  await page.getByRole("heading", { name: "This server sends no mail" }).waitFor();
  await page.getByText("npx autograph user reset-password ada@example.org").waitFor();
  await expectEachLook(page, "no mail");
});
