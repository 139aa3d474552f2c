import { expect, test, vi } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { Branches } from "./branches.ts";
import type { Scope } from "./scope.ts";

class Unloaded extends Error {}

function open(unload?: () => Promise<never>) {
  const clock = testClock();
  const unloaded = vi.fn<(wakeAt: number | null, person: boolean) => void>();
  const branches = new Branches(clock, (wakeAt, person) => {
    unloaded(wakeAt, person);
    return unload ? unload() : Promise.reject(new Unloaded());
  });
  const controller = new AbortController();
  const scope = { signal: controller.signal, deadline: undefined } as unknown as Scope;
  return { clock, branches, unloaded, scope, controller };
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

test("a signal is looked for when somebody knocks, and now and then", async () => {
  const { clock, branches, scope } = open();
  branches.fork(4);
  let looks = 0;
  for (const wait of [
    { until: null, person: false },
    { until: clock.now() + 60_000, person: true },
  ])
    void branches.wait(wait, { ...scope, deadline: clock.now() + 1e9 }).then(() => looks++);
  const timed = vi.fn<() => void>();
  void branches.wait({ until: clock.now() + 60_000, person: false }, scope).then(timed);
  branches.knock();
  await settle();
  expect([looks, timed.mock.calls.length]).toEqual([2, 0]);
  void branches.wait({ until: null, person: false }, scope).then(() => looks++);
  clock.pass(5_000);
  await settle();
  expect([looks, timed.mock.calls.length]).toEqual([3, 0]);
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

test("while the claim is given back nothing goes on: not a timer, not a knock, not a timeout", async () => {
  const unloading = Promise.withResolvers<never>();
  const { clock, branches, scope, controller } = open(() => unloading.promise);
  const wentOn = vi.fn<() => void>();
  const failed = vi.fn<(reason: unknown) => void>();
  branches.fork(3);
  for (const wait of [
    { until: clock.now() + 1_000, person: false },
    { until: null, person: true },
  ])
    void branches.wait(wait, scope).then(wentOn, failed);
  branches.end();
  clock.pass(1_000);
  branches.knock();
  controller.abort(new Error("timed out"));
  await settle();
  expect([wentOn.mock.calls, failed.mock.calls]).toEqual([[], []]);
  unloading.reject(new Unloaded());
  await settle();
  expect(wentOn).not.toHaveBeenCalled();
  expect(failed.mock.calls.map(([reason]) => reason)).toEqual([expect.any(Unloaded), expect.any(Unloaded)]);
});
