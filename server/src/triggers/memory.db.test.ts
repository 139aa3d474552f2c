/** A process's memory of triggers, while they change. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDatabases } from "../auth/handle/auth.testsuite.ts";
import { secretKeys } from "../auth/tokens/secret-key.ts";
import { encodeId, newId, type AgentId } from "../lib/ids.ts";
import { idle, openRuns, type TestRuns } from "../runs/runs.testsuite.ts";
import { createSecrets } from "../secrets/secrets.ts";
import type { Database } from "../storage/database.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { deleteTrigger } from "./change-trigger.ts";
import { createTrigger } from "./create-trigger.ts";
import { forgetOld } from "./forget-firings.ts";
import { KnownTriggers, type EventTrigger } from "./matching/known-triggers.ts";
import { createTriggerMemory } from "./memory.ts";
import { rotateToken } from "./rotate-token.ts";
import type { Trigger } from "./store/trigger.ts";
import { createTriggers, type Triggers } from "./triggers.ts";
import { KnownWebhooks } from "./webhooks/find-webhook.ts";
import { newToken } from "./webhooks/token.ts";
import { readTokens } from "./webhooks/token-store.ts";
import { urlOf } from "./webhooks/webhook-url.ts";

const stack = new AsyncDisposableStack();
let database: Database;
let clock: TestClock;
let room: TestRuns;
let triggers: Triggers;
beforeAll(async () => {
  const databases = stack.use(await startDatabases());
  database = stack.use(await databases.open());
  clock = testClock();
  room = stack.use(await openRuns(database, { engine: idle }));
  triggers = triggersOf(room);
});
afterAll(() => stack.disposeAsync());

function triggersOf({ runs }: TestRuns): Triggers {
  const { agents, log } = runs;
  const { derive } = secretKeys(Buffer.alloc(32, 3));
  const secrets = createSecrets({ database, clock, log, derive });
  const memory = createTriggerMemory({ database, clock, log, derive });
  return createTriggers({ secrets, database, clock, log, agents, runs, memory, url: "https://agents.example.org" });
}

const agent = (): Promise<AgentId> => room.agentOf("do: [{a: {set: {b: 1}}}]");
const create = (agentId: AgentId, name: string): Promise<Trigger> =>
  createTrigger(triggers, room.caller, { agentId, name, type: "webhook", keys: {}, policy: {} });
const createOnEvent = (agentId: AgentId, source: string): Promise<Trigger> =>
  createTrigger(triggers, room.caller, {
    agentId,
    name: source,
    type: "event",
    keys: { source, event: "paid" },
    policy: {},
  });

const tokenOf = async (trigger: Trigger): Promise<string> => {
  const token = (await readTokens(database, trigger.organizationId, [trigger.id])).get(trigger.id);
  return (await urlOf(triggers, trigger, token)).split("/").at(-1)!;
};

/** `found`: how many rows each statement since gave. */
function counted(): { counting: Database; found: number[] } {
  const found: number[] = [];
  const query = async (...all: Parameters<Database["query"]>) => {
    const rows = await database.query(...all);
    found.push(rows.length);
    return rows;
  };
  return { counting: { ...database, query }, found };
}

test("an organization that calls ever more webhooks evicts only its own from memory", async () => {
  await using other = await openRuns(database, { engine: idle });
  const neighbours = await createTrigger(triggersOf(other), other.caller, {
    agentId: await other.agentOf("do: [{a: {set: {b: 1}}}]"),
    name: "neighbour's",
    type: "webhook",
    keys: {},
    policy: {},
  });
  const agentId = await agent();
  const own: Trigger[] = [];
  for (let count = 0; count < 8; count++) own.push(await create(agentId, `own ${count}`));
  const { counting, found } = counted();
  // Room for about six.
  const webhooks = new KnownWebhooks(counting, clock, 8_000);
  const statements = async (trigger: Trigger): Promise<number> => {
    const path = { agent: encodeId("agent", trigger.agentId), token: await tokenOf(trigger) };
    found.length = 0;
    expect((await webhooks.find(path, "192.0.2.1"))?.id).toBe(trigger.id);
    expect(webhooks.recall(path)).toBe(trigger.organizationId);
    return found.length;
  };
  expect(await statements(neighbours)).toBe(2);
  for (const trigger of own) expect(await statements(trigger)).toBe(2);
  expect(await statements(neighbours)).toBe(0);
  expect([await statements(own[7]!), await statements(own[0]!)]).toEqual([0, 2]);
  // A change of one is read again, for it alone.
  webhooks.forget(room.caller.organizationId);
  expect([await statements(neighbours), await statements(own[7]!)]).toEqual([0, 2]);
});

