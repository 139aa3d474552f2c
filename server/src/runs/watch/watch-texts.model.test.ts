/**
 * A model check of those who watch the texts of a run: parts that come, secrets that begin in them, ends, cancels and second attempts,
 * subscribers that join, read slowly, leave and come back, and the clock, in an order drawn from a seed, which a failure names.
 */
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock, type TestClock } from "../../../../test/clock.ts";
import { randomFrom, type Random } from "../../../../test/faults/random.ts";
import { LiveTexts, type LiveText } from "../../execution/live-text.ts";
import type { OrganizationId, RunId } from "../../lib/ids.ts";
import { Beats } from "../../fairness/pace.ts";
import { allOf } from "../../lib/reach.ts";
import { Hub } from "../../realtime/hub.ts";
import type { Runs } from "../handle/runs.ts";
import { watchRunEvents } from "./watch-run-events.ts";

const ID = "01a21a9e-1c99-76a2-819c-fc481c7b250d" as RunId;
const ORGANIZATION = "01a21a9e-1c99-76a2-819c-fc481c7b250e" as OrganizationId;
const SEEDS = 300;
const ACTS = 60;
/** Longer than any part waits. */
const LONG_MS = 200;
const NAMES = ["input", "output", "error"].flatMap((name) => [name, `${name}_text`, `${name}_bytes`]);
const ROW = {
  ...Object.fromEntries(NAMES.map((name) => [name, null])),
  id: ID,
  organization_id: ORGANIZATION,
  revision: 1,
  status: "running",
};

/** Holds back what begins a secret, as the real search does. */
const SECRET = "<secret>";
const search = {
  look(text: string) {
    const at = text.indexOf(SECRET);
    if (at >= 0) return { clean: at, instead: "[redacted]" };
    let held = Math.min(text.length, SECRET.length - 1);
    while (!SECRET.startsWith(text.slice(text.length - held))) held--;
    return { clean: text.length - held, instead: undefined };
  },
};
const shownOf = (raw: string): string => raw.replace(/<secret>[^]*$/, "[redacted]");
const PARTS = ["a", "Good ", "<sec", "ret>", "<", "secret>", "\n", "morning", "<secre"];

/** `shown`: when it ended, all that could be shown of it. */
type Written = {
  text: LiveText;
  number: number;
  raw: string;
  end: "open" | "whole" | "broken";
  shown?: string;
};

class Subscriber {
  /** By number of step: what the parts add up to. */
  readonly texts = new Map<number, string>();
  readonly times: number[] = [];
  readonly #leaving = new AbortController();
  readonly done: Promise<void>;

  constructor(runs: Runs, clock: TestClock, wait: () => Promise<void>) {
    this.done = this.#read(runs, clock, wait);
    // Awaited when it leaves.
    this.done.catch(() => {});
  }

  async #read(runs: Runs, clock: TestClock, wait: () => Promise<void>): Promise<void> {
    const which = { runId: ID, after: 1, withTexts: true };
    for await (const { textDelta } of await watchRunEvents(runs, allOf(ORGANIZATION), which, this.#leaving.signal)) {
      const { stepNumber, offset, text } = textDelta!;
      const before = offset === 0 ? "" : (this.texts.get(stepNumber) ?? "");
      if (offset !== before.length) throw new Error(`a part at ${offset} follows on ${before.length} characters`);
      this.texts.set(stepNumber, before + text);
      this.times.push(clock.now());
      await wait();
    }
  }

  leave(): Promise<void> {
    this.#leaving.abort();
    return this.done;
  }
}

class World {
  readonly clock = testClock();
  readonly written: Written[] = [];
  subscribers: Subscriber[] = [];
  /** Those who were there when it ended, by text. */
  readonly readersOf = new Map<Written, Subscriber[]>();
  readonly #random: Random;
  readonly #texts = new LiveTexts(new Beats(this.clock));
  readonly #runs: Runs;

