import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { newId } from "../lib/ids.ts";
import { OverBudget } from "../rates/budgets.ts";
import { ChargedCalls } from "./charged-calls.ts";
import { LlmError } from "./problem.ts";

const connection = {
  id: undefined,
  name: "cheap",
  provider: "openai_compatible" as const,
  baseUrl: "http://127.0.0.1/v1",
  model: "small",
  apiKey: undefined,
  prices: null,
  limits: null,
};
const { signal } = new AbortController();
const by = { organizationId: newId<"organization">(), signal, timeoutMs: 60_000 };
const question = { messages: [{ role: "user" as const, text: "Hi" }], onDelta: () => {} };

test.each([
  ["a refusal costs nothing", new LlmError("failed", "no", 500), false, { tokens: 0, cost: 0 }],
  ["an endpoint out of reach costs nothing", new LlmError("unreachable", "no"), false, { tokens: 0, cost: 0 }],
  ["one that had begun to write counts in full", new LlmError("unreachable", "no"), true, "unknown"],
  ["one that wrote too long counts in full", new LlmError("timeout", "no"), false, "unknown"],
  ["what was given up counts in full", new Error("cancelled"), false, "unknown"],
])("of calls that fail, %s", async (_, error, hasBegun, used) => {
  const settled: unknown[] = [];
  const budgets = { reserve: async () => ({ settle: (amount: unknown) => void settled.push(amount) }) };
  const charged = new ChargedCalls({ budgets, clock: testClock(), comeAgain: () => 0 });
  const asked = charged.ask(connection, by, question, async ({ onDelta }) => {
    if (hasBegun) onDelta!("Hel");
    throw error;
  });
  await expect(asked).rejects.toBe(error);
  expect(settled).toEqual([used]);
});

test.each([
  ["is to come again where calls under way may use less", true, 5],
  ["fails where there is no room today", false, undefined],
])("a call without room %s", async (_, isBusy, heldUntil) => {
  const budgets = { reserve: () => Promise.reject(new OverBudget("none left", isBusy)) };
  const charged = new ChargedCalls({ budgets, clock: testClock(), comeAgain: () => 5 });
  const asked = charged.ask(connection, by, question, () => Promise.reject(new Error("asked")));
  await expect(asked).rejects.toMatchObject({ problem: "over_budget", message: "none left", heldUntil });
});
