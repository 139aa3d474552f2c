/** The estimate of what an assistant's next question has. */
import { expect, test } from "vitest";
import type { AssistantLimits } from "../../definition/tasks/assistant.ts";
import { tokensAsked } from "../../llm/most-used.ts";
import { Conversation } from "./conversation.ts";

const limits = { iterations: 5, toolCalls: 5, tokens: 100_000, seconds: 60 } as unknown as AssistantLimits;
const schema = { type: "object" };
const tools = [{ name: "look", description: "Looks.", parameters: schema }];
const image = { name: undefined, type: "image/png", base64: "AAAA" };
const usage = { inputTokens: 500, outputTokens: 40, cachedInputTokens: 0, cost: null, currency: null };

test("an assistant expects a question to have as many tokens as its budgets reserve, files included", () => {
  const asked = [
    {
      role: "user" as const,
      content: "What is this?",
      files: ["https://example.com/a.png", "https://example.com/b.png"],
    },
    { role: "assistant" as const, content: "Show me more" },
    { role: "user" as const, content: "Größer" },
  ];
  const conversation = new Conversation(limits, asked, { instructions: "Be brief.", schema, tools });
  const [first, second, third] = conversation.messages;
  const shown = { role: "user" as const, text: "What is this?", files: [image, image] };
  expect(first).toMatchObject({ text: shown.text });
  const request = { system: "Be brief.", schema, tools, messages: [shown, second!, third!] };
  expect(conversation.nextTokens).toBe(tokensAsked(request));
  const bare = new Conversation(limits, [], { instructions: undefined, schema: undefined, tools: [] });
  expect(bare.nextTokens).toBe(0);
});

test("what the provider has counted takes the place of the estimate, and what comes after is estimated", () => {
  const conversation = new Conversation(limits, [{ role: "user", content: "Hi" }], {
    instructions: undefined,
    schema: undefined,
    tools,
  });
  const wish = { id: "1", name: "look", arguments: {} };
  conversation.addTurn({ text: "", toolCalls: [wish], usage });
  expect(conversation.nextTokens).toBe(540);
  conversation.addResults([wish], ["Nothing is there."]);
  const result = { role: "tool" as const, results: [{ id: "1", name: "look", text: "Nothing is there." }] };
  expect(conversation.nextTokens).toBe(540 + tokensAsked({ messages: [result] }));
  conversation.say("Go on");
  expect(conversation.leftTokens).toBe(
    100_000 - 540 - (540 + tokensAsked({ messages: [result, { role: "user", text: "Go on" }] })),
  );
});
