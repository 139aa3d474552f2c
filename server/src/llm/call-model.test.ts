import { ReadableStream } from "node:stream/web";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { LIMITS } from "../lib/limits.ts";
import { callModel } from "./call-model.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";

const { signal } = new AbortController();
const sockets = { stream: { keptBytes: 0 } };
const asking = { host: "models.example.com", signal, sockets: sockets as unknown as GuardedFetch };
const request = { messages: [{ role: "user" as const, text: "Hi" }] };
const finishReason = { unified: "stop", raw: "stop" };
const usageOf = (input: number | undefined, cached: number | undefined, output: number | undefined) => ({
  inputTokens: { total: input, cacheRead: cached },
  outputTokens: { total: output },
});

const answered = (answer: object) =>
  callModel({ doGenerate: async () => ({ finishReason, ...answer }) } as unknown as LanguageModelV4, request, asking);

test("counts that can't be are none, and no more is cached than was read", async () => {
  const counted = async (...counts: Parameters<typeof usageOf>) =>
    Object.values((await answered({ content: [], usage: usageOf(...counts) })).usage);
  expect(await counted(10, 50, 2)).toEqual([10, 2, 10]);
  expect(await counted(10, 3, 2)).toEqual([10, 2, 3]);
  expect(await counted(-1, undefined, 0.5)).toEqual([0, 0, 0]);
  expect(await counted(undefined, 5, 1e9)).toEqual([0, 10_000_000, 0]);
});

test("the model's name is cut, and is none if it has no characters that can be shown", async () => {
  const named = async (modelId: string) =>
    (await answered({ content: [], usage: usageOf(1, 0, 1), response: { modelId } })).model;
  expect(await named("small-2")).toBe("small-2");
  expect((await named("x".repeat(1_000)))!.length).toBeLessThanOrEqual(LIMITS.nameCharacters);
  expect(await named("")).toBeUndefined();
});

test("the text of a stream counts twice: it is kept here and for who watches", async () => {
  const parts = [
    { type: "text-delta", delta: "Hel" },
    { type: "text-delta", delta: "lo" },
    { type: "finish", finishReason, usage: usageOf(1, 0, 1) },
  ];
  const model = { doStream: async () => ({ stream: ReadableStream.from(parts) }) } as unknown as LanguageModelV4;
  let heard = "";
  const answer = await callModel(model, { ...request, onDelta: (text) => (heard += text) }, asking);
  expect([answer.text, heard, sockets.stream.keptBytes]).toEqual(["Hello", "Hello", 10]);
});
