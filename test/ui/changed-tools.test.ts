/** An agent's page: a tool of an MCP server that changed, the difference, and accepting it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { assistant, openPlaces, places } from "../assistants.ts";
import { PRICE, startChangingShop, type ChangingShop } from "../changing-shop.ts";
import { decodeId } from "../../server/src/lib/ids.ts";
import { connectTo } from "../faults/audit.ts";
import { agentOf, ran } from "../runs.ts";
import { expectEachLook, LOOKS, Person, sharedBrowser } from "./ui.ts";

openPlaces();

let shop: ChangingShop;
let agentId: string;
beforeAll(async () => {
  shop = await startChangingShop();
  agentId = await agentOf(places.server, assistant({ tools: [{ mcp: { endpoint: shop.url, allow: ["price"] } }] }));
});
afterAll(() => shop[Symbol.asyncDispose]());

const list = async (description: string, inputSchema = PRICE.inputSchema!): Promise<void> => {
  shop.tools = () => [{ ...PRICE, description, inputSchema }];
  places.model.replies = ["Done"];
  expect(await ran(places.server, agentId, { question: "How much?" })).toMatchObject({ status: "completed" });
};

test("says that a tool changed, shows both descriptions, and accepts what was looked at", async () => {
  await list("A price.");
  await list("A price. In euros.");
  await using editor = await Person.open(await sharedBrowser(), LOOKS[0]);
  editor.mayFail();
  const page = await editor.enter(places.server, `/agents/${agentId}`);
  const changed = page.getByRole("region", { name: "Changed tools" });
  await changed.getByText("A tool has changed").waitFor();
  await changed.getByText(shop.url).waitFor();
  const accept = changed.getByRole("button", { name: "Accept the change of price" });
  expect(await accept.count(), "before one has seen it").toBe(0);
  await changed.getByRole("button", { name: "Show what changed in price" }).click();
  await changed.getByRole("textbox", { name: "As it is now" }).getByText("In euros.").waitFor();
  expect(await changed.getByRole("textbox", { name: "The version" }).getByText("In euros.").count()).toBe(0);
  await expectEachLook(page, "a changed tool");
  await page.setViewportSize(LOOKS[0]!.viewport);
  // The server says something else once more: what was looked at is not what would be accepted.
  await list("A price. In dollars.");
  await accept.click();
  await changed.getByRole("alert").getByText("a tool is not what it was when you looked").waitFor();
  await page.reload();
  await changed.getByRole("button", { name: "Show what changed in price" }).click();
  await changed.getByRole("textbox", { name: "As it is now" }).getByText("In dollars.").waitFor();
  await accept.click();
  await expect.poll(() => changed.count()).toBe(0);
});

test("who may not write sees the change, its invisible characters too, and no button", async () => {
  const hidden = "\u202e\u{e0041}\u{e0100}";
  await list("A price. In francs.", { type: "object", properties: { id: { description: `Id${hidden}` } } });
  const { email, password } = await places.server.member("viewer@example.org", "viewer");
  await using viewer = await Person.open(await sharedBrowser(), LOOKS[0]);
  const page = await viewer.enter(places.server, `/agents/${agentId}`, { email, password });
  const changed = page.getByRole("region", { name: "Changed tools" });
  await changed.getByRole("button", { name: "Show what changed in price" }).click();
  await changed.getByRole("textbox", { name: "As it is now" }).getByText("In francs.").waitFor();
  await changed
    .getByRole("textbox", { name: "As it is now" })
    .getByText(String.raw`"Id\u{202e}\u{e0041}\u{e0100}"`)
    .waitFor();
  expect(await changed.getByRole("button", { name: /^Accept/ }).count()).toBe(0);
});

test("one of a hundred is looked at and accepted, however large all of them are together", async () => {
  const others = await agentOf(
    places.server,
    assistant({ tools: [{ mcp: { endpoint: shop.url, allow: ["price"] } }] }),
  );
  const fields = Array.from({ length: 4_000 }, (_, at) => `"field${at}":{"description":"${"x".repeat(24)}"}`);
  const large = `{"description":"A price.","inputSchema":{"type":"object","properties":{${fields.join(",")}}},"hints":{}}`;
  const client = await connectTo(places.server);
  await client.query(
    `insert into pinned_tools (organization_id, id, agent_id, version, server, server_hash, name, pinned, pinned_hash,
       pinned_at, changed, changed_hash, changed_at)
     select organization_id, lpad(n::text, 32, '0')::uuid, agent_id, version, $2, '', 'tool' || n, $3, 'then' || n,
       now(), replace($3, 'A price', 'Tool ' || n), 'now' || n, now() from agent_versions, generate_series(1, 101) n
      where agent_id = $1`,
    [decodeId("agent", others), shop.url, large],
  );
  await client.end();
  await using editor = await Person.open(await sharedBrowser(), LOOKS[0]);
  const page = await editor.enter(places.server, `/agents/${others}`);
  const changed = page.getByRole("region", { name: "Changed tools" });
  await changed.getByText("More than 100 tools have changed").waitFor();
  await changed.getByText("These are the first 100").waitFor();
  for (const [name, left] of [
    ["tool50", "100 tools have changed"],
    ["tool1", "99 tools have changed"],
    ["tool2", "98 tools have changed"],
  ] as const) {
    await changed.getByRole("button", { name: `Show what changed in ${name}`, exact: true }).click();
    await changed
      .getByRole("textbox", { name: "As it is now" })
      .getByText(`Tool ${name.slice(4)}.`)
      .waitFor();
    await changed.getByRole("button", { name: `Accept the change of ${name}`, exact: true }).click();
    await changed.getByRole("heading", { name: left, exact: true }).waitFor();
  }
});
