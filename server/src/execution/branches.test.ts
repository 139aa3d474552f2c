import { expect, test, vi } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { Branches, type Rest, type Wait } from "./branches.ts";
import { newId } from "../lib/ids.ts";
import type { Scope } from "./scope.ts";

class Unloaded extends Error {}

/** `stays`: whether the run stays in memory when it rests. */
function open(unload?: () => Promise<never>, stays: (rest: Rest) => boolean = () => false) {
  const clock = testClock();
  const unloaded = vi.fn<(wakeAt: number | null, person: boolean) => void>();
  const noted: string[] = [];
  const branches = new Branches(clock, {
    stays,
    commit: async ({ person }) => void noted.push(person ? "paused" : "running"),
    unload: ({ wakeAt, person }) => {
      unloaded(wakeAt, person);
      return unload ? unload() : Promise.reject(new Unloaded());
    },
    resumed: () => noted.push("goes on"),
  });
  const controller = new AbortController();
  const scope = { signal: controller.signal, deadline: undefined } as unknown as Scope;
  return { clock, branches, unloaded, noted, scope, controller };
}

const settle = (): Promise<void> => new Promise(setImmediate);

test("when the last branch waits, the run is unloaded until the first of the ends", async () => {
  const { clock, branches, unloaded, scope } = open();
  branches.fork(2);
  const late = branches.wait({ until: clock.now() + 5_000, person: false }, scope);
  expect(unloaded).not.toHaveBeenCalled();
  const soon = branches.wait({ until: clock.now() + 3_000, person: true }, { ...scope, deadline: clock.now() + 2_000 });
  await expect(late).rejects.toThrow(Unloaded);
  await expect(soon).rejects.toThrow(Unloaded);
  expect(unloaded.mock.calls).toEqual([[clock.now() + 2_000, true]]);
});

test("a wait is over at its time while another branch goes on; the last to end leaves the others to be unloaded", async () => {
  const { clock, branches, unloaded, scope } = open();
  branches.fork(3);
  const soon = branches.wait({ until: clock.now() + 1_000, person: false }, scope);
  const late = branches.wait({ until: clock.now() + 9_000, person: false }, scope);
  clock.pass(1_000);
  await soon;
  branches.end();
  expect(unloaded).not.toHaveBeenCalled();
  branches.end();
  await expect(late).rejects.toThrow(Unloaded);
  expect(unloaded.mock.calls).toEqual([[clock.now() + 8_000, false]]);
});

test("a branch that looks again does so while others go on, and keeps no run from resting, nor wakes it", async () => {
  const { clock, branches, unloaded, scope } = open();
  branches.fork(2);
  const look = { until: null, person: false, lookAfterMs: 100 };
  const first = branches.wait(look, scope);
  clock.pass(100);
  await first;
  const second = branches.wait(look, scope);
  const late = branches.wait({ until: clock.now() + 5_000, person: false }, scope);
  clock.pass(100);
  await expect(second).rejects.toThrow(Unloaded);
  await expect(late).rejects.toThrow(Unloaded);
  expect(unloaded.mock.calls).toEqual([[clock.now() + 4_900, false]]);
});

test("a signal is looked for when somebody notices for it, and now and then", async () => {
  const { clock, branches, scope } = open();
  branches.fork(4);
  const [child, approval] = [newId<"run">(), newId<"approval">()];
  const looked: string[] = [];
  const within = { ...scope, deadline: clock.now() + 1e9 };
  const wait = (name: string, wait: Wait): Promise<unknown> =>
    branches.wait(wait, within).then(() => looked.push(name));
  void wait("child", { signal: child, until: null, person: false });
  void wait("approval", { signal: approval, until: clock.now() + 60_000, person: true });
  void wait("time", { until: clock.now() + 60_000, person: false });
  branches.notify(approval);
  branches.notify(approval);
  branches.notify(newId<"approval">());
  await settle();
  expect(looked).toEqual(["approval"]);
  void wait("approval", { signal: approval, until: null, person: true });
  clock.pass(5_000);
  await settle();
  expect(looked).toEqual(["approval", "child", "approval"]);
});

test("leaving the scope ends a wait with the scope's reason", async () => {
  const { branches, scope, controller } = open();
  branches.fork(2);
  const reason = new Error("left");
  const waiting = branches.wait({ until: null, person: true }, scope);
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(branches.wait({ until: null, person: true }, scope)).rejects.toBe(reason);
});

test("while the claim is given back nothing goes on: not a timer, not a notice, not a timeout", async () => {
  const unloading = Promise.withResolvers<never>();
  const { clock, branches, scope, controller } = open(() => unloading.promise);
  const wentOn = vi.fn<() => void>();
  const failed = vi.fn<(reason: unknown) => void>();
  branches.fork(3);
  const signal = newId<"approval">();
  for (const wait of [
    { until: clock.now() + 1_000, person: false },
    { signal, until: null, person: true },
  ])
    void branches.wait(wait, scope).then(wentOn, failed);
  branches.end();
  clock.pass(1_000);
  branches.notify(signal);
  controller.abort(new Error("timed out"));
  await settle();
  expect([wentOn.mock.calls, failed.mock.calls]).toEqual([[], []]);
  unloading.reject(new Unloaded());
  await settle();
  expect(wentOn).not.toHaveBeenCalled();
  expect(failed.mock.calls.map(([reason]) => reason)).toEqual([expect.any(Unloaded), expect.any(Unloaded)]);
});

