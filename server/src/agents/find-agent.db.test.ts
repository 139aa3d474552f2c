import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestAuth } from "../auth/handle/auth.testsuite.ts";
import { newId } from "../lib/ids.ts";
import type { Within } from "../lib/reach.ts";
import { createProject } from "../projects/projects.ts";
import type { Database } from "../storage/database.ts";
import { makeWorld, openAgents, startAgents, type Publish } from "./agents.testsuite.ts";
import { findAgent, findAgentByHash } from "./find-agent.ts";
import { setAgentStatus } from "./set-agent-status.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let auth: TestAuth;
let publish: Publish;

beforeAll(async () => {
  ({ database, auth, publish } = stack.use(await startAgents()));
});
afterAll(() => stack.disposeAsync());

test("a name is looked up once, and what it leads to is as exact as by id and as far as the caller reaches", async () => {
  const [ada, grace] = [await makeWorld(auth), await makeWorld(auth)];
  const { id } = await publish(ada);
  const asked: string[] = [];
  const query: Database["query"] = (text, ...more) => (asked.push(text), database.query(text, ...more));
  const counting = openAgents(auth, { database: { ...database, query } });
  const hash = createHash("sha256").update("shop_intake").digest("hex").slice(0, 16);
  const reach = { projectIds: [], agentIds: [newId<"agent">()], shownProjectIds: [] };
  for (const find of [
    (within: Within) => findAgent(counting, within, "shop", "intake"),
    (within: Within) => findAgentByHash(counting, within, "shop_in", hash),
  ]) {
    expect(await find(ada.caller)).toMatchObject({ id, status: "active" });
    await find(ada.caller);
    asked.length = 0;
    expect(await find(ada.caller)).toMatchObject({ id });
    expect(asked).toEqual([]);
    expect(await find({ ...ada.caller, reach })).toBeUndefined();
    expect(await find({ ...ada.caller, reach: { ...reach, agentIds: [id] } })).toMatchObject({ id });
    expect(await find(grace.caller)).toBeUndefined();
    await setAgentStatus(counting, ada.caller, { agentId: id, status: "paused" });
    expect(await find(ada.caller)).toMatchObject({ status: "paused" });
    await setAgentStatus(counting, ada.caller, { agentId: id, status: "active" });
  }
});

test("a name that is not reached is looked up as often as one that is not there, whoever found it before", async () => {
  const { caller } = await makeWorld(auth);
  const world = { caller, project: await createProject(auth, caller, { handle: "far", name: "Far" }) };
  await publish(world, { namespace: "far" });
  let asked = 0;
  const query: Database["query"] = (...given) => (asked++, database.query(...given));
  const counting = openAgents(auth, { database: { ...database, query } });
  const reach = { projectIds: [], agentIds: [newId<"agent">()], shownProjectIds: [] };
  const hashOf = (name: string): string => createHash("sha256").update(name).digest("hex").slice(0, 16);
  for (const find of [
    (within: Within, handle: string) => findAgent(counting, within, "far", handle),
    (within: Within, handle: string) => findAgentByHash(counting, within, "far_in", hashOf(`far_${handle}`)),
  ]) {
    const lookUps = async (handle: string): Promise<number> => {
      asked = 0;
      expect(await find({ ...caller, reach }, handle)).toBeUndefined();
      return asked;
    };
    expect([await lookUps("intake"), await lookUps("intake"), await lookUps("infant")]).toEqual([1, 1, 1]);
    expect(await find(caller, "intake")).toBeDefined();
    await find(caller, "intake");
    expect(await lookUps("intake")).toBe(1);
  }
});
