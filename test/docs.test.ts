/**
 * The commands, queries and programs of the documents, in each page's order, against one server that was just set up: what a
 * reader pastes works. Ids and hashes that a page shows stand for the newest of their kind, and every line of output that it
 * shows is printed.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./client.ts";
import { blocksOf, commandsOf, Reader } from "./docs-reader.ts";
import { startLlmService, toolCall, type LlmService } from "./llm-service.ts";
import { startSmtp, type Smtp } from "./smtp.ts";

/** The first one sets the server up. */
const PAGES = ["cli", "api", "drafts", "operations", "triggers", "models", "mcp"];

let server: TestServer;
/** In place of the model of docs/models.md: it is tested, and then asked. */
let model: LlmService;
/** In place of a provider's SMTP server. */
let smtp: Smtp;
/** The owner's, once a page has printed another. */
let password: string | undefined;
beforeAll(async () => {
  model = await startLlmService();
  model.replies = [{ ok: true }, toolCall("confirm", { ok: true }), "Tuesday", "Tuesday", "Wednesday"];
  smtp = await startSmtp();
  server = await startTestServer({
    fresh: true,
    env: {
      OUTBOUND_ALLOW: "127.0.0.1/32",
      SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
      MAIL_FROM: "Autograph <agents@example.org>",
    },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  await smtp[Symbol.asyncDispose]();
});

test.for(PAGES)("what docs/%s.md tells one to type works, in its order", async (page) => {
  await using reader = new Reader({ server, modelUrl: model.url, password });
  const blocks = blocksOf(page);
  let isReady = false;
  for (const block of blocks) {
    if (!isReady && !block.text.includes("npx autograph setup")) {
      await reader.prepare();
      isReady = true;
    }
    const where = `docs/${page}.md:${block.line}`;
    if (block.kind === "graphql") await reader.query(block);
    else if (block.kind === "js") await reader.program(block.text);
    else if (block.kind === "transcript") await reader.transcript(block.text);
    else {
      for (const command of commandsOf(block.text)) {
        const { output } = await reader.shell(command);
        // A call of a webhook that is answered starts a run.
        if (command.includes('curl "$WEBHOOK"')) expect(output, where).toMatch(/"runId":"run_/);
        expect(output, where).not.toMatch(/"errors"|"code"|"isError":true|^autograph: |^bash: |^curl: |rror:/m);
      }
    }
  }
  ({ password } = reader);
});
