/** Triggers that are paused or deleted while they fire: by what the database says, not by what was read before. */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { publish } from "./agents.ts";
import { eventually } from "./client.ts";
import { connectTo } from "./faults/audit.ts";
import { eventTriggerOf, firingsOfEvent, publishEvent } from "./published-events.ts";
import { movedServer, type MovedServer } from "./shared-server.ts";
import { call, firingsOf, webhookOf } from "./webhooks.ts";

let server: MovedServer;
let database: pg.Client;
let echo: string;
beforeAll(async () => {
  server = await movedServer();
  database = await connectTo(server);
  echo = await publish(server, "echo");
});
afterAll(async () => {
  await database.end();
  await server[Symbol.asyncDispose]();
});

const uuidsOf = (triggers: { id: string }[]): (string | undefined)[] =>
  triggers.map(({ id }) => decodeId("trigger", id));
const lock = async (triggers: { id: string }[]): Promise<void> => {
  await database.query("begin");
  await database.query("select from triggers where id = any($1::uuid[]) for no key update", [uuidsOf(triggers)]);
};
const change = (triggers: { id: string }[], what: string): Promise<unknown> =>
  database.query(`update triggers set ${what} where id = any($1::uuid[])`, [uuidsOf(triggers)]);
const PAUSED = "status = 'paused'";
const DELETED = "deleted_at = now()";
const setStatus = (triggerId: string, status: string) =>
  server.data("mutation($input: SetTriggerStatusInput!) { setTriggerStatus(input: $input) { id } }", {
    input: { triggerId, status },
  });
const startedBy = async (trigger: { id: string }): Promise<number> => {
  const { rows } = await database.query("select from runs where started_by_id = any($1::uuid[])", [uuidsOf([trigger])]);
  return rows.length;
};

describe("a call that knows the trigger as it was", () => {
  test.each<[string, string, string, number]>([
    ["paused", "skip", PAUSED, 409],
    ["paused", "cancelPrevious", PAUSED, 409],
    ["paused", "queue", PAUSED, 409],
    ["paused", "allow", PAUSED, 409],
    ["deleted", "skip", DELETED, 404],
    ["deleted", "allow", DELETED, 404],
  ])("starts nothing when it is %s, with `overlap: %s`", async (how, overlap, what, status) => {
    const hook = await webhookOf(server, echo, { name: `${how} with ${overlap}`, policy: { overlap } });
    expect((await call(`${hook.url}?wait=20`)).status).toBe(200);
    await lock([hook]);
    const called = call(hook.url, { a: 1 }, { headers: { "idempotency-key": "one" } });
    // With a turn to take, it waits for this transaction; without one it comes before its end, or after it.
    await change([hook], what);
    await database.query("commit");
    const answer = await called;
    if (answer.status === 409) expect(answer.errors).toMatchObject([{ message: "the trigger is paused" }]);
    const after = await call(hook.url, { a: 2 });
    expect(after.status).toBe(status);
    expect(await startedBy(hook)).toBe(answer.status === 202 ? 2 : 1);
    if (overlap === "skip" || overlap === "cancelPrevious") expect(answer.status).toBe(status);
    if (status === 409)
      expect((await firingsOf(server, hook))[0]).toMatchObject({ outcome: "refused", code: "CONFLICT" });
  });

  test("starts one all the same when somebody fires it by hand, paused or not", async () => {
    const hook = await webhookOf(server, echo, { name: "by hand", policy: { overlap: "skip" } });
    await setStatus(hook.id, "paused");
    const { fireTrigger } = await server.data(
      `mutation { fireTrigger(input: {triggerId: "${hook.id}", payload: {}}) { outcome } }`,
    );
    expect(fireTrigger).toEqual({ outcome: "started" });
    expect((await call(hook.url)).status).toBe(409);
  });
});

test("an event whose triggers fire in turns starts no run of one that is paused before its turn, and leaves no firing there", async () => {
  // The number that one organization fires at once.
  const source = "turns";
  const first = await Promise.all(
    Array.from({ length: 64 }, () =>
      eventTriggerOf(server, echo, { source, event: "paid" }, { policy: { overlap: "skip" } }),
    ),
  );
  const last = await eventTriggerOf(server, echo, { source, event: "paid" });
  await lock(first);
  const published = publishEvent(server, { source, event: "paid", id: "1", data: {} });
  await eventually(async () => {
    const { rows } = await database.query("select from events where source = $1", [source]);
    return rows.length === 1;
  });
  await setStatus(last.id, "paused");
  await server.clock.advance(1_000);
  await database.query("commit");
  const firings = await firingsOfEvent(server, (await published).data.publishEvent.id);
  expect(firings.map(({ outcome }) => outcome)).toEqual(first.map(() => "started"));
  expect(await startedBy(last)).toBe(0);
});
