/** The embedded engine against the contract, and what is its own: the election, and how it goes on after unclean stops. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { startTestPostgres, type TestPostgres } from "../../../test/postgres.ts";
import { realClock } from "../lib/clock.ts";
import { newId, type InstanceId, type RunId } from "../lib/ids.ts";
import { createLog } from "../lib/log.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { migrate } from "../storage/migrate.ts";
import { EmbeddedEngine } from "./embedded.ts";
import { describeEngine, insertRun } from "./engine.testsuite.ts";

const log = createLog("silent");

describeEngine("embedded", (options) => new EmbeddedEngine({ ...options, log }));

let postgres: TestPostgres;
let url: string;
let database: Database;
const connect = (): Database => openDatabase({ connection: { connectionString: url }, isEmbedded: false, log });
beforeAll(async () => {
  postgres = await startTestPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  url = await postgres.createDatabase();
  database = connect();
  await migrate(database);
});
afterEach(() => database[Symbol.asyncDispose]());

describe("after unclean stops", () => {
  const before = newId<"instance">();
  const died = newId<"instance">();
  /** As the last executor left it. */
  const leave = (uncleanStops: number, instanceId = died): Promise<unknown> =>
    database.query("insert into executor values (true, $1, 0, now(), false, $2)", [instanceId, uncleanStops]);
  const held = (count: number, owner: InstanceId, clock: TestClock): Promise<RunId[]> =>
    Promise.all(Array.from({ length: count }, () => insertRun(database, clock, { owner })));

  /** An engine whose advances never end; what it has begun. */
  async function begun(clock: TestClock): Promise<{ begun: RunId[] } & AsyncDisposable> {
    const ids: RunId[] = [];
    const engine = new EmbeddedEngine({ database, clock, log, instanceId: newId() });
    await engine.start((id, signal) => {
      ids.push(id);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    return {
      begun: ids,
      async [Symbol.asyncDispose]() {
        engine.interruptAll();
        await engine[Symbol.asyncDispose]();
      },
    };
  }
  const blamed = async (): Promise<RunId[]> =>
    (await database.query("select id from runs where blamed > 0 order by id")).map(({ id }) => id as RunId);

  test("runs are taken up four at first, then twice as many each time", async () => {
    const clock = testClock();
    await leave(0);
    await held(100, died, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 4);
    for (const most of [12, 28, 60, 100]) {
      clock.pass(100);
      await eventually(() => engine.begun.length === most);
    }
    expect(new Set(engine.begun).size).toBe(100);
  });

  test("after a clean stop all at once", async () => {
    const clock = testClock();
    await leave(0);
    await database.query("update executor set stopped_cleanly = true");
    await held(100, died, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 100);
  });

  test("a run is blamed when at most four were held by the process that died twice; those come first, alone", async () => {
    const clock = testClock();
    await leave(1);
    const older = await held(10, before, clock);
    const suspects = await held(3, died, clock);
    const due = await insertRun(database, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 4);
    expect(await blamed()).toEqual(suspects.toSorted());
    expect(engine.begun.slice(0, 3).toSorted()).toEqual(suspects.toSorted());
    // Time enough for a sweep, and too little for the next ones to be taken up.
    clock.pass(50);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(engine.begun).toHaveLength(4);
    expect(engine.begun).not.toContain(due);
    for (let round = 0; round < 20; round++) {
      clock.pass(1_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await eventually(() => engine.begun.length === 14);
    expect(engine.begun.toSorted()).toEqual([...older, ...suspects, due].toSorted());
  });

  test.each([
    { uncleanStops: 0, count: 3, why: "the process died once only" },
    { uncleanStops: 1, count: 5, why: "too many were held to tell" },
  ])("nobody is blamed when $why", async ({ uncleanStops, count }) => {
    const clock = testClock();
    await leave(uncleanStops);
    await held(count, died, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 4 || engine.begun.length === count);
    expect(await blamed()).toEqual([]);
  });

  test("a process that has lived a minute has not died in a row", async () => {
    const clock = testClock();
    await leave(3);
    await using engine = await begun(clock);
    const stops = async (): Promise<number> =>
      (await database.query("select unclean_stops from executor"))[0]!["unclean_stops"];
    expect(await stops()).toBe(4);
    clock.pass(59_000);
    expect(await stops()).toBe(4);
    clock.pass(2_000);
    await eventually(async () => (await stops()) === 0);
    expect(engine.begun).toEqual([]);
  });

  test("a run that a process started when it executed no longer is found", async () => {
    const clock = testClock();
    await leave(0);
    await using engine = await begun(clock);
    const [stray] = await held(1, before, clock);
    await eventually(() => {
      clock.pass(1_000);
      return engine.begun.includes(stray!);
    });
  });
});

describe("processes", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  async function start(): Promise<ChildProcess & { instanceId: string }> {
    const child = fork(path.join(import.meta.dirname, "ticking.testsuite.ts"), [url], { stdio: "inherit" });
    children.push(child);
    const [instanceId] = (await once(child, "message")) as [string];
    return Object.assign(child, { instanceId });
  }

  type Tick = { instance: string; number: number };
  const ticks = async (): Promise<Tick[]> =>
    (await database.query("select instance, number from ticks order by at")) as Tick[];
  const ticksOf = async (child: { instanceId: string }): Promise<number> =>
    (await ticks()).filter(({ instance }) => instance === child.instanceId).length;

  beforeEach(async () => {
    await database.query(
      "create table ticks (instance uuid, number integer, at timestamptz default clock_timestamp())",
    );
  });

  // Ten times the promise of 5 s.
  test.each(["SIGSTOP", "SIGKILL"] as const)(
    "after %s of the one that executes the other takes over; the first writes nothing any more",
    async (signal) => {
      const id = await insertRun(database, realClock);
      const first = await start();
      const second = await start();
      await eventually(async () => (await ticksOf(first)) > 3);
      expect(await ticksOf(second)).toBe(0);
      first.kill(signal);
      const began = performance.now();
      await eventually(async () => (await ticksOf(second)) > 3, 50_000);
      expect(performance.now() - began).toBeLessThan(50_000);
      if (signal === "SIGSTOP") first.kill("SIGCONT");
      const count = await ticksOf(second);
      await eventually(async () => (await ticksOf(second)) > count + 20);
      const all = await ticks();
      const takenOver = all.findIndex(({ instance }) => instance === second.instanceId);
      expect(all.slice(takenOver).every(({ instance }) => instance === second.instanceId)).toBe(true);
      // The second went on from what the first had written.
      expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
      expect(await database.query("select owner from runs where id = $1", [id])).toEqual([
        { owner: second.instanceId },
      ]);
    },
  );
});
