/**
 * A model check of the clock that fires what is due: an hour of virtual time in which triggers are made, changed, locked and removed,
 * processes are killed and replaced, and the database takes its time before and after each statement, fails, and keeps an
 * answer back. Schedules are drawn from a seed, which a failure names. The database is a model of the clock's four statements.
 */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { randomFrom } from "../../../../test/faults/random.ts";
import type { Clock } from "../../lib/clock.ts";
import type { OrganizationId, TriggerId } from "../../lib/ids.ts";
import type { Log } from "../../lib/log/log.ts";
import { LoopWatch } from "../../lib/loops/loop-watch.ts";
import { noNotices } from "../../realtime/notices.ts";
import type { Database, Row } from "../../storage/database.ts";
import type { Trigger } from "../store/trigger.ts";
import { DueClock } from "./due-clock.ts";

const MINUTE = 60_000;
const MINUTES = 60;
const HOUR = MINUTES * MINUTE;
const START = Date.UTC(2026, 10, 21, 12);
const TRIGGERS = 12;

/** Virtual time: what is due comes one after the other, each when all that followed from the one before has come to rest. */
class Time {
  now = START;
  readonly #due: { at: number; fire: () => void }[] = [];

  at(at: number, fire: () => void): Disposable {
    const entry = { at: Math.max(at, this.now), fire };
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#due[middle]!.at > entry.at) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, entry);
    return { [Symbol.dispose]: () => void (entry.fire = () => {}) };
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.at(this.now + ms, resolve));
  }

  async runUntil(end: number): Promise<void> {
    for (let next = this.#due.at(-1); next && next.at <= end; next = this.#due.at(-1)) {
      this.#due.pop();
      this.now = next.at;
      next.fire();
      // A batch gathers for one turn of the event loop; promises are settled between two turns.
      await turn();
      await turn();
    }
    this.now = end;
  }
}

type Kept = {
  id: TriggerId;
  organizationId: OrganizationId;
  everyMs: number;
  nextDueAt: number;
  wakesAt: number;
  lockedUntil: number;
};

/** The database, and the effect of each statement of the clock on it, as one step. */
class Tables {
  readonly triggers = new Map<TriggerId, Kept>();
  readonly firings = new Set<string>();
  readonly faults: string[] = [];
  readonly #time: Time;

  constructor(time: Time) {
    this.#time = time;
  }

  execute(name: string, values: unknown[]): Row[] {
    if (name === "triggers_first_due") return this.#firstDue(values[0] as number);
    if (name === "triggers_take_due") return this.#takeDue(...(values as [number, number, string[], number[]]));
    if (name === "triggers_next_due") return this.#nextDue(values[0] as Buffer);
    throw new Error(`the model knows no ${name}`);
  }

  #inOrder(): Kept[] {
    return [...this.triggers.values()].toSorted((one, other) => one.wakesAt - other.wakesAt);
  }

  #firstDue(now: number): Row[] {
    const due = this.#inOrder().filter(({ wakesAt }) => wakesAt <= now);
    const next = this.#inOrder().find(({ wakesAt }) => wakesAt > now);
    const rows = due.map(({ organizationId }) => ({ organization_id: organizationId, wakes_at: null }));
    return next ? [...rows, { organization_id: null, wakes_at: new Date(next.wakesAt) }] : rows;
  }

  #takeDue(now: number, until: number, organizations: string[], most: number[]): Row[] {
    const taken = organizations.flatMap((organizationId, index) =>
      this.#inOrder()
        .filter((one) => one.organizationId === organizationId && one.wakesAt <= now)
        .filter(({ lockedUntil }) => lockedUntil <= this.#time.now)
        .slice(0, most[index]),
    );
    for (const one of taken) one.wakesAt = until;
    return taken.map(({ id, organizationId, nextDueAt }) => ({
      id,
      organization_id: organizationId,
      next_due_at: new Date(nextDueAt),
      created_by_kind: "system",
    }));
  }

  #nextDue(rows: Buffer): Row[] {
    return columnsOfRows(rows).flatMap(([, element, ...times]) => {
      const id = uuidOf(element!);
      const one = this.triggers.get(id);
      if (!one || one.lockedUntil > this.#time.now) return [];
      const [dueAt, nextDueAt, wakesAt] = times.map(timeOf) as [number, number, number];
      if (one.nextDueAt === dueAt) {
        if (nextDueAt !== dueAt && !this.firings.has(keyOf(id, dueAt)))
          this.faults.push(`${keyOf(id, dueAt)} was left out`);
        Object.assign(one, { nextDueAt, wakesAt });
      }
      return [{ id }];
    });
  }
}

const keyOf = (id: string, due: number): string => `${id} ${new Date(due).toISOString()}`;

