/** Cron triggers over the wire, with a clock that the test moves. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publish } from "./agents.ts";
import { decodeId } from "../server/src/lib/ids.ts";
import { eventually, startTestServer, type Data, type TestServer } from "./client.ts";
import { CREATE_CRON, cronTriggers, type CronTriggers } from "./cron-triggers.ts";
import { connectTo } from "./faults/audit.ts";
import { firingsOf } from "./webhooks.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Monday, 23 November 2026, 07:30 in UTC. */
const MONDAY = Date.UTC(2026, 10, 23, 7, 30);

let server: TestServer;
let echo: string;
let cron: CronTriggers;
beforeAll(async () => {
  server = await startTestServer();
  await server.clock.set(MONDAY);
  echo = await publish(server, "echo");
  cron = cronTriggers(server, echo);
});
afterAll(() => server[Symbol.asyncDispose]());

const refusalOf = async (trigger: object, policy?: object): Promise<Data> => {
  const input = { agentId: echo, name: "wrong", trigger: { type: "cron", ...trigger }, policy };
  const { errors } = await server.graphql(CREATE_CRON, { input });
  return { message: errors?.[0]?.message, ...errors?.[0]?.extensions };
};
const run = async (id: string): Promise<Data> =>
  eventually(async () => {
    const { run: found } = await server.data(
      `{ run(id: "${id}") { status input startedBy { kind name } trigger { id } firing { dueAt } } }`,
    );
    return found.status === "completed" ? found : undefined;
  });