test("a webhook that is looked up during changes of other organizations is cached; during changes of its own it is not", async () => {
  const [trigger, other] = [await create(await agent(), "looked up"), newId<"organization">()];
  const path = { agent: encodeId("agent", trigger.agentId), token: await tokenOf(trigger) };
  const { counting, found } = counted();
  const changes: [change: (webhooks: KnownWebhooks) => void, statements: number][] = [
    [(webhooks) => webhooks.forget(other), 0],
    [(webhooks) => webhooks.forget(trigger.organizationId), 2],
    [(webhooks) => webhooks.forgetAll(), 2],
  ];
  for (const [change, statements] of changes) {
    const webhooks = new KnownWebhooks(counting, clock);
    const again = async (): Promise<number> => {
      found.length = 0;
      expect((await webhooks.find(path, "192.0.2.1"))?.id).toBe(trigger.id);
      return found.length;
    };
    const looked = webhooks.find(path, "192.0.2.1");
    change(webhooks);
    expect((await looked)?.id).toBe(trigger.id);
    expect(await again()).toBe(statements);
    // It is cached now, until the next change.
    expect(await again()).toBe(0);
    change(webhooks);
    expect(await again()).toBe(statements);
  }
});

test("a webhook that is too large for the cache leaves nothing in it", async () => {
  const trigger = await create(await agent(), "too large");
  const path = { agent: encodeId("agent", trigger.agentId), token: await tokenOf(trigger) };
  const webhooks = new KnownWebhooks(database, clock, 100);
  for (let time = 0; time < 2; time++) {
    expect((await webhooks.find(path, "192.0.2.1"))?.id).toBe(trigger.id);
    expect(webhooks.recall(path)).toBeUndefined();
  }
});

test("an unknown webhook costs one look-up, whatever is wrong, and leaves no row", async () => {
  const [agentId, otherAgent] = [await agent(), await agent()];
  const hook = async (name: string): Promise<{ trigger: Trigger; token: string }> => {
    const trigger = await create(agentId, name);
    return { trigger, token: await tokenOf(trigger) };
  };
  const [good, rotated, replaced, deleted] = [await hook("a"), await hook("b"), await hook("c"), await hook("d")];
  await rotateToken(triggers, room.caller, { triggerId: rotated.trigger.id, overlapMinutes: 0 });
  await rotateToken(triggers, room.caller, { triggerId: replaced.trigger.id, overlapMinutes: 1 });
  await deleteTrigger(triggers, room.caller, deleted.trigger.id);
  const { counting, found } = counted();
  const webhooks = new KnownWebhooks(counting, clock);
  const looked = async (at: AgentId | string, token: string): Promise<[Trigger | undefined, number[]]> => {
    found.length = 0;
    const path = { agent: at.startsWith("agent_") ? at : encodeId("agent", at as AgentId), token };
    return [await webhooks.find(path, "192.0.2.1"), [...found]];
  };
  expect(await looked(agentId, good.token)).toMatchObject([{ id: good.trigger.id }, [1, 1]]);
  expect(await looked(agentId, replaced.token)).toMatchObject([{ id: replaced.trigger.id }, [1, 1]]);
  clock.pass(60_000);
  const wrong: [AgentId | string, string][] = [
    [otherAgent, good.token],
    [newId<"agent">(), good.token],
    ["agent_none", good.token],
    [agentId, newToken()],
    [agentId, "short"],
    [agentId, rotated.token],
    [agentId, replaced.token],
    [agentId, deleted.token],
  ];
  for (const [at, token] of wrong) expect(await looked(at, token), `${at} ${token}`).toEqual([undefined, [0]]);
  // A token that is not good any more leaves nothing.
  const left = (): Promise<unknown> =>
    database.query("select from webhook_tokens where trigger_id = any($1::uuid[])", [
      [rotated, replaced, deleted].map(({ trigger }) => trigger.id),
    ]);
  expect(await left()).toHaveLength(3);
  await forgetOld(triggers);
  expect(await left()).toHaveLength(2);
});

/** Its statements run at once; each answer waits until it is let through. */
function heldDatabase(): { held: Database; answers: (() => void)[] } {
  const answers: (() => void)[] = [];
  const query: Database["query"] = async (...all) => {
    const rows = await database.query(...all);
    await new Promise<void>((resolve) => answers.push(resolve));
    return rows;
  };
  return { held: { ...database, query }, answers };
}

test.each(["forget", "forgetAll"] as const)(
  "after `%s`, the next event sees the triggers as they are, whichever reading ends first, also one that a change overtook",
  async (change) => {
    const agentId = await agent();
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const source = `overtaken in order ${String(order)} of ${change}`;
      const { held, answers } = heldDatabase();
      const known = new KnownTriggers(held, clock);
      const { organizationId } = room.caller;
      const look = async (): Promise<string[]> => {
        const found: EventTrigger[] = await known.of(organizationId, source, "paid");
        return found.map(({ trigger }) => trigger.id);
      };
      const before = look();
      await expect.poll(() => answers.length).toBe(1);
      const created = await createOnEvent(agentId, source);
      known[change](organizationId);
      const after = look();
      await expect.poll(() => answers.length).toBe(2);
      for (const at of order) {
        answers[at]!();
        expect(await [before, after][at]).toEqual([[], [created.id]][at]);
      }
      // Kept is what was read last.
      expect(await look()).toEqual([created.id]);
      expect(answers).toHaveLength(2);
      await deleteTrigger(triggers, room.caller, created.id);
      known[change](organizationId);
      const gone = look();
      await expect.poll(() => answers.length).toBe(3);
      answers[2]!();
      expect(await gone).toEqual([]);
    }
  },
);
