/** The pages with a recipe for each thing that an agent can do, against the services of examples/automations: what a reader pastes works. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServices, type Services } from "../examples/automations/loopback.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { blocksOf, commandsOf, Reader } from "./docs-reader.ts";

const PAGES = ["secrets", "openapi", "functions", "scripts", "approvals", "mail", "events"];

let server: TestServer;
let services: Services;
let password: string;
let env: Record<string, string>;
beforeAll(async () => {
  services = await startServices();
  env = { SMTP_URL: services.smtpUrl, MAIL_FROM: "Autograph <agents@example.org>" };
  server = await startTestServer({ fresh: true, env: { OUTBOUND_ALLOW: "127.0.0.1/32", ...env } });
  await using reader = new Reader({ server });
  await reader.shell("npx autograph setup --email ada@example.org");
  ({ password } = reader);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await services[Symbol.asyncDispose]();
});

test.for(PAGES)("the recipe of docs/%s.md works", async (page) => {
  await using reader = new Reader({ server, servicesUrl: services.url, env, password });
  await reader.prepare();
  const blocks = blocksOf(page).filter(({ text }) => !text.startsWith("SMTP_URL="));
  expect(blocks.length).toBeGreaterThan(1);
  for (const block of blocks) {
    if (block.kind === "graphql") await reader.query(block);
    else if (block.kind === "transcript") await reader.transcript(block.text);
    else {
      for (const command of commandsOf(block.text)) {
        const { output } = await reader.shell(command);
        expect(output, `docs/${page}.md:${block.line}`).not.toMatch(/"errors"|^autograph: |^bash: |^curl: |rror:/m);
      }
    }
  }
  if (page === "approvals") {
    const question = `Release 1.6.0? ${server.url}/approvals?open=approval_`;
    await eventually(async () => services.state.said.some((text) => text.startsWith(question)));
  }
});
