import { afterAll, beforeAll, expect, test } from "vitest";
import { openAuth, quiet, startDatabases } from "../auth/handle/auth.testsuite.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import type { Agents } from "./agents.ts";
import { definitionOf, makeWorld, openAgents, type World } from "./agents.testsuite.ts";
import { pinOperation, readPinnedOperation } from "./pinned-operations.ts";
import { publishAgent } from "./publish-agent.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let agents: Agents;
let world: World;
let names = 0;

beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  const auth = stack.use(openAuth(database));
  agents = openAgents(auth);
  world = await makeWorld(auth);
});
afterAll(() => stack.disposeAsync());

async function versionOf() {
  const definition = definitionOf({ name: `agent-${++names}` });
  const { id } = await publishAgent(agents, world.caller, { projectId: world.project.id, definition });
  return { organizationId: world.caller.organizationId, agentId: id, version: "1.0.0" };
}
const name = (operationId: string, document = "https://example.com/a.json") => ({ document, operationId });
const read = (operation: string) => ({ operation, documentHash: "0" });

test("the first of two processes pins an operation for both", async () => {
  const { connection } = database;
  const other = stack.use(openDatabase({ connection, isEmbedded: false, log: quiet }));
  for (let times = 0; times < 10; times++) {
    const of = await versionOf();
    const pinned = await Promise.all([
      pinOperation(agents, of, name("a"), read("one")),
      pinOperation({ ...agents, database: other }, of, name("a"), read("two")),
    ]);
    expect(new Set(pinned).size).toBe(1);
    expect(await readPinnedOperation(agents, of, name("a"))).toBe(pinned[0]);
  }
});

test("another document, operation, version, agent or organization has its own", async () => {
  const of = await versionOf();
  await pinOperation(agents, of, name("a"), read("one"));
  const others = [
    [of, name("b")],
    [of, name("a", "https://example.com/b.json")],
    [{ ...of, version: "2.0.0" }, name("a")],
    [await versionOf(), name("a")],
    [{ ...of, organizationId: newId<"organization">() }, name("a")],
  ] as const;
  for (const [version, one] of others) expect(await readPinnedOperation(agents, version, one)).toBeUndefined();
  expect(await readPinnedOperation(agents, of, name("a"))).toBe("one");
});

test("as many operations as a version may pin are pinned, and no more", async () => {
  const of = await versionOf();
  await database.query(
    `insert into pinned_operations
       (organization_id, agent_id, version, key_hash, document, operation_id, document_hash, operation, pinned_at)
     select $1, $2, $3, number, 'd', 'o', 'h', '{}', now() from generate_series(2, $4::int) as number`,
    [of.organizationId, of.agentId, of.version, LIMITS.openapiOperationsPerVersion],
  );
  const last = { ...name("last\0\ud800"), document: `https://example.com/${"x".repeat(60_000)}` };
  expect(await pinOperation(agents, of, last, read("last"))).toBe("last");
  await expect(pinOperation(agents, of, name("more"), read("more"))).rejects.toMatchObject({
    code: "CONFLICT",
    message: expect.stringContaining(`${LIMITS.openapiOperationsPerVersion} at most`),
  });
  expect(await pinOperation(agents, of, last, read("other"))).toBe("last");
});
