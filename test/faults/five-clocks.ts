/**
 * Five processes on one database, each with the clock that fires cron triggers, under kills. The clock moves on as soon as nothing is
 * due any more, so a day takes as long as the machine needs for its instants.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { publish } from "../agents.ts";
import { eventually, startTestServer, type TestServer } from "../client.ts";
import { sharedPostgres } from "../postgres.ts";
import { nextInstant } from "../../server/src/triggers/kinds/cron/instants.ts";
import { readSchedule, type Schedule } from "../../server/src/triggers/kinds/cron/schedule.ts";
import { zoneNamed } from "../../server/src/lib/zone.ts";
import { connectTo } from "./audit.ts";
import type { Random } from "./random.ts";

/** The clock's start; its triggers are due at full minutes. */
const STEP_MS = 60_000;
/** The claims of a killed process are released after half a minute of the clock. */
const PATIENCE_MS = 1_000;
const LOOK_MS = 20;
const CATCH_UP_MS = 60_000;
const ZONE = "Europe/Berlin";
const SCHEDULES = [
  "*/5 * * * *",
  "3-59/10 * * * *",
  "30 2 * * *",
  "0 * * * *",
  "15,45 2-3 * * *",
  "*/20 2 * * *",
  "*/8 1-3 * * *",
];
const CREATE = "mutation($input: CreateTriggerInput!) { createTrigger(input: $input) { id } }";

/**
 * A statement that was sent is committed also when its sender is killed: so kills fall between the commit of firings and that of the
 * triggers' next instants, and the firings are tried again.
 */
const SLOW_FIRINGS = `
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.04); return null; end $$;
  create trigger slow before insert on firings for each statement execute function slow()`;

export type Stretch = {
  start: number;
  end: number;
  triggers: number;
  processes: number;
  kills: number;
  random: Random;
  say?: (line: string) => void;
};

export type Fired = {
  /** All instants of all triggers. */
  instants: number;
  firings: number;
  runs: number;
  /** Triggers that did not fire at each of their instants once, with what they did. */
  wrong: string[];
  /** Firings that started no run. */
  notStarted: number;
};

type Five = { servers: [TestServer, ...TestServer[]]; client: pg.Client } & AsyncDisposable;

async function startAll(processes: number): Promise<Five> {
  await using stack = new AsyncDisposableStack();
  const url = await stack.use(await sharedPostgres()).createMigrated();
  const env = { DATABASE_URL: url, SECRET_KEY: Buffer.alloc(32, 9).toString("base64") };
  const first = stack.use(await startTestServer({ env: { ...env } }));
  const others = await Promise.all(
    Array.from({ length: processes - 1 }, () => startTestServer({ env: { ...env }, fresh: true })),
  );
  for (const server of others) stack.use(server);
  const client = await connectTo(first, url);
  stack.defer(() => client.end());
  await client.query(SLOW_FIRINGS);
  const opened = stack.move();
  return { servers: [first, ...others], client, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Every instant of a schedule in the stretch. */
function instantsOf(text: string, { start, end }: Stretch): string[] {
  const found: string[] = [];
  for (let at = start; ;) {
    const next = nextInstant(readSchedule(text) as Schedule, zoneNamed(ZONE)!, at);
    if (!next || next.at > end) return found;
    found.push(new Date(next.at).toISOString());
    at = next.at;
  }
}

/** Returns the instants of each by its name. */
async function createAll({ servers: [first] }: Five, stretch: Stretch): Promise<Map<string, string[]>> {
  const agentId = await publish(first, "echo");
  const expected = new Map<string, string[]>();
  for (let index = 0; index < stretch.triggers; index++) {
    const schedule = SCHEDULES[index % SCHEDULES.length]!;
    const name = `trigger ${index}`;
    const trigger = { type: "cron", schedule, timezone: ZONE, input: { index } };
    await first.data(CREATE, { input: { agentId, name, trigger, policy: { missed: "all", overlap: "allow" } } });
    expected.set(name, instantsOf(schedule, stretch));
  }
  return expected;
}

export async function runFiveClocks(stretch: Stretch): Promise<Fired> {
  const { start, end, processes, kills, random, say } = stretch;
  await using five = await startAll(processes);
  const { servers, client } = five;
  let now = start;
  const setClocks = (): Promise<unknown> => Promise.all(servers.map((server) => server.clock.set(now)));
  const isDue = async (until: number): Promise<boolean> =>
    (await client.query("select from triggers where next_due_at <= $1 limit 1", [new Date(until)])).rows.length > 0;
  await setClocks();
  const expected = await createAll(five, stretch);
  await setClocks();

  const steps = Math.ceil((end - start) / STEP_MS);
  const stepsForOne = Math.floor(steps / kills);
  for (let step = 1; step <= steps; step++) {
    now = start + step * STEP_MS;
    await setClocks();
    if (step % stepsForOne === 0) {
      // In the midst of what is due now; every second time all of them, so that it meets the one that has it in its hands.
      await untilFiring(client);
      const kill = step / stepsForOne;
      const victims = kill % 2 === 1 ? servers : [random.pick(servers)];
      await Promise.all(victims.map((server) => server.kill()));
      for (const server of victims) await server.restart();
      if (kill % 10 === 0) say?.(`${kill} kills, at ${new Date(now).toISOString()}`);
    }
    for (const late = performance.now() + PATIENCE_MS; performance.now() < late && (await isDue(now));)
      await sleep(LOOK_MS);
  }
  await eventually(async () => {
    now += 10_000;
    await setClocks();
    return !(await isDue(end));
  }, CATCH_UP_MS);
  return await count(client, expected, end);
}

const LOOK_AGAIN_MS = 2;

/** Until firings are being written, if any are due soon. */
async function untilFiring(client: pg.Client): Promise<void> {
  const firing = "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep' limit 1";
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(LOOK_AGAIN_MS))
    if ((await client.query(firing)).rows.length > 0) return;
}

async function count(client: pg.Client, expected: Map<string, string[]>, end: number): Promise<Fired> {
  const { rows } = await client.query<{ name: string; outcome: string; due_at: Date; run_id: string | null }>(
    `select t.name, f.outcome, f.due_at, f.run_id from firings f join triggers t on t.id = f.trigger_id
      where f.due_at <= $1 order by f.due_at`,
    [new Date(end)],
  );
  const runs = await client.query("select id from runs where started_by_kind = 'trigger' and id = any($1::uuid[])", [
    rows.map(({ run_id: id }) => id),
  ]);
  const found = Map.groupBy(rows, ({ name }) => name);
  const wrong = [...expected].flatMap(([name, instants]) => {
    const times = (found.get(name) ?? []).map(({ due_at: at }) => at.toISOString());
    return times.join() === instants.join() ? [] : [`${name}: ${times.join()} and not ${instants.join()}`];
  });
  return {
    instants: [...expected.values()].flat().length,
    firings: rows.length,
    runs: runs.rows.length,
    wrong,
    notStarted: rows.filter(({ outcome }) => outcome !== "started").length,
  };
}