/** Reads a binary array of composites: after each length stand how many columns, then of each its type, its length and its bytes. */
function columnsOfRows(array: Buffer): Buffer[][] {
  const rows: Buffer[][] = [];
  for (let at = 20; at < array.length;) {
    const end = at + 4 + array.readInt32BE(at);
    const columns: Buffer[] = [];
    for (at += 8; at < end;) {
      const bytes = array.readInt32BE(at + 4);
      columns.push(array.subarray(at + 8, at + 8 + bytes));
      at += 8 + bytes;
    }
    rows.push(columns);
  }
  return rows;
}

/** From microseconds since 2000. */
const timeOf = (bytes: Buffer): number => Number(bytes.readBigInt64BE()) / 1_000 + Date.UTC(2000);

const uuidOf = (bytes: Buffer): TriggerId =>
  bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") as TriggerId;

/** How the world behaves. */
type Weather = { isCalm: boolean; longestMs: number; random: () => number };

/** Most answers come at once, some after seconds, a few after as long as there may be. */
function delayMs({ isCalm, longestMs, random }: Weather): number {
  const kind = random();
  if (isCalm || kind < 0.9) return random() * 20;
  return kind < 0.99 ? random() * 2_000 : random() * longestMs;
}

/** One process with a clock: nothing that it waits for comes any more once it is killed. */
class Process {
  isAlive = true;
  mayFire = true;
  readonly due: DueClock;
  readonly watch: LoopWatch;
  readonly late: string[] = [];
  readonly #time: Time;
  readonly #tables: Tables;
  readonly #weather: Weather;
  readonly #firing = new Set<string>();

  constructor(time: Time, tables: Tables, weather: Weather) {
    this.#time = time;
    this.#tables = tables;
    this.#weather = weather;
    const clock: Clock = { now: () => time.now, at: (at, fire) => time.at(at, () => this.isAlive && fire()) };
    const log = { warn: () => {}, info: () => {}, error: (_: object, text: string) => this.late.push(text) };
    const hot = (name: string, _text: string, values: unknown[]): Promise<Row[]> =>
      this.#ask(() => tables.execute(name, values));
    const database = { hot } as unknown as Database;
    this.due = new DueClock({ database, clock, log: log as unknown as Log, notices: noNotices });
    this.watch = new LoopWatch({ clock, log: log as unknown as Log });
    this.watch.add(this.due.loop);
    this.due.start(
      (trigger) => this.#fire(trigger),
      () => this.mayFire,
    );
    const beat = (): void => {
      if (!this.isAlive) return;
      this.watch.look();
      time.at(time.now + 1_000, beat);
    };
    beat();
  }

  /** A statement: it takes effect at some time, its answer comes later, or an error instead of one of the two. */
  async #ask<Answer>(statement: () => Answer): Promise<Answer> {
    const { random, isCalm } = this.#weather;
    await this.#time.pause(delayMs(this.#weather));
    // A statement that was sent before the kill arrives all the same, or not.
    if (!this.isAlive && random() < 0.5) return new Promise(() => {});
    if (!isCalm && random() < 0.01) throw new Error("the connection was lost");
    const answer = statement();
    await this.#time.pause(delayMs(this.#weather));
    if (!this.isAlive) return new Promise(() => {});
    if (!isCalm && random() < 0.01) throw new Error("the answer was lost");
    return answer;
  }

  async #fire({ id, nextDueAt }: Trigger): Promise<{ next_due_at: number; wakes_at: number }> {
    const { faults, firings, triggers } = this.#tables;
    const due = nextDueAt!.getTime();
    const key = keyOf(id, due);
    if (this.#firing.has(key)) faults.push(`${key} was fired twice at the same time`);
    if (due > this.#time.now) faults.push(`${key} was fired before its time`);
    this.#firing.add(key);
    try {
      await this.#ask(() => firings.add(key));
      const next = due + (triggers.get(id)?.everyMs ?? HOUR);
      return { next_due_at: next, wakes_at: next };
    } finally {
      this.#firing.delete(key);
    }
  }

  kill(): void {
    this.isAlive = false;
  }
}

/** The acts of people and machines on it. */
class World {
  readonly time = new Time();
  readonly tables = new Tables(this.time);
  readonly #weather: Weather;
  #made = 0;
  readonly #organizations = Array.from({ length: 3 }, () => this.#newId() as OrganizationId);
  #processes: Process[] = [];

  constructor(seed: number, longestMs: number) {
    this.#weather = { random: randomFrom(seed).next, isCalm: false, longestMs };
    for (let count = 0; count < TRIGGERS; count++) this.#make();
    for (let count = 1 + this.#below(3); count > 0; count--) this.#start();
    this.#later(() => this.#change(), 4_000);
    this.#later(() => this.#replace(), 2 * MINUTE);
    this.#later(() => this.#hold(), 20_000);
    this.#atFullMinutes();
  }

  get late(): string[] {
    return this.#processes.flatMap(({ late }) => late);
  }

  /** How long ago the most belated instant was due that has not fired. */
  get behindMs(): number {
    return Math.max(0, ...Array.from(this.tables.triggers.values(), ({ nextDueAt }) => this.time.now - nextDueAt));
  }

  /** Nothing happens any more, and every answer comes at once. */
  calmDown(): void {
    this.#weather.isCalm = true;
    for (const process of this.#processes) process.mayFire = true;
  }

  /** The same with the same seed, as turns are taken in the order of ids. */
  #newId(): string {
    return `00000000-0000-4000-8000-${String(++this.#made).padStart(12, "0")}`;
  }

  #below(most: number): number {
    return Math.floor(this.#weather.random() * most);
  }

  #one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.#below(items.length)];
  }

