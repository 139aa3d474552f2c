/**
 * The contract that every engine must meet (`engine.ts`): `describeEngine("embedded", {...})`. Uses a real PostgreSQL and
 * a clock that the test moves. A script of outcomes stands in for the interpreter and claims as the real one does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../test/client.ts";
import { testClock, type TestClock } from "../../../test/clock.ts";
import { sharedPostgres, type SharedPostgres } from "../../../test/postgres.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { newId, type InstanceId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { createLog } from "../lib/log/log.ts";
import { Places } from "../fairness/places.ts";
import { openDatabase, type Database } from "../storage/database.ts";
import type { Advance, Begun, Engine, Outcome } from "./engine.ts";
import type { ClaimedRow, SqlEngineOptions } from "./sql-engine.ts";

const ORGANIZATION = newId() as unknown as OrganizationId;

/** More places than a test needs. */
export const manyPlaces = (): Places => new Places({ shared: 1_000, own: 8 });

/** The fence of a claimed run. */
export type Fence = { epoch: number; wakeSeq: number };
export const FENCE: ClaimedRow<Fence> = {
  columns: ["epoch", "wake_seq"],
  of: (row) => ({ epoch: row["epoch"], wakeSeq: row["wake_seq"] }),
};

/** Opens an engine that is to meet the contract. */
type OpenEngine = (options: SqlEngineOptions<Fence>) => Engine<Fence>;

/** One process: its engine, and the calls of `advance` that it got. */
export class Process implements AsyncDisposable {
  readonly instanceId = newId<"instance">();
  readonly database: Database;
  readonly engine: Engine<Fence>;
  readonly calls: RunId[] = [];
  readonly #script: Script;
  #isFrozen = false;
  #ended = false;