describe("a cron trigger", () => {
  test("is shown as the specification has it, and when it is due next", async () => {
    const trigger = await cron.create({ schedule: "0 8 * * 1-5", timezone: "Europe/Berlin", input: { text: "x" } });
    expect(trigger).toEqual({
      id: expect.stringMatching(/^trigger_/),
      nextDueAt: "2026-11-24T07:00:00.000Z",
      configuration: {
        trigger: { type: "cron", schedule: "0 8 * * 1-5", timezone: "Europe/Berlin", input: { text: "x" } },
      },
      schedule: "0 8 * * 1-5",
      timezone: "Europe/Berlin",
      input: { text: "x" },
      policy: { missed: null, catchUpMinutes: null, jitterSeconds: null, startsAt: null, endsAt: null },
    });
    expect((await cron.setStatus(trigger["id"], "paused")).setTriggerStatus.nextDueAt).toBeNull();
    expect((await cron.setStatus(trigger["id"], "active")).setTriggerStatus.nextDueAt).toBe("2026-11-24T07:00:00.000Z");
    await cron.remove(trigger["id"]);
  });

  test("says its next times within what its policy allows, also while it is paused; another type has none", async () => {
    await server.clock.set(Date.UTC(2026, 10, 23, 12));
    const next = async ({ id }: Data, count = 2): Promise<Data> =>
      (await server.graphql(`{ trigger(id: "${id}") { nextInstants(count: ${count}) { localTime isShifted } } }`)).data;
    const always = await cron.create({ schedule: "0 8 * * *", timezone: "Europe/Berlin" });
    await cron.setStatus(always["id"], "paused");
    expect((await next(always)).trigger.nextInstants).toEqual([
      { localTime: "2026-11-24T08:00:00+01:00", isShifted: false },
      { localTime: "2026-11-25T08:00:00+01:00", isShifted: false },
    ]);
    expect((await next(always, 101)).trigger, "more than there may be").toBeNull();
    const bounded = await cron.create(
      { schedule: "0 8 * * *", timezone: "UTC" },
      { startsAt: "2027-01-01T08:00:00Z", endsAt: "2027-01-02T08:00:00Z" },
    );
    expect((await next(bounded, 5)).trigger.nextInstants.map(({ localTime }: Data) => localTime)).toEqual([
      "2027-01-01T08:00:00+00:00",
      "2027-01-02T08:00:00+00:00",
    ]);
    const called = await cron.create({ type: "webhook" });
    expect((await next(called)).trigger.nextInstants).toEqual([]);
    for (const { id } of [always, bounded, called]) await cron.remove(id);
  });

  test("starts a run at its instant, once, with dates of that day in its zone", async () => {
    await server.clock.set(Date.UTC(2026, 10, 23, 22, 59));
    const trigger = await cron.create({
      schedule: "0 0 * * *",
      timezone: "Europe/Berlin",
      input: { day: "@today", from: "@last-month.start", list: ["@yesterday", "@@today"], text: "on @today" },
    });
    await server.clock.advance(MINUTE);
    const [firing] = await cron.firings(trigger, 1);
    expect(firing).toMatchObject({
      outcome: "started",
      dueAt: "2026-11-23T23:00:00.000Z",
      payload: null,
      firedBy: null,
    });
    expect(await run(firing!["run"].id)).toEqual({
      status: "completed",
      input: { day: "2026-11-24", from: "2026-10-01", list: ["2026-11-23", "@today"], text: "on @today" },
      startedBy: { kind: "trigger", name: expect.stringMatching(/^cron \d+$/) },
      trigger: { id: trigger["id"] },
      firing: { dueAt: "2026-11-23T23:00:00.000Z" },
    });
    await server.clock.advance(24 * HOUR);
    expect((await cron.firings(trigger, 2)).map(({ dueAt }) => dueAt)).toEqual([
      "2026-11-23T23:00:00.000Z",
      "2026-11-24T23:00:00.000Z",
    ]);
    await cron.remove(trigger["id"]);
    await server.clock.advance(48 * HOUR);
  });

  test("is due earlier than what the clock waits for when it is changed", async () => {
    await server.clock.set(Date.UTC(2026, 11, 1, 12, 0, 30));
    const trigger = await cron.create({ schedule: "0 0 1 1 *", timezone: "UTC" });
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { nextDueAt } }";
    const changed = { type: "cron", schedule: "*/5 * * * *", timezone: "UTC" };
    const { updateTrigger } = await server.data(update, { input: { triggerId: trigger["id"], trigger: changed } });
    expect(updateTrigger.nextDueAt).toBe("2026-12-01T12:05:00.000Z");
    await server.clock.advance(5 * MINUTE);
    expect(await cron.firings(trigger, 1)).toMatchObject([{ outcome: "started", dueAt: "2026-12-01T12:05:00.000Z" }]);
    await cron.remove(trigger["id"]);
  });

  test("of a paused agent refuses visibly", async () => {
    await server.clock.set(Date.UTC(2026, 11, 2, 12, 0, 30));
    const trigger = await cron.create({ schedule: "*/5 * * * *", timezone: "UTC" });
    const set = (status: string) =>
      server.data("mutation($input: SetAgentStatusInput!) { setAgentStatus(input: $input) { status } }", {
        input: { agentId: echo, status },
      });
    await set("paused");
    await server.clock.advance(5 * MINUTE);
    expect(await cron.firings(trigger, 1)).toMatchObject([
      {
        outcome: "refused",
        code: "CONFLICT",
        message: expect.stringContaining("paused"),
        dueAt: "2026-12-02T12:05:00.000Z",
      },
    ]);
    await set("active");
    await server.clock.advance(5 * MINUTE);
    expect((await cron.firings(trigger, 2)).map(({ outcome }) => outcome)).toEqual(["refused", "started"]);
    await cron.remove(trigger["id"]);
  });
});

