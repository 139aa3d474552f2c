/** The watch over the loops of the service, on a running server whose clock the test moves: a loop that is late goes on, and is seen. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { LOOP_NAMES } from "../server/src/lib/loops/loop.ts";
import { publish, start } from "./agents.ts";
import { eventually, startTestServer, type TestServer } from "./client.ts";
import { cronTriggers, type CronTriggers } from "./cron-triggers.ts";
import { connectTo } from "./faults/audit.ts";
import { eventTriggerOf, publishEvent } from "./published-events.ts";
import { firingsOf } from "./webhooks.ts";

const HOUR = 3_600_000;
/** Nobody is sent anything. */
const MAIL = { SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "agents@example.org" };
/** More than the watch counts at once, so that no look of the clock is spared. */
const STEP_MS = 10_000;

let server: TestServer;
let agentId: string;
let cron: CronTriggers;
let names: string[];
beforeAll(async () => {
  server = await startTestServer({ env: { METRICS_PORT: "0", LOG_LEVEL: "info", ...MAIL } });
  await server.clock.set(Date.UTC(2027, 0, 4, 7, 30, 30));
  agentId = await publish(server, "echo");
  cron = cronTriggers(server, agentId);
  // On an embedded database there are no other processes to tell; the disk of another one is its operator's.
  const absent = server.isEmbedded ? ["notices", "processes"] : ["disk-space"];
  names = LOOP_NAMES.filter((name) => !absent.includes(name));
});
afterAll(() => server[Symbol.asyncDispose]());

type Ready = { status: number; body: { status: string; late?: string[] } };
const ready = async (): Promise<Ready> => {
  const answer = await fetch(`${server.url}/readyz`);
  return { status: answer.status, body: (await answer.json()) as Ready["body"] };
};
const lateSeconds = async (): Promise<Record<string, number>> => {
  const text = await (await fetch(server.metricsUrl!)).text();
  const samples = text.matchAll(/^autograph_loop_late_seconds\{loop="([^"]+)"\} (\S+)$/gm);
  return Object.fromEntries(Array.from(samples, ([, name, value]) => [name!, Number(value)]));
};
const saidOf = (name: string): string[] =>
  server
    .log()
    .split("\n")
    .filter((line) => line.includes(`"loop":"${name}"`));

test("each loop is named in /metrics, and none is late", async () => {
  const seconds = await lateSeconds();
  expect(Object.keys(seconds).toSorted()).toEqual(names);
  expect(Math.max(...Object.values(seconds))).toBeLessThan(30);
  expect(await ready()).toEqual({ status: 200, body: { status: "ok" } });
});

test("each loop whose wake is lost is named in the log and started over, though nobody asks, and does its work again", async () => {
  const every = await cron.create({ schedule: "*/5 * * * *", timezone: "UTC" });
  const chained = await eventTriggerOf(server, agentId, { source: "autograph", event: "run.completed" });
  const onEvent = await eventTriggerOf(server, agentId, { source: "shop", event: "order" });
  const waiting = await start(server, await publish(server, "patient"), {});
  await eventually(async () => (await server.data(`{ run(id: "${waiting}") { currentStep } }`)).run.currentStep === 1);

  const isStartedOver = (name: string): boolean =>
    saidOf(name).some((line) => line.includes("is late: it is started over"));
  await server.clock.loseTimers();
  await server.clock.advance(HOUR);
  await eventually(async () => {
    // A loop that was looking has armed another timer since.
    await server.clock.loseTimers();
    await server.clock.advance(STEP_MS);
    return names.every(isStartedOver);
  });
  // Those that were started over have lost their next wakes too.
  for (let step = 0; step < 8; step++) {
    await server.clock.advance(STEP_MS);
    await ready();
  }
  await eventually(async () => (await ready()).status === 200);

  await eventually(async () => (await cron.firings(every, 1)).some(({ outcome }) => outcome === "started"));
  await eventually(async () => (await server.data(`{ run(id: "${waiting}") { status } }`)).run.status === "completed");
  await eventually(async () => (await firingsOf(server, chained)).length > 0);
  const { errors } = await publishEvent(server, { source: "shop", event: "order", id: "1", data: {} });
  expect(errors ?? []).toEqual([]);
  await eventually(async () => (await firingsOf(server, onEvent)).length === 1);
  await eventually(async () => Math.max(...Object.values(await lateSeconds())) < 30);
  for (const { id } of [every, chained, onEvent]) await cron.remove(id);
});

test("a loop whose look gets no answer is late in /readyz, /metrics and the log, and each instant has one firing when it goes on", async () => {
  const minutely = await cron.create({ schedule: "* * * * *", timezone: "UTC" }, { missed: "all", overlap: "allow" });
  await server.clock.advance(1_000);
  const client = await connectTo(server);
  try {
    await client.query("begin");
    await client.query("lock table triggers in access exclusive mode");
    await eventually(async () => {
      await server.clock.advance(STEP_MS);
      const { status, body } = await ready();
      return status === 503 && body.status === "unavailable" && body.late?.includes("schedules");
    });
    expect((await lateSeconds())["schedules"]).toBeGreaterThanOrEqual(30);
    const line = JSON.parse(saidOf("schedules").at(-1)!);
    expect(line).toMatchObject({ level: 50, msg: "the loop schedules is late: it is started over", isLooking: true });
    expect(line.lateSeconds).toBeGreaterThanOrEqual(30);
    // More looks replace the first.
    for (let step = 0; step < 12; step++) {
      await server.clock.advance(STEP_MS);
      await ready();
    }
  } finally {
    await client.query("rollback");
    await client.end();
  }
  await eventually(async () => (await ready()).status === 200);
  await eventually(async () => saidOf("schedules").some((line) => line.includes("the loop schedules goes on again")));
  const until = new Date(Math.floor((await server.clock.now()) / 60_000) * 60_000);
  await eventually(
    async () =>
      (await server.data(`{ trigger(id: "${minutely["id"]}") { nextDueAt } }`)).trigger.nextDueAt > until.toISOString(),
  );
  const fired = (await cron.firings(minutely, 2)).map(({ dueAt }) => Date.parse(dueAt));
  const expected = fired.map((_, index) => fired[0]! + index * 60_000);
  expect(fired).toEqual(expected);
  await cron.remove(minutely["id"]);
});
