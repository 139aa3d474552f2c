/**
 * A model check of those who watch or wait for one run: its commits, the notices of them, what the database answers and when,
 * and how fast the watcher reads come in an order drawn from a seed, which a failure names. A notice may be late, doubled or lost;
 * one that says "changed" comes some time after the last, as from the regular look for what was missed.
 */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { randomFrom, type Random } from "../../../../test/faults/random.ts";
import type { Change } from "../../execution/journal/loaded-run.ts";
import { isFinal } from "../../execution/run/states.ts";
import type { Clock } from "../../lib/clock.ts";
import type { OrganizationId, RunId } from "../../lib/ids.ts";
import { allOf } from "../../lib/reach.ts";
import { Hub } from "../../realtime/hub.ts";
import type { Row } from "../../storage/database.ts";
import type { Runs } from "../handle/runs.ts";
import { untilSettled } from "./wait-for-run.ts";
import { Waits } from "../handle/waits.ts";
import { watchRunEvents } from "./watch-run-events.ts";
import { watchRun } from "./watch-run.ts";

const ID = "01a21a9e-1c99-76a2-819c-fc481c7b250d" as RunId;
const ORGANIZATION = "01a21a9e-1c99-76a2-819c-fc481c7b250e" as OrganizationId;
const SEEDS = 300;
const MAX_COMMITS = 12;
/** Ticks, by which everything here is timed. */
const LONG = 12;
const FAR = 1_000_000;

type Status = "running" | "paused" | "completed";
type StepNow = { number: number; status: "running" | "completed"; revision: number };

/** The run in the database, with all that it ever was. */
class ModelRun {
  revision = 0;
  status: Status = "running";
  readonly steps = new Map<number, StepNow>();
  /** By revision: what was written with it. */
  readonly history = new Map<number, string>();

  /** Writes what one commit of the product would, and returns its notice. */
  commit(random: Random, isLast: boolean): Change {
    const changed: StepNow[] = [];
    for (let count = random.between(0, 3); count > 0; count--) {
      const open = [...this.steps.values()].filter(({ status }) => status === "running");
      const number = open.length > 0 && random.next() < 0.5 ? random.pick(open).number : this.steps.size + 1;
      if (changed.some((step) => step.number === number)) continue;
      const status = this.steps.has(number) || isLast ? "completed" : "running";
      const step: StepNow = { number, status, revision: ++this.revision };
      this.steps.set(number, step);
      this.history.set(step.revision, shownStep(step));
      changed.push(step);
    }
    this.status = isLast ? "completed" : random.next() < 0.2 ? "paused" : "running";
    this.revision++;
    this.history.set(this.revision, this.status);
    const head = { ...runRow(this), revision: this.revision, status: this.status };
    return { head, steps: changed.map(stepRow), approvals: [] } as unknown as Change;
  }
}

const shownStep = ({ number, status }: Pick<StepNow, "number" | "status">): string => `step ${number} ${status}`;
const runRow = ({ revision, status }: ModelRun): Row => ({
  id: ID,
  organization_id: ORGANIZATION,
  revision,
  status,
  input: {},
  output: null,
  error: null,
  input_text: "{}",
  output_text: null,
  output_bytes: null,
  error_text: null,
  error_bytes: null,
});
const NO_PAYLOADS = Object.fromEntries(
  ["input", "output", "error", "response", "caught"].flatMap((name) => [
    [name, null],
    [`${name}_text`, null],
    [`${name}_bytes`, null],
  ]),
);
const stepRow = (step: StepNow): Row => ({ ...NO_PAYLOADS, ...step, run_id: ID, kind: "set", state: null });

class World {
  readonly run = new ModelRun();
  readonly random: Random;
  readonly hub: Runs["hub"] = new Hub();
  readonly #waits = new Waits();
  now = 0;

  constructor(seed: number) {
    this.random = randomFrom(seed);
  }

  async pause(most = LONG): Promise<void> {
    for (let left = this.random.between(0, most); left > 0; left--) await turn();
  }