test("whose former run takes long to be cancelled delays no other organization's", async () => {
  await server.clock.set(Date.UTC(2026, 11, 3, 12, 0, 30));
  const patient = await publish(server, "patient");
  const everyMinute = { type: "cron", schedule: "* * * * *", timezone: "UTC" };
  const slow = (
    await server.data(CREATE_CRON, {
      input: { agentId: patient, name: "slow", trigger: everyMinute, policy: { overlap: "cancelPrevious" } },
    })
  ).createTrigger;
  const beside = await server.organization("beside");
  const input = { agentId: await publish(server, "echo", beside), name: "others", trigger: everyMinute };
  const others = (await server.data(CREATE_CRON, { input }, beside.apiKey)).createTrigger;
  /** A minute passes, and the other organization's fires for it. One more firing, of a minute that ended by itself, does not count. */
  const othersFire = async (): Promise<void> => {
    await server.clock.advance(MINUTE);
    const minute = Math.floor((await server.clock.now()) / MINUTE) * MINUTE;
    await eventually(async () => {
      const fired = await firingsOf({ data: (query, values) => server.data(query, values, beside.apiKey) }, others);
      return fired.some(({ dueAt }) => Date.parse(dueAt) >= minute);
    });
  };
  await othersFire();
  const [first] = await cron.firings(slow, 1);
  const holding = await connectTo(server);
  await holding.query("begin");
  await holding.query("select from runs where id = $1 for update", [decodeId("run", first!["run"].id)]);
  for (let minute = 0; minute < 3; minute++) await othersFire();
  expect(await firingsOf(server, slow, ["started"])).toHaveLength(1);
  await holding.query("commit");
  await holding.end();
  // After 10 s of waiting for it an earlier firing may say what was missed.
  await eventually(async () => (await cron.firings(slow, 2))[0]!["run"].status === "cancelled");
  await cron.remove(slow["id"]);
  const done = "mutation($input: DeleteTriggerInput!) { deleteTrigger(input: $input) { id } }";
  await server.data(done, { input: { triggerId: others.id } }, beside.apiKey);
});

describe("instants at which no server ran", () => {
  const at = Date.UTC(2026, 11, 7, 0, 0, 30);
  const missed = async (
    policy: object | undefined,
    ms: number,
    count: number,
    schedule = "*/10 * * * *",
  ): Promise<Data[]> => {
    await server.clock.set(at);
    const trigger = await cron.create({ schedule, timezone: "UTC" }, policy);
    await server.clock.advance(ms);
    const found = await cron.firings(trigger, count);
    await cron.remove(trigger["id"]);
    return found.map(({ outcome, dueAt, skipped, policy: by }) => ({
      outcome,
      dueAt: dueAt.slice(11, 16),
      skipped,
      by,
    }));
  };

  test("the last one fires, and one firing says how many were dropped", async () => {
    expect(await missed(undefined, HOUR, 2)).toEqual([
      { outcome: "skipped", dueAt: "00:10", skipped: 5, by: "missed" },
      { outcome: "started", dueAt: "01:00", skipped: null, by: null },
    ]);
  });

  test("not when it is older than it may be", async () => {
    expect(await missed({ catchUpMinutes: 5 }, 69 * MINUTE, 1)).toEqual([
      { outcome: "skipped", dueAt: "00:10", skipped: 6, by: "missed" },
    ]);
  });

  test("each fires under `all`, in order", async () => {
    expect((await missed({ missed: "all" }, HOUR, 6)).map(({ outcome, dueAt }) => `${outcome} ${dueAt}`)).toEqual(
      ["00:10", "00:20", "00:30", "00:40", "00:50", "01:00"].map((time) => `started ${time}`),
    );
  });

  test("a watcher receives those that were dropped", async () => {
    await server.clock.set(at);
    const trigger = await cron.create({ schedule: "*/10 * * * *", timezone: "UTC" }, { missed: "none" });
    const client = server.webSocket();
    const heard: Data[] = [];
    client.subscribe(
      { query: `subscription { firingsChanged(triggerId: "${trigger["id"]}") { policy skipped } }` },
      { next: ({ data }) => heard.push((data as Data)["firingsChanged"]), error: () => {}, complete: () => {} },
    );
    await eventually(async () => {
      await server.data(`mutation { fireTrigger(input: {triggerId: "${trigger["id"]}", payload: {}}) { id } }`);
      return heard.length > 0;
    });
    await server.clock.advance(HOUR + 2 * MINUTE);
    await eventually(() => heard.some(({ policy, skipped }) => policy === "missed" && skipped === 6));
    await client.dispose();
    await cron.remove(trigger["id"]);
  });

  test("none fires under `none`", async () => {
    expect(await missed({ missed: "none" }, HOUR + 2 * MINUTE, 1)).toEqual([
      { outcome: "skipped", dueAt: "00:10", skipped: 6, by: "missed" },
    ]);
  });
});