  constructor(url: string, clock: Clock, script: Script, open: OpenEngine) {
    this.database = openDatabase({
      connection: { connectionString: url },
      isEmbedded: false,
      log: createLog("silent"),
    });
    this.#script = script;
    this.engine = open({
      database: this.database,
      clock: { now: () => clock.now(), at: (time, fire) => clock.at(time, () => this.#isFrozen || fire()) },
      log: createLog("silent"),
      instanceId: this.instanceId,
      places: script.places ?? manyPlaces(),
      claimed: FENCE,
    });
  }

  start = (): Promise<void> => this.engine.start(this.#advance);

  /** From now on none of its timers fires, as in a stopped process: it no longer proves that it lives. */
  freeze = (): void => void (this.#isFrozen = true);

  calledFor = (id: RunId): number => this.calls.filter((one) => one === id).length;

  #advance: Advance<Fence> = async ({ runId: id, signal, throws, claim }) => {
    const fence = await claim();
    if (!fence) return { kind: "lost" };
    return this.#play(id, signal, throws, fence);
  };

  /** Starts a run like a caller's start that the engine lets begin. */
  async startRun(): Promise<RunId | undefined> {
    const id = newId<"run">();
    const begun = this.engine.begin({ id, organizationId: ORGANIZATION });
    begun?.advances(this.#playUnwritten(id, begun));
    return begun && id;
  }

  async #playUnwritten(id: RunId, { owner, signal }: Begun): Promise<Outcome> {
    await insertRun(this.database, this.#script.clock, { id, owner });
    return this.#play(id, signal, 0, { epoch: 1, wakeSeq: 0 });
  }

  async #play(id: RunId, signal: AbortSignal, throws: number, fence: Fence): Promise<Outcome> {
    this.calls.push(id);
    const outcome = await this.#script.advance({ id, signal, call: this.calledFor(id), throws });
    return (await this.#write(id, fence, outcome)) ? outcome : { kind: "lost" };
  }

  async #write(id: RunId, { epoch, wakeSeq }: Fence, outcome: Outcome): Promise<boolean> {
    const now = new Date(this.#script.clock.now());
    const until = outcome.kind === "yield" ? now : outcome.kind === "waiting" ? outcome.until : undefined;
    const rows = await this.database.query(
      outcome.kind === "done"
        ? `update runs set status = 'completed', finished_at = created_at, owner = null, wake_at = null
            where id = $1 and epoch = $2 returning id`
        : `update runs set owner = null, wake_at = case when wake_seq = $3 then $4::timestamptz else $5 end
            where id = $1 and epoch = $2 returning id`,
      outcome.kind === "done" ? [id, epoch] : [id, epoch, wakeSeq, until ?? null, now],
    );
    return rows.length > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.engine[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}

/** `call` counts from 1 within this process; `throws` is the engine's count. */
type Call = { id: RunId; signal: AbortSignal; call: number; throws: number };
type Script = { clock: Clock; places?: Places; advance: (call: Call) => Promise<Outcome> | Outcome };

const done: Outcome = { kind: "done" };

export type EngineWorld = {
  clock: TestClock;
  url: string;
  /** The test's own connection. */
  database: Database;
  /** Opens a process, not started yet. */
  process(advance: Script["advance"]): Process;
  /** An open run: due now, at a time, or held by an instance. */
  insert(state?: { wakeAt?: number; owner?: InstanceId }): Promise<RunId>;
  statusOf(id: RunId): Promise<string>;
  /** The columns that a decision writes before it wakes the run. */
  makeDue(id: RunId): Promise<unknown>;
  /** Advances the clock, 100 ms at a time, until the condition holds. */
  until<Value>(look: () => Value | Promise<Value>): Promise<NonNullable<Value>>;
};

export function describeEngine(name: string, open: OpenEngine): void {
  describe(`${name} engine`, () => {
    let postgres: SharedPostgres;
    let url: string;
    let world: EngineWorld;
    const stack: AsyncDisposable[] = [];
    beforeAll(async () => {
      postgres = await sharedPostgres();
      url = await postgres.createMigrated();
    });
    afterAll(() => postgres[Symbol.asyncDispose]());
    beforeEach(() => {
      world = makeWorld(url, open, stack);
    });
    afterEach(async () => {
      for (const one of stack.splice(0).toReversed()) await one[Symbol.asyncDispose]();
      await empty(url);
    });
    const started = async (advance: Script["advance"]): Promise<Process> => {
      const process = world.process(advance);
      await process.start();
      return process;
    };

    test("each due run is advanced once, whether somebody says so or not; a finished one never again", async () => {
      const process = await started(() => done);
      const ids = await Promise.all(Array.from({ length: 50 }, () => world.insert()));
      for (const id of ids.slice(0, 10)) process.engine.wake(id, { organizationId: ORGANIZATION });
      const statuses = async (): Promise<string[]> => [...new Set(await Promise.all(ids.map(world.statusOf)))];
      await world.until(async () => (await statuses()).join() === "completed");
      for (const id of ids) process.engine.wake(id, { organizationId: ORGANIZATION });
      for (const id of ids) process.engine.wake(id, { organizationId: ORGANIZATION });
      process.engine.wake(newId(), { organizationId: ORGANIZATION });
      world.clock.pass(20_000);
      await sleep(200);
      expect(process.calls.toSorted()).toEqual(ids.toSorted());
      expect(await statuses()).toEqual(["completed"]);
    });

    test("a run is advanced by one call at a time, however often it is woken; a wake meanwhile is not lost", async () => {
      let running = 0;
      let most = 0;
      let release = (): void => {};
      const process = await started(async ({ call }) => {
        most = Math.max(most, ++running);
        if (call === 1) await new Promise<void>((resolve) => (release = resolve));
        running--;
        return call < 2 ? { kind: "waiting" } : done;
      });
      const id = await world.insert();
      for (let count = 0; count < 20; count++) process.engine.wake(id, { organizationId: ORGANIZATION });
      await world.until(() => running === 1);
      for (let count = 0; count < 20; count++) process.engine.wake(id, { organizationId: ORGANIZATION });
      await world.makeDue(id);
      process.engine.wake(id, { organizationId: ORGANIZATION });
      release();
      // The clock stands still: no sweep helps.
      await eventually(async () => (await world.statusOf(id)) === "completed");
      expect({ most, calls: process.calledFor(id) }).toEqual({ most: 1, calls: 2 });
    });

    test("a run that waits is advanced when its time has come, not before; one that waits for a signal when it is woken", async () => {
      const process = await started(({ id, call }) => {
        if (call > 1) return done;
        return id === timed ? { kind: "waiting", until: new Date(start + 3_600_000) } : { kind: "waiting" };
      });
      const start = world.clock.now();
      const timed = await world.insert();
      const signalled = await world.insert();
      await world.until(() => process.calls.length === 2);
      world.clock.pass(3_590_000 - (world.clock.now() - start));
      await sleep(100);
      expect(process.calls).toHaveLength(2);
      world.clock.pass(10_001);
      await world.until(() => process.calledFor(timed) === 2);
      expect(process.calledFor(signalled)).toBe(1);
      await world.makeDue(signalled);
      process.engine.wake(signalled, { organizationId: ORGANIZATION });
      await world.until(async () => (await world.statusOf(signalled)) === "completed");
      expect(process.calledFor(signalled)).toBe(2);
    });

    test("a run that yields is advanced again at once; a claim that is refused counts as nothing", async () => {
      const process = await started(({ call }) => ({ kind: call < 5 ? "yield" : "done" }));
      const id = await world.insert();
      const held = await world.insert({ wakeAt: world.clock.now() + 1e9 });
      process.engine.wake(held, { organizationId: ORGANIZATION });
      process.engine.wake(id, { organizationId: ORGANIZATION });
      await world.until(async () => (await world.statusOf(id)) === "completed");
      expect([process.calledFor(id), process.calledFor(held)]).toEqual([5, 0]);
      expect(await world.statusOf(held)).toBe("running");
    });

    test("after a throw it is advanced again, later each time, the others meanwhile", async () => {
      const at: number[] = [];
      const process = await started(({ id }) => {
        if (id !== broken) return done;
        at.push(world.clock.now());
        if (at.length < 6) throw new Error("as it should");
        return done;
      });
      const broken = await world.insert();
      process.engine.wake(broken, { organizationId: ORGANIZATION });
      await world.until(() => at.length === 3);
      const other = await world.insert();
      process.engine.wake(other, { organizationId: ORGANIZATION });
      await world.until(async () => (await world.statusOf(other)) === "completed");
      await world.until(async () => (await world.statusOf(broken)) === "completed");
      const pauses = at.slice(1).map((time, index) => time - at[index]!);
      for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThanOrEqual(100 * 2 ** index);
      expect(process.calledFor(broken)).toBe(6);
    });

    test("says how many throws in a row came before; an outage is none of them, and what is between two rows ends one", async () => {
      const outage = Object.assign(new Error("as it should"), { code: "ECONNREFUSED" });
      const full = new Refusal("UNAVAILABLE", "as it should");
      const bug = new Error("as it should");
      const answers = [bug, outage, bug, full, bug, "yield", bug, done] as const;
      const counted: number[] = [];
      const process = await started(({ call, throws }) => {
        counted.push(throws);
        const answer = answers[call - 1]!;
        if (answer instanceof Error) throw answer;
        return answer === "yield" ? { kind: "yield" } : answer;
      });
      const id = await world.insert();
      process.engine.wake(id, { organizationId: ORGANIZATION });
      await world.until(async () => (await world.statusOf(id)) === "completed");
      expect(counted).toEqual([0, 1, 1, 2, 2, 3, 0, 1]);
    });

    test("interrupt aborts the run's signal, and no other's", async () => {
      const aborted: RunId[] = [];
      const process = await started(async ({ id, signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        aborted.push(id);
        return done;
      });
      const [one, two] = [await world.insert(), await world.insert()];
      await world.until(() => process.calls.length === 2);
      process.engine.interrupt(one);
      process.engine.interrupt(newId());
      await world.until(() => aborted.length === 1);
      await sleep(50);
      expect(aborted).toEqual([one]);
      process.engine.interrupt(two);
    });

    test("stopping waits for what is under way and begins nothing more; a run in a pause after a throw holds nothing up", async () => {
      const finish = Promise.withResolvers<Outcome>();
      const process = await started(({ id }) => {
        if (id === broken) throw new Error("as it should");
        return finish.promise;
      });
      const broken = await world.insert();
      const slow = await world.insert();
      await world.until(() => process.calledFor(broken) > 3 && process.calledFor(slow) === 1);
      const late = await world.insert({ wakeAt: world.clock.now() + 60_000 });
      let stopped = false;
      const stopping = process.engine[Symbol.asyncDispose]().then(() => (stopped = true));
      await sleep(100);
      expect(stopped).toBe(false);
      finish.resolve(done);
      await stopping;
      world.clock.pass(120_000);
      process.engine.wake(late, { organizationId: ORGANIZATION });
      await sleep(50);
      expect(process.calledFor(late)).toBe(0);
      expect([await world.statusOf(slow), await world.statusOf(broken)]).toEqual(["completed", "running"]);
    });

    test("what was open at a clean stop goes on at the next start: held, due and waiting", async () => {
      const first = await started(() => ({ kind: "waiting", until: new Date(world.clock.now() + 1_000) }));
      const waiting = await world.insert();
      await world.until(() => first.calls.length === 1);
      await first[Symbol.asyncDispose]();
      const held = await world.insert({ owner: first.instanceId });
      const due = await world.insert();
      world.clock.pass(3_600_000);
      const second = await started(() => done);
      await world.until(() => second.calls.length === 3);
      expect(second.calls.toSorted()).toEqual([waiting, held, due].toSorted());
    });

    test("of two processes each due run is advanced by one; the other goes on with all when it stops, without a wake", async () => {
      const first = await started(() => done);
      const second = await started(() => done);
      const ids = await Promise.all(Array.from({ length: 30 }, () => world.insert()));
      for (const id of ids) for (const { engine } of [first, second]) engine.wake(id, { organizationId: ORGANIZATION });
      await world.until(() => first.calls.length + second.calls.length >= 30);
      expect([...first.calls, ...second.calls].toSorted()).toEqual(ids.toSorted());
      await first[Symbol.asyncDispose]();
      const late = await world.insert();
      await world.until(() => second.calledFor(late) === 1);
      expect(first.calledFor(late)).toBe(0);
    });

    test("a run that is begun while it is written is advanced by that call, and goes on from the table", async () => {
      const release = Promise.withResolvers<Outcome>();
      const process = await started(({ call }) => (call === 1 ? release.promise : done));
      const id = (await process.startRun())!;
      await world.until(() => process.calls.length === 1);
      process.engine.wake(id, { organizationId: ORGANIZATION });
      world.clock.pass(20_000);
      await sleep(100);
      expect(process.calls).toEqual([id]);
      release.resolve({ kind: "yield" });
      await world.until(async () => (await world.statusOf(id)) === "completed");
      expect(process.calledFor(id)).toBe(2);
    });

    test("one that is begun and never written is forgotten; one that is interrupted learns of it; stopping waits for it", async () => {
      const process = await started(() => done);
      process.engine.begin({ id: newId(), organizationId: ORGANIZATION })!.advances(Promise.resolve({ kind: "lost" }));
      const ended = Promise.withResolvers<Outcome>();
      const id = newId<"run">();
      const begun = process.engine.begin({ id, organizationId: ORGANIZATION })!;
      process.engine.interrupt(id);
      expect(begun.signal.aborted).toBe(true);
      begun.advances(ended.promise);
      let stopped = false;
      const stopping = process.engine[Symbol.asyncDispose]().then(() => (stopped = true));
      expect(process.engine.begin({ id: newId(), organizationId: ORGANIZATION })).toBeUndefined();
      await sleep(100);
      expect(stopped).toBe(false);
      ended.resolve({ kind: "lost" });
      await stopping;
      expect(process.engine.begin({ id: newId(), organizationId: ORGANIZATION })).toBeUndefined();
      expect(process.calls).toEqual([]);
    });

    test("a run whose process died is taken up by another, which its late writes do not reach", async () => {
      const stuck = Promise.withResolvers<Outcome>();
      const first = await started(() => stuck.promise);
      const id = await world.insert();
      await world.until(() => first.calls.length === 1);
      // As if its process had stood still: nothing renews the proof that it lives.
      first.freeze();
      const second = await started(() => done);
      await world.until(async () => (await world.statusOf(id)) === "completed");
      expect(second.calls).toEqual([id]);
      stuck.resolve({ kind: "waiting" });
      await sleep(50);
      expect(await world.statusOf(id)).toBe("completed");
    });
  });
}

/** The tables that an engine and these tests write. A copy of the migrated database would cost 0.1 s of processor time. */
const WRITTEN = "delete from runs; delete from executor; drop table if exists leases, ticks";

/** For the next test: ends the sessions of processes that were killed, and with them their locks, and takes out what was written. */
export async function empty(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const others = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
  await eventually(async () => (await client.query(others)).rowCount === 0);
  await client.query(WRITTEN);
  await client.end();
}

function makeWorld(url: string, open: OpenEngine, stack: AsyncDisposable[]): EngineWorld {
  const clock = testClock();
  const database = openDatabase({ connection: { connectionString: url }, isEmbedded: false, log: createLog("silent") });
  stack.push(database);
  return {
    clock,
    url,
    database,
    process(advance) {
      const process = new Process(url, clock, { clock, advance }, open);
      stack.push(process);
      return process;
    },
    insert: (state) => insertRun(database, clock, state),
    makeDue: (id) =>
      database.query("update runs set wake_at = least(wake_at, $2), wake_seq = wake_seq + 1 where id = $1", [
        id,
        new Date(clock.now()),
      ]),
    statusOf: async (id) => (await database.query("select status from runs where id = $1", [id]))[0]!["status"],
    until: (look) =>
      eventually(async () => {
        const value = await look();
        if (!value) clock.pass(100);
        return value;
      }, 30_000),
  };
}

export async function insertRun(
  database: Database,
  clock: Clock,
  {
    id = newId<"run">(),
    wakeAt = clock.now(),
    owner,
    organizationId = ORGANIZATION,
  }: { id?: RunId; wakeAt?: number; owner?: InstanceId; organizationId?: OrganizationId } = {},
): Promise<RunId> {
  await database.query(
    `insert into runs (id, organization_id, project_id, agent_id, version, status, started_by_kind, started_by_id, input,
       created_at, started_at, revision, progress, epoch, owner, wake_at, wake_seq)
     values ($1, $2, $2, $2, '1.0.0', 'running', 'user', $2, '{}', $3, $3, 1, 0, 1, $4, $5, 0)`,
    [id, organizationId, new Date(clock.now()), owner ?? null, owner ? null : new Date(wakeAt)],
  );
  return id;
}
