/** Tools of an MCP server that are described as largely as may be: what reading them costs, over the real wire. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { LIMITS } from "../server/src/lib/limits.ts";
import { publish } from "./agents.ts";
import { startTestServer, type TestServer } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { MAIN_THREAD_MS } from "./meter.ts";
import { stretchMs } from "./raw.ts";

/** An answer may have both texts of this many. */
const TOOLS = 15;

let server: TestServer;
let agentId: string;
/** Its tools are described in a few words. */
let smallId: string;
beforeAll(async () => {
  server = await startTestServer({ env: { NODE_OPTIONS: "--max-old-space-size=128" } });
  [agentId, smallId] = [await publish(server, "echo"), await publish(server, "quick")];
  const small = JSON.stringify({ description: "", inputSchema: { enum: [] }, hints: {} });
  const parts = "[{}],".repeat((LIMITS.assistantListBytes - small.length) / 5).slice(0, -1);
  const client = await connectTo(server);
  for (const [id, text] of [
    [agentId, small.replace("[]", `[${parts}]`)],
    [smallId, small],
  ] as const)
    await client.query(
      `insert into pinned_tools (organization_id, id, agent_id, version, server, server_hash, name, pinned, pinned_hash,
         pinned_at, changed, changed_hash, changed_at)
       select organization_id, gen_random_uuid(), agent_id, version, 'https://shop.example', '', 'tool' || n, $2, 'then' || n,
         now(), $2, 'now' || n, now() from agent_versions, generate_series(1, $3::int) n where agent_id = $1`,
      [decodeId("agent", id), text, TOOLS],
    );
  await client.end();
});
afterAll(() => server[Symbol.asyncDispose]());

const asked = (fields: string, { times = 1, id = agentId } = {}): Promise<unknown> => {
  const one = `pinnedTools(first: 100) { nodes { ${fields} } }`;
  const all = Array.from({ length: times }, (_, at) => `a${at}: ${one}`).join(" ");
  return server.data(`query ($id: ID!) { agent(id: $id) { ${all} } }`, { id });
};

test("a list of names reads no descriptions: it costs what it does with small ones", async () => {
  const spent = { [agentId]: Infinity, [smallId]: Infinity };
  for (let time = 0; time < 5; time++)
    for (const id of [agentId, smallId]) {
      await server.measure();
      await asked("name change { hash }", { times: 25, id });
      spent[id] = Math.min(spent[id]!, (await server.measure()).spentMs);
    }
  expect(spent[agentId]).toBeLessThan(3 * spent[smallId]!);
});

test("as many descriptions as fit into an answer are read in turns with others", async () => {
  const read = () => asked("pinned { inputSchema } change { described { inputSchema hints } }");
  expect(await stretchMs(server, read, { times: 5, collected: true })).toBeLessThan(MAIN_THREAD_MS);
});

test("two answers of descriptions in one are too many, and leave nothing behind", async () => {
  const list = "pinnedTools { nodes { pinned { hints } change { described { hints } } } }";
  for (let times = 0; times < 10; times++) {
    const query = `query ($id: ID!) { agent(id: $id) { a: ${list} b: ${list} } }`;
    expect((await server.graphql(query, { id: agentId })).errors).toMatchObject([
      { extensions: { code: "QUERY_TOO_COMPLEX" } },
    ]);
  }
  expect((await server.data("{ me { name } }")).me).toBeDefined();
});