describe("the policy", () => {
  test("has a time to start and to end", async () => {
    await server.clock.set(Date.UTC(2027, 0, 4, 0, 0, 30));
    const trigger = await cron.create(
      { schedule: "0 * * * *", timezone: "UTC" },
      { missed: "all", startsAt: "2027-01-04T03:00:00Z", endsAt: "2027-01-04T06:00:00+01:00" },
    );
    expect(trigger).toMatchObject({
      nextDueAt: "2027-01-04T03:00:00.000Z",
      policy: { startsAt: "2027-01-04T03:00:00.000Z", endsAt: "2027-01-04T05:00:00.000Z" },
    });
    await server.clock.advance(12 * HOUR);
    expect((await cron.firings(trigger, 3)).map(({ dueAt }) => dueAt.slice(11, 13))).toEqual(["03", "04", "05"]);
    // The clock writes down when it is due next after it has fired.
    const ended = await eventually(async () => {
      const { trigger: shown } = await server.data(`{ trigger(id: "${trigger["id"]}") { nextDueAt status } }`);
      return shown.nextDueAt === null ? shown : undefined;
    });
    expect(ended).toEqual({ nextDueAt: null, status: "active" });
    await cron.remove(trigger["id"]);
  });

  test("delays by a jitter that is always the same, and says the instant itself", async () => {
    await server.clock.set(Date.UTC(2027, 0, 5, 0, 0, 30));
    const trigger = await cron.create({ schedule: "0 * * * *", timezone: "UTC" }, { jitterSeconds: 3_600 });
    expect(trigger["nextDueAt"]).toBe("2027-01-05T01:00:00.000Z");
    // An hour after the instant at the latest.
    await server.clock.set(Date.UTC(2027, 0, 5, 1, 0, 0) - 1);
    expect(await firingsOf(server, trigger as { id: string })).toEqual([]);
    await server.clock.set(Date.UTC(2027, 0, 5, 2, 0, 0));
    expect(await cron.firings(trigger, 1)).toMatchObject([{ outcome: "started", dueAt: "2027-01-05T01:00:00.000Z" }]);
    await cron.remove(trigger["id"]);
  });
});

test("a trigger with a zone that was accepted before goes on by its clocks, and is refused when the zone is given again", async () => {
  const trigger = await cron.create({ schedule: "0 14 * * *", timezone: "Asia/Dhaka" });
  const database = await connectTo(server);
  await database.query(
    `update triggers set configuration = jsonb_set(configuration::jsonb, '{timezone}', '"BST"') where id = $1`,
    [decodeId("trigger", trigger.id)],
  );
  await database.end();
  const change = async (more: object): Promise<Data> => {
    const update = `mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { timezone nextDueAt nextInstants(count: 1) { at } } }`;
    const { data, errors } = await server.graphql(update, { input: { triggerId: trigger.id, ...more } });
    return { ...data?.updateTrigger, fields: errors?.[0]?.extensions.fields };
  };
  // Dhaka is six hours ahead.
  const kept = { timezone: "BST", nextInstants: [{ at: expect.stringContaining("T08:00:00") }], fields: undefined };
  expect(await change({ name: "renamed" })).toMatchObject(kept);
  expect(await change({ policy: { missed: "none" } })).toMatchObject(kept);
  expect(await change({ trigger: { type: "cron", schedule: "0 9 * * *", timezone: "BST" } })).toMatchObject({
    fields: [{ path: "input.trigger.timezone", code: "invalid", message: expect.stringContaining("Europe/London") }],
  });
  const due = Date.parse((await change({ policy: {} })).nextDueAt);
  await server.clock.set(due + MINUTE);
  expect(await cron.firings(trigger, 1)).toMatchObject([{ outcome: "started", dueAt: new Date(due).toISOString() }]);
  await cron.remove(trigger.id);
});

