import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { newId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { OverBudget } from "../rates/budgets.ts";
import { ChargedCalls } from "./charged-calls.ts";
import { connectionOf } from "./connection.testsuite.ts";
import { LlmError } from "./problem.ts";

const connection = connectionOf();
const { signal } = new AbortController();
const by = { organizationId: newId<"organization">(), signal, timeoutMs: 60_000 };
const question = { messages: [{ role: "user" as const, text: "Hi" }], onDelta: () => {} };

const NOTHING = { tokens: 0, cost: 0 };
/** The question, and the answer that is presumed. */
const IN_FULL = { tokens: 9 + LIMITS.modelBudgetAnswerTokens, cost: 0 };

/** The charge of a call that writes this much and fails. */
async function chargeOf(error: Error, { isSent, writes = [] }: { isSent: boolean; writes?: string[] }) {
  const settled: unknown[] = [];
  const settle = (amount: unknown): void => void settled.push(amount);
  const charged = new ChargedCalls({
    budgets: { reserve: async () => ({ isOpen: true, settle }) },
    clock: testClock(),
    comeAgain: () => 0,
  });
  const asked = charged.ask(connection, by, question, async ({ onDelta }, sent) => {
    if (isSent) sent();
    for (const text of writes) onDelta!(text);
    throw error;
  });
  await expect(asked).rejects.toBe(error);
  expect(settled).toHaveLength(1);
  return settled[0];
}

test.each([
  ["one that was never sent costs nothing", new LlmError("unreachable", "no"), false, NOTHING],
  ["one that could not be sent in time costs nothing", new LlmError("timeout", "no"), false, NOTHING],
  ["one that was given up before it was sent costs nothing", new Error("cancelled"), false, NOTHING],
  ["a refusal costs nothing", new LlmError("failed", "no", 500), true, NOTHING],
  ["a gateway that waited for its model in vain counts in full", new LlmError("failed", "no", 504), true, IN_FULL],
  ["one of Cloudflare that did counts in full", new LlmError("failed", "no", 524), true, IN_FULL],
  ["one that says so with 408 counts in full", new LlmError("failed", "no", 408), true, IN_FULL],
  ["a gateway that reached no model costs nothing", new LlmError("failed", "no", 522), true, NOTHING],
  ["one that broke off before its answer counts in full", new LlmError("unreachable", "no"), true, IN_FULL],
  ["one that wrote too long counts in full", new LlmError("timeout", "no"), true, IN_FULL],
  ["what was given up counts in full", new Error("cancelled"), true, IN_FULL],
])("of calls that fail, %s", async (_, error, isSent, used) => {
  expect(await chargeOf(error, { isSent })).toEqual(used);
});

test("an answer that breaks off counts with what it wrote, if that is more", async () => {
  const error = new LlmError("unusable", "broken off");
  const wrote = (tokens: number) => chargeOf(error, { isSent: true, writes: ["x".repeat(3 * tokens - 3), "xyz"] });
  expect(await wrote(LIMITS.modelBudgetAnswerTokens)).toEqual(IN_FULL);
  expect(await wrote(LIMITS.modelBudgetAnswerTokens + 100)).toEqual({ tokens: IN_FULL.tokens + 100, cost: 0 });
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

test("an answer is settled with its use; one without a run is kept as a call, for its agent", async () => {
  const settled: unknown[][] = [];
  const clock = testClock();
  let endsBy = 0;
  const charged = new ChargedCalls({
    budgets: {
      reserve: async (call) => {
        ({ endsBy } = call);
        return { isOpen: false, settle: (...of: unknown[]) => void settled.push(of) };
      },
    },
    clock,
    comeAgain: () => 0,
  });
  const usage = { inputTokens: 30, outputTokens: 4, cachedInputTokens: 0 };
  const answer = { text: "Hello", toolCalls: [], finish: "stop" as const, model: undefined, usage };
  const agent = { id: newId<"agent">(), projectId: newId<"project">() };
  const run = { id: newId<"run">(), parentId: undefined };
  const ask = (more: object) => charged.ask(connection, { ...by, ...more }, question, async () => answer);
  // The answer says which maximum was sent for it.
  expect(await ask({ run })).toEqual({ ...answer, maximum: LIMITS.modelBudgetAnswerTokens });
  expect(endsBy).toBe(clock.now() + by.timeoutMs + 60_000);
  await ask({ agent });
  const used = { tokens: 34, cost: 0 };
  const call = {
    agentId: agent.id,
    projectId: agent.projectId,
    model: "small",
    calledAt: clock.now(),
    ...usage,
    cost: null,
  };
  expect(settled).toEqual([
    [used, undefined],
    [used, expect.objectContaining(call)],
  ]);
});
