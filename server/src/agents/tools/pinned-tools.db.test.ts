import { afterAll, beforeAll, expect, test } from "vitest";
import { openAuth, quiet, startDatabases } from "../../auth/handle/auth.testsuite.ts";
import { newId, type AgentId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { PinnedDescription, ToolDescription } from "../../lib/mcp/tool-description.ts";
import { openDatabase, type Database } from "../../storage/database.ts";
import { definitionOf, makeWorld, openAgents, type World } from "../agents.testsuite.ts";
import type { Agents } from "../agents.ts";
import { publishAgent } from "../publish-agent.ts";
import { readAgentRow } from "../store.ts";
import { listPinnedTools } from "./list-pinned-tools.ts";
import { pinTools } from "./pin-tools.ts";
import { readDescriptions } from "./read-descriptions.ts";
import { trustTools } from "./trust-tools.ts";

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
  own: { server?: string; on?: Database; version?: string } = {},
): Promise<Pinned> => {
  const { server = "https://shop.example/mcp", on = database, version = "1.0.0" } = own;
  const described = Object.entries(tools).map(([name, text]) => [name, text === undefined ? text : toolOf(text)]);
  const of = { organizationId: world.caller.organizationId, agentId, version, server };
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

test("a version has its 1,000 pinned tools and not one more; those that are pinned stay usable", async () => {
  const agentId = await agentOf();
  const most = LIMITS.pinnedToolsPerVersion;
  const list = (count: number, server: number): Promise<Pinned> => {
    const tools = Array.from({ length: count }, (_, at): [string, string] => [`tool${at}`, "A tool."]);
    return pin(agentId, Object.fromEntries(tools), { server: `https://${server}.example/mcp` });
  };
  for (let pinned = 100; pinned < most; pinned += 100) await list(100, pinned);
  // Those that are pinned already take no other place.
  await list(99, 0);
  await list(100, 0);
  expect(await rows(agentId)).toBe(most);
  await expect(pin(agentId, { tool0: "A tool." })).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(`${most} at most`),
  });
  expect(await rows(agentId)).toBe(most);
  const known = await pin(agentId, { tool0: "Another." }, { server: "https://0.example/mcp" });
  expect(known.get("tool0")).toMatchObject({ isChanged: true, pinned: { description: "A tool." } });
  const definition = definitionOf({ name: `agent-${names}`, version: "2.0.0" });
  await publishAgent(agents, world.caller, { projectId: world.project.id, definition });
  expect((await pin(agentId, { tool0: "A tool." }, { version: "2.0.0" })).size).toBe(1);
});

test("a tool that is gone is no change", async () => {
  const agentId = await agentOf();
  await pin(agentId, { a: "A", b: "B" });
  await pin(agentId, { a: "A", b: undefined });
  expect((await listPinnedTools(agents, await agentWith(agentId), { first: 2 }, CHANGED)).items).toEqual([]);
});

test("of changes of which one is no longer there, none is accepted", async () => {
  const agentId = await agentOf();
  await pin(agentId, { a: "A", b: "B" });
  await pin(agentId, { a: "A now", b: "B now" });
  const { items } = await listPinnedTools(agents, await agentWith(agentId), { first: 2 }, CHANGED);
  await pin(agentId, { b: "B later" });
  const changes = items.map(({ change }) => change!.hash);
  await expect(trustTools(agents, world.caller, { agentId, changes })).rejects.toMatchObject({ code: "CONFLICT" });
  expect((await pin(agentId, { a: "A now" })).get("a")).toMatchObject({
    isChanged: true,
    pinned: { description: "A" },
  });
});

test("an event of many changes names as many as a line has room for", async () => {
  const agentId = await agentOf();
  const tools = (text: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: 60 }, (_, at): [string, string] => [`tool${at}`, text]));
  await pin(agentId, tools("One"));
  await pin(agentId, tools("Two"));
  await accept(agentId);
  const [{ detail }] = (await database.query(
    `select event->'detail' as detail from audit_events
      where organization_id = $1 and action = 'agent_tools_trusted' order by number desc limit 1`,
    [world.caller.organizationId],
  )) as [{ detail: { count: number; tools: string } }];
  expect([detail.count, detail.tools.length]).toEqual([60, 1_000]);
});

/** Accepts every change of the agent. */
async function accept(agentId: AgentId): Promise<void> {
  const { items } = await listPinnedTools(agents, await agentWith(agentId), { first: 100 }, CHANGED);
  await trustTools(agents, world.caller, { agentId, changes: items.map(({ change }) => change!.hash) });
}
const CHANGED = { version: undefined, isChanged: true };
const agentWith = async (id: AgentId) => (await readAgentRow(database, world.caller, id))!;

