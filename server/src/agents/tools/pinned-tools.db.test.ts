import { afterAll, beforeAll, expect, test } from "vitest";
import { openAuth, quiet, startDatabases } from "../../auth/handle/auth.testsuite.ts";
import { newId, type AgentId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { PinnedDescription, ToolDescription } from "../../lib/mcp/tool-description.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { definitionOf, makeWorld, openAgents, type World } from "../agents.testsuite.ts";
import type { Agents } from "../agents.ts";
import { publishAgent } from "../publish-agent.ts";
import { pinTools } from "./pin-tools.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let agents: Agents;
let world: World;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  const auth = stack.use(openAuth(database));
  agents = openAgents(auth);
  world = await makeWorld(auth);
});
afterAll(() => stack.disposeAsync());

let names = 0;
async function agentOf(): Promise<AgentId> {
  const { caller, project } = world;
  const definition = definitionOf({ name: `agent-${++names}` });
  return (await publishAgent(agents, caller, { projectId: project.id, definition })).id;
}

const toolOf = (description: string): ToolDescription => ({ description, inputSchema: { type: "object" }, hints: {} });
type Pinned = Map<string, PinnedDescription>;
const pin = (
  agentId: AgentId,
  tools: Record<string, string | undefined>,
  own: { server?: string; on?: Database } = {},
): Promise<Pinned> => {
  const { server = "https://shop.example/mcp", on = database } = own;
  const described = Object.entries(tools).map(([name, text]) => [name, text === undefined ? text : toolOf(text)]);
  const of = { organizationId: world.caller.organizationId, agentId, version: "1.0.0", server };
  return pinTools({ ...agents, database: on }, of, new Map(described as [string, ToolDescription | undefined][]));
};
const rows = async (agentId: AgentId): Promise<number> =>
  (await database.query("select 1 from pinned_tools where agent_id = $1", [agentId])).length;

test("two processes that list first at the same time agree on one list, of one of them", async () => {
  const { connection } = database;
  const other = stack.use(openDatabase({ connection, isEmbedded: false, log: quiet }));
  for (let times = 0; times < 10; times++) {
    const agentId = await agentOf();
    const list = (text: string, order: string[]): Record<string, string> =>
      Object.fromEntries(order.map((name) => [name, `${name} ${text}`]));
    const pinned = await Promise.all([
      pin(agentId, list("one", ["a", "b", "c"])),
      pin(agentId, list("two", ["c", "b", "a"]), { on: other }),
      pin(agentId, list("three", ["b", "a", "c"]), { on: other }),
    ]);
    const words = pinned.map((tools) => ["a", "b", "c"].map((name) => tools.get(name)!.pinned!.description));
    const [first] = words[0]!;
    const won = first!.split(" ")[1];
    for (const one of words) expect(one).toEqual([`a ${won}`, `b ${won}`, `c ${won}`]);
    const changed = pinned.map((tools) => [...tools.values()].filter(({ isChanged }) => isChanged).length);
    expect(changed.toSorted((a, b) => a - b)).toEqual([0, 3, 3]);
    expect(await rows(agentId)).toBe(3);
  }
});

test("as many as a version may have are pinned, and one more is refused; those that are pinned stay usable", async () => {
  const agentId = await agentOf();
  const most = LIMITS.pinnedToolsPerVersion;
  for (let pinned = 0; pinned < most; pinned += 100) {
    const tools = Array.from({ length: 100 }, (_, at): [string, string] => [`tool${at}`, "A tool."]);
    await pin(agentId, Object.fromEntries(tools), { server: `https://${pinned}.example/mcp` });
  }
  expect(await rows(agentId)).toBe(most);
  await expect(pin(agentId, { tool0: "A tool." })).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(`${most} at most`),
  });
  expect(await rows(agentId)).toBe(most);
  const known = await pin(agentId, { tool0: "Another." }, { server: "https://0.example/mcp" });
  expect(known.get("tool0")).toMatchObject({ isChanged: true, pinned: { description: "A tool." } });
});

test("a server is its whole address, however long, and nothing of another organization", async () => {
  const agentId = await agentOf();
  const long = `https://shop.example/mcp?${"q".repeat(20_000)}`;
  await pin(agentId, { price: "One" }, { server: `${long}a` });
  expect((await pin(agentId, { price: "Two" }, { server: `${long}b` })).get("price")!.isChanged).toBe(false);
  expect((await pin(agentId, { price: "Two" }, { server: `${long}a` })).get("price")!.isChanged).toBe(true);
  const of = { organizationId: newId<"organization">(), agentId, version: "1.0.0", server: `${long}a` };
  await expect(pinTools(agents, of, new Map([["price", toolOf("One")]]))).rejects.toThrow(/foreign key/);
});
