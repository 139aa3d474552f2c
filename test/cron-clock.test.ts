/** Instants that are due and have not fired yet, and the clock that fires them, over the wire, with a clock that the test moves. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decodeId } from "../server/src/lib/ids.ts";
import { publish } from "./agents.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { cronTriggers, type CronTriggers } from "./cron-triggers.ts";
import { connectTo } from "./faults/audit.ts";
import { firingsOf } from "./webhooks.ts";

const HOUR = 60 * 60_000;

let server: TestServer;
let cron: CronTriggers;
beforeAll(async () => {
  server = await startTestServer();
  await server.clock.set(Date.UTC(2026, 10, 23, 7, 30));
  cron = cronTriggers(server, await publish(server, "echo"));
});
afterAll(() => server[Symbol.asyncDispose]());

describe("instants that are due and have not fired yet", () => {
  const at = Date.UTC(2027, 0, 6, 0, 0, 30);
  const EVERY_TEN = { schedule: "*/10 * * * *", timezone: "UTC" };
  const LATE = { missed: "all", jitterSeconds: 3_600 };
  const update = (triggerId: string, change: object): Promise<Data> =>
    server.data("mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { nextDueAt } }", {
      input: { triggerId, ...change },
    });
  /** Among the instants from 00:10 to 00:50, those that are older than this trigger's lateness have fired by 00:50. */
  const halfDue = async (): Promise<Data> => {
    await server.clock.set(at);
    const trigger = await cron.create(EVERY_TEN, LATE);
    await server.clock.set(Date.UTC(2027, 0, 6, 0, 50, 1));
    return trigger;
  };
  const said = (found: Data[]): string[] =>
    found.map(({ outcome, dueAt, policy, skipped }) =>
      outcome === "started" ? dueAt.slice(11, 16) : `${policy} ${dueAt.slice(11, 16)} ${skipped}`,
    );
  const TIMES = ["00:10", "00:20", "00:30", "00:40", "00:50"];

  test("fire all the same when what says when it is due stays as it was", async () => {
    const trigger = await halfDue();
    await update(trigger["id"], { name: "renamed" });
    await update(trigger["id"], { policy: { ...LATE, overlap: "allow" } });
    await update(trigger["id"], { trigger: { type: "cron", ...EVERY_TEN, input: { a: 1 } } });
    await server.clock.set(Date.UTC(2027, 0, 6, 1, 59, 59));
    expect(said(await cron.firings(trigger, 5)).slice(0, 5)).toEqual(TIMES);
    await cron.remove(trigger["id"]);
  });

  test.each<[string, (trigger: Data) => Promise<unknown>, string]>([
    [
      "changed",
      ({ id }) => update(id, { trigger: { type: "cron", ...EVERY_TEN, schedule: "5 12 * * *" } }),
      "2027-01-06T12:05:00.000Z",
    ],
    ["paused", ({ id }) => cron.setStatus(id, "paused"), ""],
  ])("are in a firing that says so when it is %s", async (policy, change, next) => {
    const trigger = await halfDue();
    await change(trigger);
    const found = (await firingsOf(server, trigger as { id: string })).toReversed();
    const fired = found.length - 1;
    expect(said(found)).toEqual([...TIMES.slice(0, fired), `${policy} ${TIMES[fired]} ${TIMES.length - fired}`]);
    expect(found[fired]).toMatchObject({ message: `the trigger was ${policy} before it fired`, run: null });
    const { trigger: shown } = await server.data(`{ trigger(id: "${trigger["id"]}") { nextDueAt } }`);
    expect(shown.nextDueAt ?? "").toBe(next);
    await server.clock.set(Date.UTC(2027, 0, 6, 3, 0));
    expect(await firingsOf(server, trigger as { id: string })).toHaveLength(found.length);
    await cron.remove(trigger["id"]);
  });

  test("are in such a firing when a definition brings other times", async () => {
    await server.clock.set(at);
    const define = async (version: string, schedule: string, title = "a"): Promise<Data> => {
      const trigger = { type: "cron", ...EVERY_TEN, schedule };
      const metadata = { triggers: [{ name: "late", trigger, policy: { ...LATE, jitterSeconds: 3_599 } }] };
      const document = { dsl: "1.0.3", namespace: "test", name: "late", title, version, metadata };
      const definition = JSON.stringify({ document, do: [{ a: { set: { b: 1 } } }] });
      const { publishAgent } = await server.data(
        "mutation($definition: String!) { publishAgent(input: {definition: $definition}) { triggers { nodes { id } } } }",
        { definition },
      );
      return publishAgent.triggers.nodes[0];
    };
    const trigger = await define("1.0.0", EVERY_TEN.schedule);
    await server.clock.set(Date.UTC(2027, 0, 6, 0, 50, 1));
    await define("1.1.0", EVERY_TEN.schedule, "b");
    await define("1.2.0", "5 12 * * *", "b");
    const found = await eventually(async () => {
      const all = (await firingsOf(server, trigger as { id: string })).toReversed();
      return all.at(-1)?.["outcome"] === "skipped" ? all : undefined;
    });
    const fired = found.length - 1;
    expect(said(found)).toEqual([...TIMES.slice(0, fired), `changed ${TIMES[fired]} ${TIMES.length - fired}`]);
    await cron.setStatus(trigger["id"], "paused");
  });
});

