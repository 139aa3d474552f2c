import { describe, expect, test } from "vitest";
import { newId, type OrganizationId } from "./ids.ts";
import { Slots } from "./slots.ts";

const [one, two, three] = [newId(), newId(), newId()] as unknown as [OrganizationId, OrganizationId, OrganizationId];
const never = new AbortController().signal;

/** Who was granted a slot, in order. */
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
    expect([slots.tryTake(two), slots.tryTake(three)]).toEqual([true, false]);
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
});
