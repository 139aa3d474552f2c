/** The server ends or its clock moves: a page says so, and goes on by itself. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cliJson, settingsOf } from "../command-line.ts";
import { startTestServer, type TestServer } from "../client.ts";
import { connectTo } from "../faults/audit.ts";
import { Person, publishExamples, sendDecisions, sharedBrowser } from "./ui.ts";

let browser: Browser;
let server: TestServer;
let person: Person;
beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), startTestServer()]);
  person = await Person.open(browser);
  person.mayFail();
  await person.enter(server, "/agents");
  await person.page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
});
afterAll(async () => {
  await person[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const WAITING = `
document: {dsl: "1.0.3", namespace: test, name: waiting, version: "1.0.0", title: Waiting}
do:
  - ask: {call: "approval:1.0.0@default", with: {question: "Go on?"}}
  - after: {set: {done: true}}
`;

test("while the server is away the page says so, and goes on by itself when it is back", async () => {
  const publish = "mutation ($definition: String!) { publishAgent(input: {definition: $definition}) { id } }";
  const { id } = (await server.data(publish, { definition: WAITING })).publishAgent;
  const { runAgent } = await server.data("mutation ($id: ID!) { runAgent(input: {agentId: $id}) { id } }", { id });
  const { page } = person;
  await person.go(`/runs/${runAgent.id}`);
  await page.getByRole("heading", { name: "Go on?" }).waitFor();
  await server.kill();
  await page.getByText(/^Reconnecting/).waitFor();
  await server.restart();
  await page.getByText(/^Reconnecting/).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Approve" }).click();
  await sendDecisions(page);
  await expect.poll(() => page.title()).toContain("completed");
});

test("whose server ends before it has answered: nothing is lost, or made twice", async () => {
  const email = "unlucky@example.org";
  const { password } = await cliJson<{ password: string }>(["org", "create", "Unlucky", "--owner", email], {
    env: settingsOf(server),
  });
  await using unlucky = await Person.open(browser);
  const { page } = unlucky;
  unlucky.mayFail();
  await unlucky.enter(server, "/agents/new", { email, password });
  /** The server has done it, and is killed before it says so. */
  const press = async (button: string, mutation: string): Promise<void> => {
    await page.route("**/graphql", async (route) => {
      if (!route.request().postData()?.includes(`mutation ${mutation}`)) return route.fallback();
      await route.fetch();
      await server.kill();
      await route.abort();
    });
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.getByRole("alert").first().waitFor();
    await page.unroute("**/graphql");
    await server.restart();
  };
  await page.getByLabel("Name").fill("Billing");
  await page.getByLabel("Handle").fill("billing");
  await press("Create project", "CreateProject");
  // The page has read again what there is.
  await page.getByRole("textbox", { name: "Definition" }).getByText("namespace: billing").waitFor();
  await press("Publish", "Publish");
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText(/^billing \/ .*my-agent 1\.0\.0$/).waitFor();

  const client = await connectTo(server);
  const { rows } = await client.query(
    `select (select count(*)::int from projects where handle = 'billing') as projects,
        (select count(*)::int from agent_versions join agents a on a.id = agent_id where a.handle = 'my-agent') as versions`,
  );
  expect(rows).toEqual([{ projects: 1, versions: 1 }]);
  await client.end();
});

test("a long sentence is folded beside its run's input, and one that was read too long ago is read again", async () => {
  await publishExamples(server);
  const { page } = person;
  await person.go("/agents");
  await page.getByRole("link", { name: "Order intake", exact: true }).click();
  await page.getByText("Describe it", { exact: true }).click();
  const sentence = page.getByLabel("What should it do?");
  await sentence.fill(`rush, on 2026-12-24${", with a bow on it".repeat(15)}`);
  await page.getByRole("button", { name: "Review" }).click();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByLabel(/^Customer/).fill("Ada Lovelace");
  await review.getByRole("checkbox", { name: /^I have checked the default values/ }).check();
  // The access token has expired too: whichever request comes first is refused and asked again with a new one.
  await server.clock.advance(24 * 3_600_000);
  await review.getByRole("button", { name: "Run with these 5 values" }).click();
  await review.getByText("The sentence was read too long ago.").waitFor();
  await page.getByRole("button", { name: "Read it again" }).click();
  await review.getByText("The sentence was read too long ago.").waitFor({ state: "detached" });
  // It was read again, so it is checked again.
  await review.getByRole("checkbox", { name: /^I have checked/, checked: false }).check();
  await review.getByRole("button", { name: "Run with these 5 values" }).click();
  const input = page.getByRole("region", { name: "Input" });
  await input.getByText(/^said: “rush, on 2026-12-24, with a bow on it.*…”/).waitFor();
  await input.getByRole("button", { name: "Show all" }).click();
  await input.getByText(/with a bow on it”/).waitFor();
  await input.getByRole("button", { name: "Less" }).waitFor();
});