describe("the clock", () => {
  const EVERY_FIVE = { schedule: "*/5 * * * *", timezone: "UTC" };
  /** Writes to the database beside the server, as an operator might. */
  const write = async (trigger: Data, statement: string, values: unknown[] = []): Promise<Data> => {
    const client = await connectTo(server);
    const { rows } = await client.query(statement, [decodeId("trigger", trigger["id"]), ...values]);
    await client.end();
    return rows[0];
  };
  const WAKES = "select wakes_at from triggers where id = $1";

  test("takes nothing while the disk is nearly full, and fires when it is not", async () => {
    await server.clock.set(Date.UTC(2027, 0, 7, 0, 0, 30));
    const trigger = await cron.create(EVERY_FIVE);
    await server.setFreeBytes(1_000);
    await eventually(async () => !(await fetch(`${server.url}/readyz`)).ok);
    await server.clock.set(Date.UTC(2027, 0, 7, 0, 5, 0));
    for (let second = 0; second < 3; second++) {
      await server.clock.advance(1_000);
      expect((await write(trigger, WAKES))["wakes_at"]).toEqual(new Date(Date.UTC(2027, 0, 7, 0, 5)));
    }
    await server.setFreeBytes(null);
    await eventually(async () => (await fetch(`${server.url}/readyz`)).ok);
    await server.clock.advance(1_000);
    expect(await cron.firings(trigger, 1)).toMatchObject([{ outcome: "started", dueAt: "2027-01-07T00:05:00.000Z" }]);
    await cron.remove(trigger["id"]);
  });

  test("refuses visibly, and once, what it cannot read any more", async () => {
    await server.clock.set(Date.UTC(2027, 0, 8, 0, 0, 30));
    const trigger = await cron.create(EVERY_FIVE);
    const configuration = JSON.stringify({ ...EVERY_FIVE, timezone: "Mars/Olympus", input: {} });
    await write(trigger, "update triggers set configuration = $2 where id = $1", [configuration]);
    await server.clock.set(Date.UTC(2027, 0, 8, 0, 5, 1));
    const message = expect.stringMatching(
      /^its timezone is no time zone: "Mars.Olympus".*will not fire until it is changed$/,
    );
    expect(await cron.firings(trigger, 1)).toMatchObject([
      { outcome: "refused", code: "CONFLICT", message, run: null },
    ]);
    await eventually(async () => (await write(trigger, WAKES))["wakes_at"] === null);
    await server.clock.advance(HOUR);
    expect(await cron.firings(trigger, 1)).toHaveLength(1);
    const { errors } = await server.graphql(
      `mutation { setTriggerStatus(input: {triggerId: "${trigger["id"]}", status: paused}) { nextDueAt } }`,
    );
    expect(errors).toBeUndefined();
    const resumed = await server.graphql(
      `mutation { setTriggerStatus(input: {triggerId: "${trigger["id"]}", status: active}) { nextDueAt } }`,
    );
    expect(resumed.errors).toMatchObject([{ message, extensions: { code: "CONFLICT" } }]);
    await cron.remove(trigger["id"]);
  });

  test("finds within 5 s what nobody told it of", async () => {
    await server.clock.set(Date.UTC(2027, 0, 9, 0, 0, 30));
    const trigger = await cron.create({ schedule: "0 0 1 1 *", timezone: "UTC" });
    // The look that its creation asked for is over.
    await server.clock.advance(1_000);
    const due = new Date(Date.UTC(2027, 0, 9, 0, 0, 34));
    await write(trigger, "update triggers set next_due_at = $2, wakes_at = $2 where id = $1", [due]);
    await server.clock.advance(5_000);
    expect(await cron.firings(trigger, 1)).toMatchObject([{ dueAt: due.toISOString() }]);
    await cron.remove(trigger["id"]);
  });
});