  constructor(random: Random) {
    this.#random = random;
    const rounds = { next: () => (random.next() < 0.2 ? this.#ticks(2) : undefined) };
    const hot = (name: string): Promise<object[]> => Promise.resolve(name.startsWith("run_") ? [ROW] : []);
    this.#runs = {
      hub: new Hub(),
      clock: this.clock,
      database: { months: new Set(), hot },
      executions: { rounds, texts: this.#texts },
    } as unknown as Runs;
  }

  async #ticks(most: number): Promise<void> {
    for (let left = this.#random.between(0, most); left > 0; left--) await turn();
  }

  async act(): Promise<void> {
    const kind = this.#random.next();
    const open = this.written.filter(({ end }) => end === "open");
    if (kind < 0.1 || open.length === 0) this.#open();
    else if (kind < 0.55) this.#add(this.#random.pick(open));
    else if (kind < 0.6) this.#end(this.#random.pick(open), "whole");
    else if (kind < 0.65) this.#end(this.#random.pick(open), "broken");
    else if (kind < 0.75) await this.#join();
    else if (kind < 0.8 && this.subscribers.length > 0) await this.subscribers.splice(0, 1)[0]!.leave();
    else this.clock.pass(this.#random.between(0, 40));
    if (this.#random.next() < 0.6) await this.#ticks(6);
  }

  /** Also a step that asks again. */
  #open(): void {
    const free = this.written.filter(({ end, number }) => end === "broken" && !this.#isOpen(number));
    const again = free.length > 0 && this.#random.next() < 0.5 ? this.#random.pick(free) : undefined;
    const number = again?.number ?? this.written.length + 1;
    const text = this.#texts.open(ID, number, function* () {
      yield;
      return search;
    });
    this.written.push({ text, number, raw: "", end: "open" });
  }

  #isOpen(number: number): boolean {
    return this.written.some((one) => one.number === number && one.end !== "broken");
  }

  #add(written: Written): void {
    const part = this.#random.pick(PARTS);
    written.raw += part;
    written.text.add(part);
  }

  #end(written: Written, end: "whole" | "broken"): void {
    if (end === "whole") written.text.complete();
    written.end = end;
    this.readersOf.set(written, [...this.subscribers]);
    written.text[Symbol.dispose]();
    written.shown = written.text.from(0);
  }

  async #join(): Promise<void> {
    const isSlow = this.#random.next() < 0.3;
    const subscriber = new Subscriber(this.#runs, this.clock, () => this.#ticks(isSlow ? 20 : 0));
    this.subscribers.push(subscriber);
    // From its first look on it misses nothing.
    for (let left = 10; left > 0; left--) await turn();
  }

  /** All that is under way arrives. */
  async settle(): Promise<void> {
    for (let times = 0; times < 5; times++) {
      for (let left = 60; left > 0; left--) await turn();
      this.clock.pass(LONG_MS);
    }
    for (let left = 60; left > 0; left--) await turn();
  }
}

async function follow(seed: number): Promise<void> {
  const world = new World(randomFrom(seed));
  for (let left = ACTS; left > 0; left--) await world.act();
  await world.settle();
  const { subscribers } = world;
  await Promise.all(subscribers.map((subscriber) => subscriber.leave()));
  for (const written of world.written) {
    const { end, number, raw, text, shown: all = text.from(0) } = written;
    // It ended before anybody could look, or may begin a secret.
    if (all === "") continue;
    const isLast = world.written.findLast((one) => one.number === number) === written;
    const readers = end === "open" ? subscribers : world.readersOf.get(written)!;
    for (const subscriber of isLast ? readers.filter((one) => subscribers.includes(one)) : []) {
      const shown = subscriber.texts.get(number) ?? "";
      expect(shown).toBe(all);
      if (end === "whole") expect(all).toBe(shownOf(raw));
      else expect(shownOf(raw).startsWith(all)).toBe(true);
    }
  }
}

test(`a subscriber has all of each text and each part once, in ${SEEDS} orders`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++)
    await follow(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
});
