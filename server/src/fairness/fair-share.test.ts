import { describe, expect, test } from "vitest";
import { FairShare } from "./fair-share.ts";
import { newId, type OrganizationId } from "../lib/ids.ts";

const organization = (): OrganizationId => newId<"organization">();

/** Takes one byte at a time until none is left. */
function fill(budget: FairShare, organizationId: OrganizationId | undefined): number {
  while (budget.tryTake(organizationId, 1));
  return budget.takenBy(organizationId);
}

describe("a budget of bytes", () => {
  test("gives one organization half of all, and the next one half of the rest", () => {
    const budget = new FairShare(1_200);
    const [first, second] = [organization(), organization()];
    expect(fill(budget, first)).toBe(600);
    expect(fill(budget, second)).toBe(300);
    budget.give(first, 600);
    expect(fill(budget, second)).toBe(600);
  });

  test("has room for one more, whatever any number of others take", () => {
    const budget = new FairShare(21_000);
    const others = Array.from({ length: 20 }, organization);
    for (let turn = 0; turn < 1_000; turn++) for (const other of others) budget.tryTake(other, 1);
    for (const other of others) expect(budget.takenBy(other)).toBe(1_000);
    expect(fill(budget, organization())).toBe(500);
  });

  test("counts strangers as one, refuses what does not fit, and has all back in the end", () => {
    const budget = new FairShare(100);
    expect(budget.tryTake(undefined, 51)).toBe(false);
    expect(budget.tryTake(undefined, 50)).toBe(true);
    expect(budget.tryTake(undefined, 1)).toBe(false);
    budget.give(undefined, 50);
    expect(budget.has(undefined, 50)).toBe(true);
  });

  test("tells which organizations may have no more", () => {
    const budget = new FairShare(8);
    const [first, second] = [organization(), organization()];
    budget.take(first, 3);
    expect([budget.full(), budget.free]).toEqual([[], 5]);
    budget.take(first, 1);
    expect([budget.full(), budget.free]).toEqual([[first], 4]);
    budget.take(undefined, 4);
    budget.take(second, 1);
    expect([budget.full(), budget.free]).toEqual([[first, second], -1]);
  });

  test("counts what is held already, beyond the budget too", () => {
    const budget = new FairShare(100);
    const [first, second] = [organization(), organization()];
    budget.take(first, 150);
    expect(budget.tryTake(second, 1)).toBe(false);
    budget.give(first, 150);
    expect(budget.takenBy(first)).toBe(0);
    expect(budget.tryTake(second, 50)).toBe(true);
  });
});
