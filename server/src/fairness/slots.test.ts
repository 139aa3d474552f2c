import { describe, expect, test } from "vitest";
import { seeded } from "../../../test/faults/random.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { Slots } from "./slots.ts";

const [one, two, three] = [newId(), newId(), newId()] as unknown as [OrganizationId, OrganizationId, OrganizationId];
const never = new AbortController().signal;

/** The holders of slots, in the order of being granted. */
function queueing(slots: Slots): {
  granted: string[];
  take(who: OrganizationId, name: string, signal?: AbortSignal): void;
} {
  const granted: string[] = [];
  return {
    granted,
    take: (who, name, signal = never) => void slots.take(who, signal).then((has) => has && granted.push(name)),
  };
}
const settle = (): Promise<void> => new Promise(setImmediate);

describe("slots", () => {
  test("no more than there are, and none of an organization beyond its share", () => {
    const slots = new Slots(10, 0.9);
    expect(Array.from({ length: 12 }, () => slots.tryTake(one))).toEqual([...Array(9).fill(true), false, false, false]);
    expect([slots.free, slots.leftOf(one), slots.leftOf(two)]).toEqual([1, 0, 9]);
    expect([slots.tryTake(two), slots.tryTake(three)]).toEqual([true, false]);
    expect([slots.free, slots.leftOf(two)]).toEqual([0, 8]);
  });

  test("organizations take turns, whatever each has queued", async () => {
    const slots = new Slots(2);
    slots.tryTake(one);
    slots.tryTake(two);
    const { granted, take } = queueing(slots);
    for (const name of ["1a", "1b", "1c"]) take(one, name);
    for (const name of ["2a", "2b"]) take(two, name);
    take(three, "3a");
    expect(slots.contended).toBe(true);
    const holders = [one, two, one, two, three, one];
    for (const holder of holders) {
      slots.release(holder);
      await settle();
    }
    expect(granted).toEqual(["1a", "2a", "3a", "1b", "2b", "1c"]);
    expect(slots.contended).toBe(false);
  });

  test("who gives up is passed over", async () => {
    const slots = new Slots(1);
    slots.tryTake(one);
    const { granted, take } = queueing(slots);
    const leaving = new AbortController();
    take(two, "leaves", leaving.signal);
    take(two, "stays");
    take(three, "aborted before", AbortSignal.abort());
    leaving.abort();
    slots.release(one);
    await settle();
    expect(granted).toEqual(["stays"]);
    slots.release(two);
    expect(slots.tryTake(three)).toBe(true);
  });

  test("a slot that is free is not taken past those who wait for one", async () => {
    const slots = new Slots(10, 0.9);
    for (let count = 0; count < 9; count++) slots.tryTake(one);
    const { granted, take } = queueing(slots);
    take(one, "waits");
    await settle();
    expect([granted, slots.tryTake(one), slots.tryTake(two)]).toEqual([[], false, true]);
  });

  test("a slot that is given back is free again, also for its organization's share", async () => {
    const slots = new Slots(4, 0.5);
    expect([await slots.take(one), await slots.take(one, never), slots.tryTake(one)]).toEqual([true, true, false]);
    slots.release(one);
    expect([slots.tryTake(one), slots.tryTake(one)]).toEqual([true, false]);
    expect([slots.tryTake(two), slots.tryTake(two), slots.tryTake(three)]).toEqual([true, true, false]);
    for (const who of [one, one, two, two]) slots.release(who);
    expect([one, one, one, two, two, three].map((who) => slots.tryTake(who))).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
  });

  test("who has its share waits on, and the next organization has the slot", async () => {
    const slots = new Slots(3, 0.5);
    for (const who of [one, one, two]) slots.tryTake(who);
    const granted: string[] = [];
    // Without a signal.
    void slots.take(one).then(() => granted.push("1"));
    void slots.take(two).then(() => granted.push("2"));
    slots.release(two);
    await settle();
    expect([granted, slots.contended]).toEqual([["2"], true]);
    slots.release(one);
    await settle();
    expect([granted, slots.contended]).toEqual([["2", "1"], false]);
  });

  test("when the last of an organization gives up, nobody waits", async () => {
    const slots = new Slots(1);
    slots.tryTake(one);
    const leaving = new AbortController();
    const taken = slots.take(two, leaving.signal);
    leaving.abort();
    expect([await taken, slots.contended]).toEqual([false, false]);
    slots.release(one);
    expect(slots.tryTake(two)).toBe(true);
  });

  test("who gives up after it had its slot takes nobody else's place", async () => {
    const slots = new Slots(1);
    slots.tryTake(one);
    const { granted, take } = queueing(slots);
    const late = new AbortController();
    take(two, "first", late.signal);
    slots.release(one);
    await settle();
    take(two, "second");
    late.abort();
    slots.release(two);
    await settle();
    expect(granted).toEqual(["first", "second"]);
  });

  test("in any order of taking, giving up and releasing, nobody waits for a slot that it may have", async () => {
    const random = seeded("slots");
    const slots = new Slots(4, 0.5);
    const taken = { [one]: 0, [two]: 0, [three]: 0 };
    const waiting: { who: OrganizationId; abort: AbortController }[] = [];
    const ask = async (who: OrganizationId): Promise<void> => {
      const own = { who, abort: new AbortController() };
      waiting.push(own);
      const has = await slots.take(who, own.abort.signal);
      waiting.splice(waiting.indexOf(own), 1);
      if (has) taken[who]!++;
    };
    for (let step = 0; step < 3_000; step++) {
      const who = random.pick([one, two, three]);
      const what = random.pick(["take", "take", "release", "release", "abort", "settle"]);
      if (what === "take" && waiting.length < 20) void ask(who);
      else if (what === "release" && taken[who]! > 0) {
        taken[who]!--;
        slots.release(who);
      } else if (what === "abort" && waiting.length > 0) random.pick(waiting).abort.abort();
      // Several of them happen before anybody hears of the first.
      if (what !== "settle") continue;
      await settle();
      const all = taken[one]! + taken[two]! + taken[three]!;
      expect(slots.waiting).toBe(waiting.length);
      expect([all <= 4, Math.max(...Object.values(taken)) <= 2]).toEqual([true, true]);
      expect(waiting.filter(({ who: waits }) => all < 4 && taken[waits]! < 2)).toEqual([]);
    }
  });
});
