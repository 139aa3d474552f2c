import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PLANS } from "../auth/organization.ts";
import { limitOf, REQUESTS_PER_MINUTE } from "./plans.ts";

test("docs/limits.md has every plan with its requests a minute", () => {
  const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  const rows = page.matchAll(/^\| `(\w+)` \| (\d+|as agreed.*) \|$/gm);
  const told = Object.fromEntries(Array.from(rows, ([, plan, limit]) => [plan, Number.parseInt(limit!, 10) || null]));
  expect(told).toEqual(REQUESTS_PER_MINUTE);
});

test("an agreement counts with enterprise alone", () => {
  expect(PLANS.map((plan) => limitOf(plan, 5_000))).toEqual([10, 100, 1_000, 5_000]);
  expect(limitOf("enterprise", null)).toBeNull();
});
