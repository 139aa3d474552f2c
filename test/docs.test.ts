/**
 * The commands, queries and programs of the documents, in each page's order, against a server that was just set up: what a
 * reader pastes works. Ids and hashes that a page shows stand for the newest of their kind, and every line of output that it
 * shows is printed.
 */
import { expect, test } from "vitest";
import { startTestServer } from "./client.ts";
import { blocksOf, commandsOf, Reader } from "./docs-reader.ts";

const PAGES = ["api", "cli", "drafts", "operations", "triggers"];

test.for(PAGES)("what docs/%s.md tells one to type works, in its order", async (page) => {
  await using server = await startTestServer({ fresh: true });
  await using reader = new Reader(server);
  const blocks = blocksOf(page);
  if (!blocks.some(({ text }) => text.includes("npx autograph setup"))) await reader.setUp();
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
        expect(output, where).not.toMatch(/"errors"|"code"|^autograph: |^bash: |^curl: |rror:/m);
      }
    }
  }
});
