import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { LiveTexts } from "../../execution/live-text.ts";
import { newId } from "../../lib/ids.ts";
import { Beats } from "../../fairness/pace.ts";
import { allOf } from "../../lib/reach.ts";
import { Hub } from "../../realtime/hub.ts";
import { Wakeup } from "../../realtime/stream.ts";
import type { Runs } from "../handle/runs.ts";
import { watchRunEvents } from "./watch-run-events.ts";
import { MAX_PART_CHARACTERS, WatchedTexts, type TextDelta } from "./watch-texts.ts";

test("a text that ends while it is looked at is sent once, as its last part", async () => {
  const runId = newId<"run">();
  const clock = testClock();
  const texts = new LiveTexts(new Beats(clock));
  const runs = { executions: { texts }, clock } as unknown as Runs;
  const kept: TextDelta[] = [];
  using watched = new WatchedTexts(runs, runId, new Wakeup(), (last) => kept.push(last));
  const text = texts.open(runId, 1, function* () {
    yield;
    return { look: ({ length }) => ({ clean: length, instead: undefined }) };
  });
  text.add("Hello");
  const sent: TextDelta[] = [];
  const send = async (): Promise<void> => {
    for (const due of watched.due()) {
      await due.look(() => undefined);
      sent.push(watched.take(due)!);
    }
  };
  await send();
  text.add(" world");
  // Long after the first part.
  clock.pass(1_000);
  await send();
  text.add("!");
  clock.pass(1_000);
  const [due] = watched.due();
  const looking = due!.look(() => undefined);
  text.complete();
  text[Symbol.dispose]();
  await looking;
  expect(watched.take(due!)).toBeUndefined();
  expect([...sent, ...kept].map((delta) => delta.text).join("")).toBe("Hello world!");
  expect(kept).toHaveLength(1);
});

test("a long text comes in parts, one at a time, and its rest with the step if more than a part of it is left at the end", async () => {
  const runId = newId<"run">();
  const clock = testClock();
  const texts = new LiveTexts(new Beats(clock));
  const runs = { executions: { texts } } as unknown as Runs;
  const wakeup = new Wakeup();
  const kept: TextDelta[] = [];
  using watched = new WatchedTexts(runs, runId, wakeup, (last) => kept.push(last));
  const long = "a" + "\u{1f600}".repeat(MAX_PART_CHARACTERS - 1) + "end";
  using text = texts.open(runId, 1, () => undefined);
  text.add(long);
  let got = "";
  while (got.length < long.length) {
    // The reader is woken for each.
    expect(await wakeup.wait(new AbortController().signal)).toBe(true);
    const [due] = watched.due();
    await due!.look(() => undefined);
    const { offset, text: part } = watched.take(due!)!;
    expect([offset, part.isWellFormed()]).toEqual([got.length, true]);
    expect(part.length).toBeLessThanOrEqual(MAX_PART_CHARACTERS);
    got += part;
    clock.pass(100);
  }
  expect(got).toBe(long);
  const keptOf = async (characters: number): Promise<number[]> => {
    const ending = texts.open(runId, 2, () => undefined);
    ending.add("x".repeat(characters));
    await ending.look(() => undefined);
    ending[Symbol.dispose]();
    return kept.splice(0).map((last) => last.text.length);
  };
  expect(await keptOf(MAX_PART_CHARACTERS)).toEqual([MAX_PART_CHARACTERS]);
  expect(await keptOf(MAX_PART_CHARACTERS + 1)).toEqual([]);
});

test("a reader that is slow keeps little of texts that ended, however many there are", async () => {
  const runId = newId<"run">();
  const clock = testClock();
  const texts = new LiveTexts(new Beats(clock));
  const hot = (name: string): Promise<object[]> =>
    Promise.resolve(name.startsWith("run_") ? [{ id: runId, revision: 1, status: "running" }] : []);
  const runs = {
    hub: new Hub(),
    clock,
    database: { months: new Set(), hot },
    executions: { rounds: { next: () => undefined }, texts },
  } as unknown as Runs;
  const leaving = new AbortController();
  const which = { runId, after: 1, withTexts: true };
  const events = await watchRunEvents(runs, allOf(newId()), which, leaving.signal);
  const write = async (text: string): Promise<void> => {
    using written = texts.open(runId, 1, () => undefined);
    written.add(text);
    await written.look(() => undefined);
  };
  const textOf = async (): Promise<string> => (await events.next()).value!.textDelta!.text;
  const first = textOf();
  // From its first look on it misses nothing.
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
  await write("first");
  expect(await first).toBe("first");
  for (let count = 0; count < 2; count++) await write("x".repeat(10_000));
  expect([await textOf(), await textOf()].map(({ length }) => length)).toEqual([10_000, 10_000]);
  for (let count = 0; count < 3; count++) await write("x".repeat(10_000));
  const next = textOf();
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
  await write("next");
  expect(await next).toBe("next");
  leaving.abort();
});
