import { expect, test } from "vitest";
import { PLANS } from "../auth/organization.ts";
import { limitOf } from "./plans.ts";

test("an agreement counts with enterprise alone", () => {
  expect(PLANS.map((plan) => limitOf(plan, 5_000))).toEqual([10, 100, 1_000, 5_000]);
  expect(limitOf("enterprise", null)).toBeNull();
});
