import { setImmediate as immediately } from "node:timers/promises";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { HeldBack, type Readable } from "./held-back.ts";

type Connection = Readable & { isPaused: boolean; destroyed: boolean };

const connection = (): Connection => ({
  isPaused: false,
  destroyed: false,
  pause() {
    this.isPaused = true;
  },
  resume() {
    this.isPaused = false;
  },
});
const of = (name: string, isStranger = false) => ({ name, isStranger });
const many = (count: number): Connection[] => Array.from({ length: count }, connection);
const paused = (connections: readonly Connection[]): number => connections.filter(({ isPaused }) => isPaused).length;

test("400 connections a second are read again, in their order, and each is told when", async () => {
  const clock = testClock();
  using held = new HeldBack(clock);
  const all = many(1_000);
  const told = all.map((one) => held.hold(of("a"), one));
  expect([told[0], told[399], told[400], told[999]]).toEqual([1, 1, 2, 3]);
  // Their answers are written first.
  expect(paused(all)).toBe(0);
  await immediately();
  expect([paused(all), held.size]).toEqual([1_000, 1_000]);
  await immediately();
  clock.pass(1_000);
  expect(paused(all)).toBe(600);
  expect(paused(all.slice(0, 400))).toBe(0);
  await immediately();
  clock.pass(1_500);
  expect([paused(all), held.size]).toEqual([0, 0]);
});

test("lines take turns: a line of few is read again soon, whatever another holds", async () => {
  const clock = testClock();
  using held = new HeldBack(clock);
  const [flood, few] = [many(10_000), many(20)];
  for (const one of flood) held.hold(of("flood"), one);
  const told = few.map((one) => held.hold(of("few"), one));
  expect(Math.max(...told)).toBe(1);
  await immediately();
  clock.pass(200);
  expect(paused(few)).toBe(0);
});

test("all strangers take the turns of one organization, and addresses take turns among them", async () => {
  const clock = testClock();
  using held = new HeldBack(clock);
  const addresses = Array.from({ length: 100 }, (_, address) => many(10).map((one) => ({ address, one })));
  const strangers = addresses.flat();
  for (const { address, one } of strangers) held.hold(of(`192.0.2.${address}`, true), one);
  const organization = many(100);
  const told = organization.map((one) => held.hold(of("organization"), one));
  expect(told.at(-1)).toBe(1);
  // 200 turns, half of them of strangers: each address has had one.
  await immediately();
  clock.pass(500);
  expect(paused(organization)).toBe(0);
  for (const address of addresses) expect(paused(address.map(({ one }) => one))).toBe(9);
});

test("a connection is held once, and a closed one takes no turn", async () => {
  const clock = testClock();
  using held = new HeldBack(clock);
  const [gone, left] = [many(1_000), connection()];
  for (const one of gone) {
    held.hold(of("a"), one);
    held.hold(of("a"), one);
  }
  held.hold(of("a"), left);
  expect(held.size).toBe(1_001);
  await immediately();
  for (const one of gone) one.destroyed = true;
  await immediately();
  clock.pass(25);
  expect([left.isPaused, held.size]).toEqual([false, 0]);
  // It may be refused again.
  held.hold(of("a"), left);
  await immediately();
  expect(left.isPaused).toBe(true);
});

test("a connection takes a turn for each refusal, and those of its line take theirs between", async () => {
  const clock = testClock();
  using held = new HeldBack(clock);
  const [eager, other] = [connection(), connection()];
  const told = Array.from({ length: 401 }, () => held.hold(of("a"), eager));
  expect([told[0], told[399], told[400]]).toEqual([1, 1, 2]);
  held.hold(of("a"), other);
  await immediately();
  clock.pass(25);
  await immediately();
  expect([eager.isPaused, other.isPaused]).toEqual([true, false]);
  clock.pass(975);
  await immediately();
  expect(eager.isPaused).toBe(true);
  clock.pass(25);
  await immediately();
  expect([eager.isPaused, held.size]).toEqual([false, 0]);
});