describe("is refused, with every field that is wrong", () => {
  const GOOD = { schedule: "0 8 * * *", timezone: "UTC" };
  test.each<[string, object, object | undefined, string[]]>([
    ["no schedule", { timezone: "UTC" }, undefined, ["input.trigger.schedule required"]],
    ["no zone", { schedule: "0 8 * * *" }, undefined, ["input.trigger.timezone required"]],
    ["a schedule that never comes", { ...GOOD, schedule: "0 0 31 2 *" }, undefined, ["input.trigger.schedule invalid"]],
    [
      "both wrong",
      { schedule: "@daily", timezone: "Mars" },
      undefined,
      ["input.trigger.schedule invalid", "input.trigger.timezone invalid"],
    ],
    ["input that is a list", { ...GOOD, input: [] }, undefined, ["input.trigger.input wrong_type"]],
    [
      "a relative date that there is not",
      { ...GOOD, input: { a: ["@last-week"] } },
      undefined,
      ["input.trigger.input.a.0 not_a_choice"],
    ],
    ["a webhook's key", { ...GOOD, method: "POST" }, undefined, ["input.trigger.method unknown"]],
    ["a webhook's policy", GOOD, { deliveryHeader: "x" }, ["input.policy.deliveryHeader unknown"]],
    ["another way to miss", GOOD, { missed: "some" }, ["input.policy.missed not_a_choice"]],
    [
      "numbers out of range",
      GOOD,
      { catchUpMinutes: 10_081, jitterSeconds: -1 },
      ["input.policy.catchUpMinutes out_of_range", "input.policy.jitterSeconds out_of_range"],
    ],
    [
      "an end before its start",
      GOOD,
      { startsAt: "2027-01-02T00:00:00Z", endsAt: "2027-01-01T00:00:00Z" },
      ["input.policy.endsAt out_of_range"],
    ],
  ])("%s", async (_, trigger, policy, fields) => {
    const refusal = await refusalOf(trigger, policy);
    expect(refusal).toMatchObject({ code: "BAD_USER_INPUT", reason: expect.stringMatching(/^invalid_/) });
    expect(refusal["fields"].map(({ path, code }: Data) => `${path} ${code}`)).toEqual(fields);
  });

  test("an input that the agent's form refuses", async () => {
    const three = await publish(server, "three");
    const input = (given: object) => ({
      agentId: three,
      name: "form",
      trigger: { type: "cron", ...GOOD, input: given },
    });
    const { errors } = await server.graphql(CREATE_CRON, { input: input({ n: "@today", other: 1 }) });
    expect(errors?.[0]?.extensions.fields?.map(({ path, code }) => `${path} ${code}`).toSorted()).toEqual([
      "input.trigger.input.n wrong_type",
      "input.trigger.input.other unknown",
    ]);
    const { createTrigger } = await server.data(CREATE_CRON, { input: input({ n: 1 }) });
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { id } }";
    const changed = { triggerId: createTrigger.id, trigger: { type: "cron", ...GOOD, input: {} } };
    const refused = await server.graphql(update, { input: changed });
    expect(refused.errors?.[0]?.extensions.fields?.map(({ path, code }) => `${path} ${code}`)).toEqual([
      "input.trigger.input.n required",
    ]);
    await cron.remove(createTrigger.id);
  });

  test("many are changed at once, the agent having been read long ago", async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => cron.create(GOOD)));
    await server.clock.advance(MINUTE);
    const update = "mutation($input: UpdateTriggerInput!) { updateTrigger(input: $input) { schedule } }";
    const changed = await Promise.all(
      made.map(({ id }) =>
        server.data(update, { input: { triggerId: id, trigger: { type: "cron", ...GOOD, schedule: "0 9 * * *" } } }),
      ),
    );
    expect(changed.map(({ updateTrigger }) => updateTrigger.schedule)).toEqual(made.map(() => "0 9 * * *"));
    await Promise.all(made.map(({ id }) => cron.remove(id)));
  });

  test("as much as may be passes", async () => {
    const trigger = await cron.create(GOOD, { catchUpMinutes: 10_080, jitterSeconds: 3_600 });
    await cron.remove(trigger["id"]);
  });
});
