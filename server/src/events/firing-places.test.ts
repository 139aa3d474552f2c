import { expect, test } from "vitest";
import { newId, type OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { FiringPlaces } from "./firing-places.ts";

test("one organization gets half of the bytes for firing events, the next one half of the rest", () => {
  const places = new FiringPlaces();
  const [one, two] = [newId<"organization">(), newId<"organization">()];
  const MB = 1024 * 1024;
  const taken = (id: OrganizationId): number => {
    let count = 0;
    while (places.tryTake(id, MB)) count++;
    return count;
  };
  expect([taken(one), taken(two)]).toEqual([LIMITS.eventsFiringBytes / MB / 2, LIMITS.eventsFiringBytes / MB / 4]);
  places.release(one, MB);
  places.release(one, MB);
  expect(taken(two)).toBe(1);
});

test("an event that finds no place takes neither bytes nor a place, and one that is fired gives back both", () => {
  const places = new FiringPlaces();
  const id = newId<"organization">();
  for (let count = 0; count < LIMITS.eventsFiringOwn; count++)
    expect(places.tryTake(id, LIMITS.eventsFiringBytes)).toBe(false);
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < LIMITS.eventsFiringOwn; count++) expect(places.tryTake(id, 1)).toBe(true);
    expect(places.tryTake(id, 1)).toBe(false);
    for (let count = 0; count < LIMITS.eventsFiringOwn; count++) places.release(id, 1);
  }
});