test("what is offered together is as large as a list may be, also if it was accepted one after the other", async () => {
  const agentId = await agentOf();
  const [a, b] = ["a", "b"].map((sign) =>
    sign.repeat(LIMITS.assistantListBytes / 2 - JSON.stringify(toolOf("")).length),
  );
  await pin(agentId, { a: "A", b: "B" });
  for (const tools of [
    { a, b: "B" },
    { a: "A", b },
  ]) {
    await pin(agentId, tools);
    await accept(agentId);
  }
  expect((await pin(agentId, { a, b })).get("b")).toMatchObject({ isChanged: false });
  await pin(agentId, { b: `${b}!` });
  await accept(agentId);
  await expect(pin(agentId, { a: "A", b: "B" })).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(`more than ${LIMITS.assistantListBytes} bytes`),
  });
  expect((await pin(agentId, { b: "B" })).get("b")).toMatchObject({ isChanged: true });
});

test("changes of two versions that are accepted at once are an event of each", async () => {
  const { caller, project } = world;
  const agentId = await agentOf();
  const definition = definitionOf({ name: `agent-${names}`, version: "2.0.0" });
  await publishAgent(agents, caller, { projectId: project.id, definition });
  const hashes: string[] = [];
  for (const version of ["1.0.0", "2.0.0"]) {
    for (const text of ["One", "Two"]) await pin(agentId, { price: text }, { version });
    const { items } = await listPinnedTools(agents, await agentWith(agentId), { first: 1 }, { ...CHANGED, version });
    hashes.push(items[0]!.change!.hash);
  }
  await trustTools(agents, caller, { agentId, changes: hashes });
  const rows = await database.query(
    `select event->'detail' as detail from audit_events
      where organization_id = $1 and action = 'agent_tools_trusted' order by number desc limit 2`,
    [caller.organizationId],
  );
  expect(rows.map(({ detail }) => detail).toReversed()).toMatchObject(
    ["1.0.0", "2.0.0"].map((version, at) => ({
      version,
      count: 1,
      tools: `price (${hashes[at]!.slice(0, 16)})`,
      servers: "https://shop.example/mcp",
    })),
  );
});

test("a description is read by its hash: never what the server has said since", async () => {
  const agentId = await agentOf();
  const { organizationId } = world.caller;
  const listed = async () => {
    const { items } = await listPinnedTools(agents, await agentWith(agentId), { first: 1 }, CHANGED);
    return [items[0]!.pinned!, items[0]!.change!.described];
  };
  const read = async (texts: Awaited<ReturnType<typeof listed>>) =>
    (await readDescriptions(agents, organizationId, texts, () => {})).map((shown) => shown?.description);
  for (const text of ["One", "Two"]) await pin(agentId, { price: text });
  const before = await listed();
  expect(before.map(({ bytes }) => bytes)).toEqual(Array(2).fill(JSON.stringify(toolOf("One")).length));
  expect(await read(before)).toEqual(["One", "Two"]);
  await pin(agentId, { price: "Three" });
  expect(await read(before)).toEqual(["One", undefined]);
  expect(await read((await listed()).toReversed())).toEqual(["Three", "One"]);
  await accept(agentId);
  expect(await read(before)).toEqual([undefined, undefined]);
  const others = readDescriptions(agents, newId<"organization">(), before, () => {});
  expect(await others).toEqual([undefined, undefined]);
  const over = readDescriptions(agents, organizationId, before, () => {
    throw new Error("over");
  });
  await expect(over).rejects.toThrow("over");
});

test("a server is its whole address, however long, and nothing of another organization", async () => {
  const agentId = await agentOf();
  const long = `https://shop.example/mcp?${"q".repeat(20_000)}`;
  await pin(agentId, { price: "One" }, { server: `${long}a` });
  expect((await pin(agentId, { price: "Two" }, { server: `${long}b` })).get("price")!.isChanged).toBe(false);
  expect((await pin(agentId, { price: "Two" }, { server: `${long}a` })).get("price")!.isChanged).toBe(true);
  const { items } = await listPinnedTools(
    agents,
    await agentWith(agentId),
    { first: 2 },
    { ...CHANGED, isChanged: undefined },
  );
  expect(items.map(({ server }) => server)).toEqual(Array(2).fill(`${long.slice(0, 1_999)}…`));
  const of = { organizationId: newId<"organization">(), agentId, version: "1.0.0", server: `${long}a` };
  await expect(pinTools(agents, of, new Map([["price", toolOf("One")]]))).rejects.toThrow(/foreign key/);
});
