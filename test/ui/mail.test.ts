/** Mail as people meet it on pages: an invitation that was mailed. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { eventually, startTestServer, type TestServer } from "../client.ts";
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
