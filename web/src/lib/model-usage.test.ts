import { expect, test } from "vitest";
import { costText, isCostly, spentText, usageParts, usageText } from "./model-usage.ts";

const usage = { inputTokens: 1_000, outputTokens: 234, cachedInputTokens: 0, cost: 0.0012, currency: "USD" };

test("tokens and their cost, of which nothing is rounded to nothing", () => {
  expect(usageText(usage)).toBe("1,234 tokens · $0.0012");
  expect(usageText({ ...usage, cost: null })).toBe("1,234 tokens");
  expect(usageText({ ...usage, inputTokens: 1, outputTokens: 0, cost: 0 })).toBe("1 token · $0.00");
  expect([12.345, 1_234.5, 0.000_000_012].map((cost) => costText(cost, "USD"))).toEqual([
    "$12.35",
    "$1,234.50",
    "$0.000000012",
  ]);
});

test("in and out", () => {
  expect(usageParts(usage)).toBe("1,000 tokens in; 234 out");
  expect(usageParts({ ...usage, cachedInputTokens: 200 })).toBe("1,000 tokens in, 200 of them cached; 234 out");
});

test("what was spent in several currencies, and without prices", () => {
  const spent = { tokens: 10, cost: 0.5, currency: "USD" };
  expect(spentText([])).toBe("0 tokens");
  expect(spentText([spent, spent, { ...spent, currency: "EUR" }])).toBe("30 tokens · $1.00 + €0.50");
  expect(spentText([{ ...spent, cost: null, currency: null }])).toBe("10 tokens");
});

test("a day without a sum cost something if an agent or a connection tells what", () => {
  const [known, unknown] = [[{ cost: 1 }], [{ cost: null }]];
  const mixed = { modelCost: null, agents: unknown, connections: [...known, ...known] };
  expect(isCostly(mixed)).toBe(true);
  expect(isCostly({ ...mixed, agents: known, connections: unknown })).toBe(true);
  expect(isCostly({ ...mixed, connections: unknown })).toBe(false);
  expect(isCostly({ ...mixed, agents: null, connections: null })).toBe(false);
  expect([0, 0.1].map((modelCost) => isCostly({ ...mixed, modelCost }))).toEqual([false, true]);
});
