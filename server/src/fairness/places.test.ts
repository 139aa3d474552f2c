import { describe, expect, test } from "vitest";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { Places } from "./places.ts";

const organization = (): OrganizationId => newId<"organization">();

/** Takes one place after the other until there is none; returns how many it got. */
function fill(places: Places, organizationId: OrganizationId): number {
  let taken = 0;
  while (places.tryTake(organizationId)) taken++;
  return taken;
}

describe("places in memory", () => {
  test("one organization alone has its own and nine tenths of the shared ones", () => {
    const places = new Places({ shared: 1_000, own: 8 });
    const one = organization();
    expect(places.room(one)).toBe(908);
    expect(fill(places, one)).toBe(908);
    expect(places.room(one)).toBe(0);
  });

  test.each([2, 20, 1_000])(
    "with %i organizations that take all they can the next one has its own, and places are bounded",
    (count) => {
      const places = new Places({ shared: 1_000, own: 8 });
      const taken = Array.from({ length: count }, () => fill(places, organization()));
      expect(Math.min(...taken)).toBeGreaterThanOrEqual(8);
      expect(taken.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(1_000 + 8 * count);
      expect(fill(places, organization())).toBeGreaterThanOrEqual(8);
    },
  );

  test("room is what can be taken one by one, whatever is taken", () => {
    const places = new Places({ shared: 50, own: 2 });
    const all = Array.from({ length: 6 }, organization);
    for (const one of all) {
      const room = places.room(one);
      expect(fill(places, one)).toBe(room);
    }
  });

  test("as places are given back, those with fewer get them: all come to about the same", () => {
    const places = new Places({ shared: 1_000, own: 8 });
    const all = Array.from({ length: 20 }, organization);
    const taken = new Map(all.map((one) => [one, fill(places, one)]));
    for (let round = 0; round < 5_000; round++) {
      // The organization with the most places ends a run; the next one in line takes the place.
      const most = all.toSorted((a, b) => taken.get(b)! - taken.get(a)!)[0]!;
      places.release(most);
      taken.set(most, taken.get(most)! - 1);
      for (const one of all) if (places.tryTake(one)) taken.set(one, taken.get(one)! + 1);
    }
    const counts = [...taken.values()];
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(9);
    expect(Math.min(...counts)).toBeGreaterThan(45);
  });

  test("a new run does not go past those of its organization that wait; turns go round", () => {
    const places = new Places({ shared: 10, own: 1 });
    const [one, two, three] = [organization(), organization(), organization()];
    for (const waiting of [one, two]) places.wait(waiting);
    expect([places.tryTake(one), places.tryTake(three)]).toEqual([false, true]);
    expect(places.turns().map(({ organizationId }) => organizationId)).toEqual([one, two]);
    expect(places.tryTakeWaiting(one)).toBe(true);
    expect(places.turns().map(({ organizationId }) => organizationId)).toEqual([two, one]);
    places.leave(two);
    expect(places.tryTake(two)).toBe(true);
  });

  test("only those that wait and have room have a turn, and only for them it is told that a place is free", () => {
    const places = new Places({ shared: 0, own: 1 });
    let told = 0;
    places.freed = () => told++;
    const [one, two] = [organization(), organization()];
    places.tryTake(one);
    places.release(one);
    expect(told).toBe(0);
    places.tryTake(one);
    places.wait(one);
    expect(places.turns()).toEqual([]);
    places.wait(two);
    expect(places.turns()).toEqual([{ organizationId: two, room: 1 }]);
    places.release(one);
    expect(told).toBe(1);
  });

  test("a place is of use to others when it is a shared one, or when its own organization waits", () => {
    const places = new Places({ shared: 10, own: 1 });
    const [one, two, three] = [organization(), organization(), organization()];
    places.tryTake(one);
    places.tryTake(two);
    places.tryTake(two);
    expect(places.contended(two)).toBe(false);
    places.wait(three);
    expect([places.contended(one), places.contended(two)]).toEqual([false, true]);
    places.wait(one);
    expect(places.contended(one)).toBe(true);
  });

  test("what must be in memory has a place beyond all; the others wait for it, and each has its own still", () => {
    const places = new Places({ shared: 10, own: 1 });
    const [one, two] = [organization(), organization()];
    for (let count = 0; count < 31; count++) places.take(one);
    expect(fill(places, two)).toBe(1);
    for (let count = 0; count < 21; count++) places.release(one);
    expect(places.room(two)).toBe(1);
  });
});