  /** Again and again, about so far apart. */
  #later(work: () => void, ms: number): void {
    this.time.at(this.time.now + this.#weather.random() * 2 * ms, () => {
      if (this.#weather.isCalm) return;
      work();
      this.#later(work, ms);
    });
  }

  #start(): void {
    this.#processes.push(new Process(this.time, this.tables, this.#weather));
  }

  #replace(): void {
    const killed = this.#one(this.#processes);
    killed?.kill();
    this.#processes = this.#processes.filter((one) => one !== killed);
    this.time.at(this.time.now + this.#below(3) * 10_000, () => this.#start());
  }

  #nextOf(everyMs: number): number {
    return (Math.floor(this.time.now / everyMs) + 1) * everyMs;
  }

  #make(): void {
    const everyMs = MINUTE * (1 + this.#below(3));
    const [id, organizationId] = [this.#newId() as TriggerId, this.#one(this.#organizations)!];
    const at = this.#nextOf(everyMs);
    this.tables.triggers.set(id, { id, organizationId, everyMs, nextDueAt: at, wakesAt: at, lockedUntil: 0 });
  }

  #change(): void {
    const { triggers } = this.tables;
    const one = this.#one([...triggers.values()]);
    const what = this.#below(5);
    if (what === 0 && triggers.size < 2 * TRIGGERS) this.#make();
    if (what === 1 && one && triggers.size > TRIGGERS / 2) triggers.delete(one.id);
    if (what === 2 && one) {
      one.everyMs = MINUTE * (1 + this.#below(3));
      one.nextDueAt = one.wakesAt = this.#nextOf(one.everyMs);
    }
    // Others are told, some only by their own look.
    for (const { due, isAlive } of this.#processes) if (isAlive && this.#below(5) > 0) due.look();
  }

  /** A transaction has a trigger locked, or a process takes no runs. */
  #hold(): void {
    const one = this.#one([...this.tables.triggers.values()]);
    if (one) one.lockedUntil = this.time.now + this.#below(3_000);
    const process = this.#one(this.#processes);
    if (!process || this.#below(4) > 0) return;
    process.mayFire = false;
    this.time.at(this.time.now + 5_000, () => (process.mayFire = true));
  }

  /** As a deployment that changes triggers around a full minute. */
  #atFullMinutes(minute = START + MINUTE): void {
    this.time.at(minute - 20, () => {
      if (this.#weather.isCalm) return;
      this.#atFullMinutes(minute + MINUTE);
      if (this.#below(2) > 0) return;
      for (let ms = 0; ms < 1_500; ms += 1 + this.#below(70)) {
        this.time.at(this.time.now + ms, () => {
          for (const { due, isAlive } of this.#processes) if (isAlive) due.look();
        });
      }
    });
  }
}

/** `behindMs`: how late what is due may be at any minute of the hour. Then nothing more happens, and all must have fired. */
async function liveThrough(seed: number, longestMs: number, behindMs: number): Promise<World> {
  const world = new World(seed, longestMs);
  for (let minute = 1; minute <= MINUTES; minute++) {
    await world.time.runUntil(START + minute * MINUTE - 1);
    expect(world.behindMs, `seed ${seed}, minute ${minute}: ms behind`).toBeLessThan(behindMs);
  }
  expect(world.tables.firings.size, `seed ${seed}: firings`).toBeGreaterThan(4 * MINUTES);
  world.calmDown();
  await world.time.runUntil(START + (MINUTES + 5) * MINUTE - 1);
  expect(world.tables.faults, `seed ${seed}`).toEqual([]);
  expect(world.behindMs, `seed ${seed}: ms behind at the end`).toBe(0);
  return world;
}

test("an hour of changes, kills and slow answers: each instant fires once, and the clock goes on without its watch", async () => {
  for (let seed = 1; seed <= 4; seed++) {
    const world = await liveThrough(seed, 12_000, 2 * MINUTE);
    expect(world.late, `seed ${seed}`).toEqual([]);
  }
});

test("the same with answers that take up to two minutes: the watch starts it over, and a late answer does no harm", async () => {
  let late = 0;
  for (let seed = 101; seed <= 104; seed++) late += (await liveThrough(seed, 2 * MINUTE, 8 * MINUTE)).late.length;
  expect(late).toBeGreaterThan(0);
});
