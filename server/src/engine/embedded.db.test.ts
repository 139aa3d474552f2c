/** The embedded engine against the contract, and its own parts: the election, and recovery after unclean stops. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { bundled } from "../../../test/bundle.ts";
import { eventually } from "../../../test/client.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { expectInTime } from "../../../test/in-time.ts";
import { sharedPostgres, type SharedPostgres } from "../../../test/postgres.ts";
import { realClock } from "../lib/clock.ts";
import { newId, type InstanceId, type RunId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { Places } from "../fairness/places.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import { EmbeddedEngine } from "./embedded.ts";
import type { Outcome } from "./engine.ts";
import { describeEngine, empty, FENCE, insertRun, manyPlaces, Process, type Fence } from "./engine.testsuite.ts";

const log = createLog("silent");

describeEngine("embedded", (options) => new EmbeddedEngine(options));

let postgres: SharedPostgres;
let url: string;
let database: Database;
const connect = (): Database => openDatabase({ connection: { connectionString: url }, isEmbedded: false, log });
beforeAll(async () => {
  postgres = await sharedPostgres();
  url = await postgres.createMigrated();
});
afterAll(() => postgres[Symbol.asyncDispose]());
beforeEach(() => {
  database = connect();
});
afterEach(async () => {
  await database[Symbol.asyncDispose]();
  await empty(url);
});

describe("after unclean stops", () => {
  const before = newId<"instance">();
  const died = newId<"instance">();
  /** As the last executor left it. */
  const leave = (uncleanStops: number, suspect?: RunId): Promise<unknown> =>
    database.query("insert into executor values (true, $1, 0, now(), false, $2, $3)", [
      died,
      uncleanStops,
      suspect ?? null,
    ]);
  const held = (count: number, owner: InstanceId, clock: TestClock): Promise<RunId[]> =>
    Promise.all(Array.from({ length: count }, () => insertRun(database, clock, { owner })));

  /** An engine whose advances never end, and the runs that it has begun. */
  async function begun(clock: TestClock): Promise<{ begun: RunId[]; isRecovered: () => boolean } & AsyncDisposable> {
    const ids: RunId[] = [];
    const engine = new EmbeddedEngine({
      database,
      clock,
      log,
      instanceId: newId(),
      places: manyPlaces(),
      claimed: FENCE,
    });
    await engine.start(({ runId, signal }) => {
      ids.push(runId);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    });
    return {
      begun: ids,
      isRecovered: () => engine.executing,
      async [Symbol.asyncDispose]() {
        engine.interruptAll();
        await engine[Symbol.asyncDispose]();
      },
    };
  }
  const blamed = async (): Promise<RunId[]> =>
    (await database.query("select id from runs where blamed > 0 order by id")).map(({ id }) => id as RunId);

  test("four runs are taken up at first, and each pause doubles them", async () => {
    const clock = testClock();
    await leave(0);
    await held(100, died, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 4);
    for (const most of [8, 16, 32, 64, 100]) {
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

  test("a run is blamed when it was advanced alone; it comes first, alone again, and is cleared when it is outlived", async () => {
    const clock = testClock();
    const suspect = await insertRun(database, clock, { owner: died });
    const beside = await held(3, died, clock);
    const older = await held(10, before, clock);
    const due = await insertRun(database, clock);
    await leave(2, suspect);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 1);
    expect(engine.begun).toEqual([suspect]);
    expect(await blamed()).toEqual([suspect]);
    // Enough time for a sweep, too little to take up the next run.
    clock.pass(150);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(engine.begun).toHaveLength(1);
    clock.pass(50);
    await eventually(() => engine.begun.length === 2);
    expect(await blamed()).toEqual([]);
    await eventually(() => {
      clock.pass(1_000);
      return engine.begun.length === 15;
    });
    // None is begun twice.
    for (let round = 0; round < 5; round++) {
      clock.pass(1_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(engine.begun.slice(1, 4).toSorted()).toEqual(beside.toSorted());
    expect(engine.begun.toSorted()).toEqual([...older, ...beside, suspect, due].toSorted());
  });

  test.each([1, 2])("nobody is blamed when no suspect was alone after %i unclean stops", async (uncleanStops) => {
    const clock = testClock();
    await leave(uncleanStops);
    await held(1, died, clock);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 1);
    expect(await blamed()).toEqual([]);
  });

  test("nobody is blamed for the end of a process that had begun the suspect no more", async () => {
    const clock = testClock();
    const [suspect] = await held(1, before, clock);
    await leave(2, suspect);
    await using engine = await begun(clock);
    await eventually(() => engine.begun.length === 1);
    expect(await blamed()).toEqual([]);
  });

  test.each([
    { others: 0, afterMs: 0, first: 0 },
    { others: 3, afterMs: 0, first: 1 },
    { others: 20, afterMs: 0, first: 10 },
    { others: 20, afterMs: 0, first: 20 },
    { others: 20, afterMs: 1_000, first: 7 },
    { others: 3, afterMs: 5_000, first: 3 },
  ])(
    "of $others others that never end none is blamed instead of number $first, which ends each process after $afterMs ms",
    async ({ others, afterMs, first }) => {
      const clock = testClock();
      const ids: RunId[] = [];
      for (let count = 0; count <= others; count++) ids.push(await insertRun(database, clock, { owner: died }));
      const bad = ids[first]!;
      await leave(0);
      let deaths = 0;
      for (let ended = false; !ended; deaths += ended ? 0 : 1) {
        expect(deaths).toBeLessThan(25);
        ended = await life(clock, bad, afterMs);
        expect((await blamed()).filter((id) => id !== bad)).toEqual([]);
      }
      // The second in a row, and five more with the run alone.
      expect(deaths).toBeGreaterThanOrEqual(6);
    },
  );

  /** One process until `bad` ends it; returns whether `bad` had been blamed five times instead. */
  async function life(clock: TestClock, bad: RunId, afterMs: number): Promise<boolean> {
    const over = Promise.withResolvers<boolean>();
    let entered = 0;
    const one = new Process(
      url,
      clock,
      {
        clock,
        advance: async ({ id, signal }) => {
          const [run] = await database.query("select blamed from runs where id = $1", [id]);
          if (run!["blamed"] === 5) over.resolve(true);
          else if (id === bad) clock.at(clock.now() + afterMs, () => over.resolve(false));
          signal.throwIfAborted();
          entered++;
          return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
        },
      },
      (options) => new EmbeddedEngine(options),
    );
    await one.start();
    // No time passes while a run that has begun is not claimed yet.
    const engine = one.engine as EmbeddedEngine<Fence>;
    const passing = setInterval(() => entered === engine.advancing && clock.pass(100), 5);
    await over.promise;
    clearInterval(passing);
    // Simulates a kill: undoes what its clean stop wrote.
    const [left] = await database.query("select * from executor");
    engine.interruptAll();
    await one[Symbol.asyncDispose]();
    await database.query("update executor set stopped_cleanly = false, unclean_stops = $1, suspect = $2", [
      left!["unclean_stops"],
      left!["suspect"],
    ]);
    return over.promise;
  }

  test("a process that has lived a minute has not died in a row", async () => {
    const clock = testClock();
    await leave(3);
    await using engine = await begun(clock);
    const stops = async (): Promise<number> =>
      (await database.query("select unclean_stops from executor"))[0]!["unclean_stops"];
    expect(await stops()).toBe(4);
    await eventually(engine.isRecovered);
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

describe("one process executes", () => {
  const clock = testClock();
  const processes: Process[] = [];
  afterEach(async () => {
    for (const one of processes.splice(0).toReversed()) await one[Symbol.asyncDispose]();
  });
  async function started(advance: ConstructorParameters<typeof Process>[2]["advance"]): Promise<Process> {
    const process = new Process(url, clock, { clock, advance }, (options) => new EmbeddedEngine(options));
    processes.push(process);
    await process.start();
    return process;
  }
  /** Advances the clock until the condition holds. */
  const until = (look: () => boolean | Promise<boolean>): Promise<unknown> =>
    eventually(async () => {
      const isSo = await look();
      if (!isSo) clock.pass(100);
      return isSo;
    });
  const done: Outcome = { kind: "done" };
  const statusOf = async (id: RunId): Promise<string> =>
    (await database.query("select status from runs where id = $1", [id]))[0]!["status"];

  test("of two processes one advances; the other takes over when it stops, and its wakes are never needed", async () => {
    const first = await started(() => done);
    const second = await started(() => done);
    expect([first.engine.executing, second.engine.executing]).toEqual([true, false]);
    const one = await insertRun(database, clock);
    second.engine.wake(one, { organizationId: newId() });
    await until(() => first.calls.length === 1);
    await first[Symbol.asyncDispose]();
    const two = await insertRun(database, clock);
    await until(() => second.calls.length === 1);
    expect([first.calls, second.calls]).toEqual([[one], [two]]);
  });

  test("losing the database's connection ends the work at once; when it is back, this process goes on", async () => {
    let aborted = 0;
    const process = await started(async ({ signal, call }) => {
      if (call > 1) return done;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted++;
      return { kind: "waiting" };
    });
    const id = await insertRun(database, clock);
    await until(() => process.calls.length === 1);
    await database.query(
      "update runs set epoch = epoch + 1 where id = $1", // the script's write must not look as if it had waited
      [id],
    );
    await database.query("select pg_terminate_backend(backend_pid) from executor");
    await until(() => aborted === 1);
    await until(async () => (await statusOf(id)) === "completed");
    const [executor] = await database.query("select unclean_stops from executor");
    expect(executor).toEqual({ unclean_stops: 0 });
    expect((await database.query("select blamed from runs where id = $1", [id]))[0]!["blamed"]).toBe(0);
  });
});

/** Passes time for looks, which are 20 ms apart, and too little for a sweep. */
function afterLooks(clock: TestClock, holds: () => boolean | Promise<boolean>): Promise<unknown> {
  let left = 2_000;
  return eventually(() => {
    if (left > 0) clock.pass(20);
    left -= 20;
    return holds();
  });
}

test("what found no place begins when there is one again, without a sweep", async () => {
  const clock = testClock();
  const places = new Places({ shared: 10, own: 1 });
  const opened = Promise.withResolvers<void>();
  const advance = async (): Promise<Outcome> => {
    await opened.promise;
    return { kind: "done" };
  };
  await using process = new Process(url, clock, { clock, places, advance }, (options) => {
    return new EmbeddedEngine(options);
  });
  await process.start();
  const others = newId<"organization">();
  for (let count = 0; count < 10; count++) places.take(others);
  for (const organizationId of [newId<"organization">(), newId<"organization">()]) {
    for (let count = 0; count < 8; count++) {
      process.engine.wake(await insertRun(database, clock, { organizationId }), { organizationId });
    }
  }
  await eventually(() => process.calls.length === 3);
  // Now there is room for all runs of either, but not of both.
  for (let count = 0; count < 10; count++) places.release(others);
  await afterLooks(clock, () => process.calls.length > 10);
  expect(process.calls.length).toBeLessThan(16);
  opened.resolve();
  await afterLooks(clock, () => process.calls.length === 16);
});

test("a run that has had its turn gives its place to another of its organization that waits for one", async () => {
  const clock = testClock();
  const places = new Places({ shared: 0, own: 1 });
  const ids: RunId[] = [];
  const advance = async ({ id }: { id: RunId }): Promise<Outcome> => {
    await new Promise(setImmediate);
    clock.pass(1);
    return { kind: id === ids[0] && process.calledFor(ids[1]!) === 0 ? "yield" : "done" };
  };
  await using process = new Process(url, clock, { clock, places, advance }, (options) => {
    return new EmbeddedEngine(options);
  });
  await process.start();
  const organizationId = newId<"organization">();
  for (let count = 0; count < 2; count++) ids.push(await insertRun(database, clock, { organizationId }));
  for (const id of ids) process.engine.wake(id, { organizationId });
  await afterLooks(clock, () => process.calledFor(ids[1]!) === 1);
  const open = "select id from runs where status <> 'completed'";
  await afterLooks(clock, async () => (await database.query(open)).length === 0);
});

describe("processes", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  async function start(): Promise<ChildProcess & { instanceId: string }> {
    const child = fork(bundled("engine/ticking.testsuite"), [url], { stdio: "inherit" });
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
      await eventually(async () => (await ticksOf(second)) > 3);
      expectInTime(performance.now() - began, 50_000);
      if (signal === "SIGSTOP") first.kill("SIGCONT");
      const count = await ticksOf(second);
      await eventually(async () => (await ticksOf(second)) > count + 20);
      const all = await ticks();
      const takenOver = all.findIndex(({ instance }) => instance === second.instanceId);
      expect(all.slice(takenOver).every(({ instance }) => instance === second.instanceId)).toBe(true);
      // The second continued from what the first had written.
      expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => index + 1));
      expect(await database.query("select owner from runs where id = $1", [id])).toEqual([
        { owner: second.instanceId },
      ]);
    },
  );
});
