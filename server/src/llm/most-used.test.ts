/** The estimate of what a call uses, before it is made and where its endpoint counts nothing. */
import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import type { ModelAnswer, ModelRequest } from "./call-model.ts";
import type { Connection } from "./connection.ts";
import { connectionOf } from "./connection.testsuite.ts";
import { beyondTokensOf, mostUsedBy, tokensAsked, usedInAll } from "./most-used.ts";

const user = (text: string, ...files: object[]) => ({ role: "user", text, files }) as ModelRequest["messages"][number];
const file = (type: string, bytes: number): object => ({ type, base64: "A".repeat((bytes / 3) * 4) });

test.each<[what: string, request: ModelRequest, tokens: number]>([
  ["a text by its bytes, and its message", { messages: [user("größer")] }, 3 + 8],
  ["what it is told, as a message", { system: "Be brief.", messages: [] }, 3 + 8],
  ["an image like any other", { messages: [user("", file("image/png", 3_000_000))] }, 8 + 3_000],
  ["a small PDF like an image", { messages: [user("", file("application/pdf", 30_000))] }, 8 + 3_000],
  ["a large PDF by its bytes", { messages: [user("", file("application/pdf", 60_000))] }, 8 + 6_000],
  ["a text file by its bytes", { messages: [user("", { name: "a", text: "x".repeat(300) })] }, 8 + 100],
  [
    "each answer of a tool as a message",
    { messages: [{ role: "tool", results: ["abc", "defghi"].map((text) => ({ id: "1", name: "look", text })) }] },
    1 + 8 + 2 + 8,
  ],
  [
    "the calls that a model wrote",
    { messages: [{ role: "assistant", text: "", toolCalls: [{ id: "1", name: "look", arguments: '{"a":1}' }] }] },
    8 + 2 + 3,
  ],
  [
    "schemas and tools as JSON",
    { messages: [], schema: { a: 1 }, tools: [{ name: "b", description: "", parameters: {} }] },
    3 + 16,
  ],
])("of a question: %s", (_, request, tokens) => {
  expect(tokensAsked(request)).toBe(tokens);
});

const asked: ModelRequest = { messages: [user("x".repeat(2_976))], maxTokens: 500 };
const prices = { inputPerMillion: 1, outputPerMillion: 10, cachedInputPerMillion: null, currency: "EUR" };

test("the most that a call costs is its dearest input, cached or not, and its whole answer", () => {
  const most = (cachedInputPerMillion: number | null) =>
    mostUsedBy(asked, connectionOf({ prices: { ...prices, cachedInputPerMillion } }));
  expect(most(null)).toEqual({ tokens: 1_500, cost: 0.006 });
  expect(most(0.5)).toEqual({ tokens: 1_500, cost: 0.006 });
  expect(most(2)).toEqual({ tokens: 1_500, cost: 0.007 });
  expect(mostUsedBy(asked, connectionOf(), 600)).toEqual({ tokens: 1_600, cost: 0 });
});

test("what came counts as the endpoint says, and by what was said if it says nothing", () => {
  const answer = (inputTokens: number, outputTokens: number): ModelAnswer => ({
    text: "abc",
    toolCalls: [{ id: "1", name: "look", arguments: "{}" }],
    finish: "stop",
    model: undefined,
    usage: { inputTokens, outputTokens, cachedInputTokens: 0 },
  });
  const used = (counted: ModelAnswer) => usedInAll(counted, asked, connectionOf({ prices }));
  expect(used(answer(10, 0))).toEqual({ tokens: 10, cost: 0.00001 });
  expect(used(answer(0, 10))).toEqual({ tokens: 10, cost: 0.0001 });
  expect(used(answer(0, 0))).toEqual({ tokens: 1_002, cost: 0.00102 });
});

test("only an answer without any maximum may have more than is presumed", () => {
  const limits = { concurrency: 4, tokensPerDay: null, costPerDay: null };
  const beyond = (maxTokens: number | undefined, own: Partial<NonNullable<Connection["limits"]>> = {}) =>
    beyondTokensOf({ messages: [], maxTokens }, connectionOf({ limits: { ...limits, ...own } }));
  const all = LIMITS.modelLongAnswerTokens - LIMITS.modelBudgetAnswerTokens;
  expect([beyond(undefined), beyond(10), beyond(undefined, { tokensPerDay: 1 })]).toEqual([all, 0, 0]);
  expect(beyond(undefined, { costPerDay: 1 })).toBe(0);
});