test("a run that stays is committed once, asked for again each 250 ms, and goes on where it waits", async () => {
  let mayStay = true;
  const rests: Rest[] = [];
  const stays = (rest: Rest): boolean => {
    rests.push(rest);
    return mayStay;
  };
  const { clock, branches, unloaded, noted, scope } = open(undefined, stays);
  const start = clock.now();
  const signal = newId<"approval">();
  const decided = branches.wait({ signal, until: null, person: true }, scope);
  await settle();
  clock.pass(600);
  expect(noted).toEqual(["paused"]);
  expect(rests).toEqual(
    Array.from({ length: 3 }, () => ({
      wakeAt: null,
      person: true,
      isForSignal: true,
      isForMemory: false,
      since: start,
    })),
  );
  branches.notify(signal);
  await decided;
  expect(noted).toEqual(["paused", "goes on"]);

  const later = branches.wait({ until: start + 2_000, person: false }, scope);
  await settle();
  expect(rests.at(-1)).toEqual({
    wakeAt: start + 2_000,
    person: false,
    isForSignal: false,
    isForMemory: false,
    since: start + 600,
  });
  mayStay = false;
  expect(unloaded).not.toHaveBeenCalled();
  clock.pass(250);
  await expect(later).rejects.toThrow(Unloaded);
  expect(unloaded.mock.calls).toEqual([[start + 2_000, false]]);
});

test("who looks again and finds nothing has rested on", async () => {
  const rests: Rest[] = [];
  const { clock, branches, scope } = open(undefined, (rest) => rests.push(rest) > 0);
  const start = clock.now();
  const signal = newId<"run">();
  const again = branches.wait({ signal, until: null, person: false }, scope);
  await settle();
  clock.pass(5_000);
  await again;
  void branches.wait({ signal, until: null, person: false }, scope);
  expect(rests.at(-1)!.since).toBe(start);
});

test("a commit that fails while the run stays fails what waits", async () => {
  const clock = testClock();
  const lost = new Error("lost");
  const fails = (): Promise<never> => Promise.reject(lost);
  const branches = new Branches(clock, { stays: () => true, commit: fails, unload: fails, resumed: () => {} });
  const scope = { signal: new AbortController().signal, deadline: undefined } as unknown as Scope;
  await expect(branches.wait({ until: clock.now() + 1_000, person: false }, scope)).rejects.toBe(lost);
});

test("a commit that ends while the run is being unloaded does not have it unloaded once more", async () => {
  const clock = testClock();
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>();
  const { promise: gone, reject: unload } = Promise.withResolvers<never>();
  const unloads = vi.fn<() => Promise<never>>(() => gone);
  let stays = true;
  const resting = { stays: () => stays, commit: () => committed, unload: unloads, resumed: () => {} };
  const branches = new Branches(clock, resting);
  const scope = { signal: new AbortController().signal, deadline: undefined } as unknown as Scope;
  const first = branches.wait({ until: clock.now() + 10, person: false }, scope);
  clock.pass(10);
  await first;
  // Meanwhile somebody needs the room.
  stays = false;
  const second = branches.wait({ until: clock.now() + 60_000, person: false }, scope);
  commit();
  await settle();
  clock.pass(1_000);
  expect(unloads).toHaveBeenCalledTimes(1);
  unload(new Unloaded());
  await expect(second).rejects.toThrow(Unloaded);
});

test("of 9,900 that wait the others are looked at once in a turn of the event loop, however many end in it", async () => {
  const stays = vi.fn<(rest: Rest) => boolean>(() => true);
  const { branches, scope } = open(undefined, stays);
  const children = Array.from({ length: 9_900 }, () => newId<"run">());
  branches.fork(children.length);
  for (const signal of children) {
    void branches.wait({ signal, until: null, person: false }, scope).then(() => branches.end());
  }
  for (const child of children.slice(0, 9_000)) {
    branches.notify(child);
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(stays.mock.calls.length).toBe(0);
  await settle();
  await settle();
  expect(stays.mock.calls.length).toBe(1);
});

test("9,900 that one timeout ends are told so in many turns of the event loop, and meanwhile the run does not rest", async () => {
  const { clock, branches, scope, controller, unloaded } = open();
  branches.fork(9_901);
  const told = vi.fn<(reason: unknown) => void>();
  for (let count = 0; count < 9_900; count++) {
    void branches
      .wait({ until: clock.now() + 1_000, person: false }, scope)
      .catch(told)
      .finally(() => branches.end());
  }
  controller.abort(new Error("timed out"));
  for (let before = 0; before < 9_900; before = told.mock.calls.length) {
    await settle();
    expect(told.mock.calls.length - before).toBeLessThan(1_001);
    expect(told.mock.calls.length).toBeGreaterThan(before);
  }
  branches.end();
  await settle();
  expect(unloaded).not.toHaveBeenCalled();
});

test("10,000 that wait within one another leave in many turns of the event loop, each with the run's reason", async () => {
  const { clock, branches, scope } = open();
  branches.fork(10_000);
  const siblings = new AbortController();
  const reasons: unknown[] = [];
  const perTurn: number[] = [];
  let left = 0;
  const wait = async (): Promise<void> => {
    try {
      await branches.wait({ until: clock.now() + 60_000, person: false }, { ...scope, signal: siblings.signal });
    } catch (reason) {
      reasons.push(reason);
      left++;
      siblings.abort(new Error("another branch has failed"));
      branches.end();
    }
  };
  const all = Promise.all(Array.from({ length: 10_000 }, wait));
  while (reasons.length < 10_000) {
    await settle();
    perTurn.push(left);
    left = 0;
  }
  await all;
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(1_000);
  expect(reasons.every((reason) => reason instanceof Unloaded)).toBe(true);
});