  /** A read takes its time before and after its look-up. */
  async #read(name: string, values: unknown[]): Promise<Row[]> {
    await this.pause();
    const rows = this.#rows(name, values).map((row) => ({ ...row }));
    await this.pause();
    return rows;
  }

  #rows(name: string, values: unknown[]): Row[] {
    if (name.startsWith("run_")) return [runRow(this.run)];
    const steps = [...this.run.steps.values()];
    if (name.startsWith("steps_after_")) {
      const [after, most] = values.slice(2) as [number, number];
      const newer = steps.filter(({ revision }) => revision > after);
      return newer
        .toSorted((a, b) => a.revision - b.revision)
        .slice(0, most)
        .map(stepRow);
    }
    if (name.startsWith("steps_")) return steps.map(stepRow);
    throw new Error(`the model knows no statement ${name}`);
  }

  readonly #clock: Clock = {
    now: () => this.now,
    // A pause of the watcher is some ticks; the time limit of a wait never comes.
    at: (at, fire) => {
      const ending = new AbortController();
      if (at - this.now < FAR) void this.pause().then(() => ending.signal.aborted || fire());
      return { [Symbol.dispose]: () => ending.abort() };
    },
  };

  get runs(): Runs {
    return {
      hub: this.hub,
      clock: this.#clock,
      waits: this.#waits,
      database: {
        months: new Set(),
        hot: (name: string, _sql: string, values: unknown[]) => this.#read(name, values),
      },
      executions: { rounds: { next: () => (this.random.next() < 0.3 ? this.pause() : undefined) } },
    } as unknown as Runs;
  }

  /** Commits until the end. Each is told of in its order, or not at all. */
  async live(): Promise<void> {
    const { random, hub } = this;
    const commits = random.between(1, MAX_COMMITS);
    let telling = Promise.resolve();
    for (let count = 1; count <= commits; count++) {
      await this.pause();
      const change = this.run.commit(random, count === commits);
      const way = random.next();
      const tell = async (): Promise<void> => {
        await this.pause(2);
        if (way < 0.6) hub.publish(ID, change);
        else if (way < 0.8) hub.publish(ID, "changed");
        if (way < 0.1) hub.publish(ID, "changed");
      };
      telling = telling.then(tell);
      if (random.next() < 0.5) await telling;
    }
    await telling;
    await this.pause(3 * LONG);
    hub.publish(ID, "changed");
  }

  /** Reads to the end, at its own pace. */
  async readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
    const all: Item[] = [];
    const most = this.random.between(0, 1) * LONG;
    for await (const item of items) {
      all.push(item);
      await this.pause(most);
    }
    return all;
  }
}

async function watchEvents(world: World): Promise<void> {
  await world.pause(4 * LONG);
  const after = world.random.next() < 0.5 ? world.run.revision : world.random.between(0, world.run.revision);
  const watching = await watchRunEvents(
    world.runs,
    allOf(ORGANIZATION),
    { runId: ID, after, withTexts: false },
    new AbortController().signal,
  );
  const events = await world.readAll(watching);
  const shown = events.map(({ revision, run, step }) => [revision, run ? run.status : shownStep(step as StepNow)]);
  expectRising(
    after,
    shown.map(([revision]) => revision as number),
  );
  for (const [revision, what] of shown) expect(world.run.history.get(revision as number)).toBe(what);
  // The newest of each, and the end, if there was anything left to show.
  const newest = [...world.run.steps.values()].filter(({ revision }) => revision > after);
  expect(newest.filter(({ revision }) => !events.some((event) => event.revision === revision))).toEqual([]);
  if (after < world.run.revision) expect(shown.at(-1)).toEqual([world.run.revision, "completed"]);
}

async function watchStates(world: World): Promise<void> {
  await world.pause(4 * LONG);
  const watching = await watchRun(world.runs, allOf(ORGANIZATION), ID, new AbortController().signal);
  const states = await world.readAll(watching);
  expectRising(
    -1,
    states.map(({ revision }) => revision),
  );
  for (const { revision, status } of states.slice(1)) expect(world.run.history.get(revision)).toBe(status);
  expect(states.at(-1)).toMatchObject({ revision: world.run.revision, status: "completed" });
}

/** Listens from before the first commit or from later on, and asks for the result after some time. */
async function waitForIt(world: World): Promise<void> {
  if (world.random.next() < 0.5) await world.pause(4 * LONG);
  using waiting = untilSettled(world.runs, { organizationId: ORGANIZATION, id: ID }, FAR, undefined);
  await world.pause();
  const { run, steps } = await waiting.result();
  if (isFinal(run.status)) {
    expect(steps?.map(shownStep as never)).toEqual([...world.run.steps.values()].map(shownStep));
  } else {
    // One that went on while it was read is shown as it is then.
    expect(["paused", "running"]).toContain(run.status);
  }
  expect(world.run.history.get(run.revision)).toBe(run.status);
}

function expectRising(from: number, revisions: readonly number[]): void {
  const all = [from, ...revisions];
  expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
}

test(`a watcher sees all of a run and its end, and a wait ends with it, in ${SEEDS} orders`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const world = new World(seed);
    let open = 5;
    const closed = (): number => open--;
    const watchers = [watchEvents(world), watchEvents(world), watchStates(world), watchStates(world), waitForIt(world)];
    const all = Promise.all(watchers.map((watcher) => watcher.then(closed)));
    await Promise.all([world.live(), Promise.race([all, stands(world)])]).catch((error: unknown) => {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    });
    expect(open, `seed ${seed}: watchers that never end`).toBe(0);
    expect([...world.hub.topics()], `seed ${seed}: subscriptions that are left`).toEqual([]);
  }
});

/** Resolves when the run has been over for so long that nothing more comes. */
async function stands(world: World): Promise<void> {
  for (let left = 400; left > 0; left--) {
    if (world.run.status !== "completed") left = 400;
    await turn();
  }
}
