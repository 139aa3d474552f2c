/** The page of a mailed link: one question, decided by somebody who is not signed in. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { join, type Member } from "../people.ts";
import { agentOf, ENDED, until } from "../runs.ts";
import { partOf, startSmtp, type Smtp } from "../smtp.ts";
import { expectEachLook, expectGoodLooks, Person, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: TestServer;
let smtp: Smtp;
let anna: Member, bob: Member;
beforeAll(async () => {
  [browser, smtp] = await Promise.all([sharedBrowser(), startSmtp()]);
  server = await startTestServer({
    env: { SMTP_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: "agents@example.org" },
  });
  anna = await join(server, "editor", "Anna");
  bob = await join(server, "editor", "Bob");
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});

const FORM = {
  type: "object",
  required: ["amount"],
  properties: {
    amount: { type: "integer", title: "Amount" },
    way: { type: "string", title: "Way", enum: ["card", "transfer"] },
  },
};

async function asked(rest: object): Promise<{ run: string; linkOf: (person: Member) => Promise<string> }> {
  const from = smtp.received.length;
  const task = {
    call: "approval:1.0.0@default",
    with: { question: "Pay the invoice of Example & Sons?", notify: true, ...rest },
  };
  const agentId = await agentOf(server, `do: [{ask: ${JSON.stringify(task)}}]`);
  const run = "mutation ($input: RunAgentInput!) { runAgent(input: $input) { id } }";
  const { runAgent } = await server.data(run, { input: { agentId, input: {} } });
  const linkOf = async ({ email }: Member): Promise<string> => {
    const mail = () => smtp.received.slice(from).find(({ to }) => to[0] === email);
    await eventually(() => mail() !== undefined);
    return /\S+#approval=\S+/.exec(partOf(mail()!, "text/plain"))![0];
  };
  return { run: runAgent.id, linkOf };
}

test("it shows question, context and form, and is decided by keyboard alone; then it says who decided, also the next time", async () => {
  const { run, linkOf } = await asked({
    assignees: [anna.email],
    context: { supplier: "Example & Sons", lines: [{ what: "Paper", price: 12.5 }] },
    form: FORM,
  });
  const link = await linkOf(anna);
  await using person = await Person.open(browser);
  const { page } = person;
  const asks: string[] = [];
  page.on("request", (request) => asks.push(request.url()));
  await page.goto(link);
  await page.getByRole("heading", { name: "Your decision is wanted" }).waitFor();
  await page.getByRole("heading", { name: "Pay the invoice of Example & Sons?" }).waitFor();
  await page.getByText(`asks Anna (${anna.email})`).waitFor();
  await page.getByText("Paper").waitFor();
  await expectEachLook(page, "approval-link");
  await page.getByRole("button", { name: "Approve" }).press("Enter");
  await page.getByText("Amount is required").first().waitFor();
  await page.getByLabel("Amount").fill("7");
  await page.getByLabel("Comment").fill("fine");
  await page.getByLabel("Comment").press("Tab");
  expect(await page.getByRole("button", { name: "Approve" }).evaluate((it) => it === document.activeElement)).toBe(
    true,
  );
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "This question is closed" }).waitFor();
  const result = page.getByRole("status").filter({ hasText: "You" });
  await result.getByText("The run goes on.").waitFor();
  expect(await result.evaluate((it) => it === document.activeElement)).toBe(true);
  await expectGoodLooks(page, "approval-link-decided");
  expect((await until(server, run, ...ENDED)).output).toMatchObject({
    approved: true,
    answer: { amount: 7 },
    comment: "fine",
  });
  // The fragment, with the token, stays in the browser.
  expect(asks.filter((url) => url.includes("apl_"))).toEqual([]);
  await page.reload();
  await page.getByText("“fine”").waitFor();
  expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
});

test("others see what was decided before them, and who decides last is told what happens; a link that is not good says so", async () => {
  const { linkOf } = await asked({ assignees: [anna.email, bob.email], quorum: 2, form: FORM });
  await using person = await Person.open(browser);
  const { page } = person;
  person.mayFail();
  await page.goto(await linkOf(anna));
  await page.getByLabel("Amount").fill("3");
  await page.getByRole("button", { name: "Approve" }).click();
  await page.getByText("One more approval is needed.").waitFor();
  await page.goto("about:blank");
  await page.goto(await linkOf(bob));
  await page.getByText("Others have approved this answer").waitFor();
  expect(await page.getByRole("spinbutton").count()).toBe(0);
  await page.getByLabel("Comment").fill("too much");
  await page.getByRole("button", { name: "Reject" }).click();
  await page.getByText("The run knows.").waitFor();
  await page.getByText("“too much”").waitFor();
  await page.goto("about:blank");
  await page.goto(`${server.url}/#approval=apl_${"A".repeat(64)}`);
  await page.getByRole("heading", { name: "This link cannot be used" }).waitFor();
  await expectGoodLooks(page, "approval-link-refused");
});
