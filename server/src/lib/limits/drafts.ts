/** Run drafts and the language model. */
import { type Limit } from "./limit.ts";

const RUN_DRAFTS = "test/run-drafts.test.ts";
const LLM = "test/llm.test.ts";

export const DRAFTS = {
  runDraftCharacters: {
    value: 1_000,
    bounds: "the sentence of a run draft",
    test: [RUN_DRAFTS, "as many characters as may be"],
  },
  runDraftHours: {
    value: 24,
    bounds: "how long a run draft is kept",
    beyond: "it is deleted",
    test: [RUN_DRAFTS, "is forgotten after a day"],
  },
  runDrafts: {
    value: 1_000,
    bounds: "run drafts that an organization keeps",
    beyond: "the oldest is deleted",
    test: [RUN_DRAFTS, "keeps its newest thousand"],
  },
  llmSeconds: {
    value: 20,
    bounds: "all questions to the model for one draft",
    beyond: "the sentence is read by rules; `testLlm` reports `too_often`",
    test: [LLM, "does not answer in time"],
  },
  llmUsesPerMinute: {
    value: 30,
    bounds:
      "drafts of an organization in any 60 seconds that ask the model, and tests of the connection. Each process counts this and the next three for itself: with two on one database an organization has twice as much",
    beyond: "the sentence is read by rules",
    test: [LLM, "as often in a minute as it may"],
  },
  llmTestsPerMinute: {
    value: 5,
    bounds: "`testLlm` of an organization in any 60 seconds",
    beyond: "`RATE_LIMITED`",
    test: [LLM, "is tried by hand"],
  },
  llmAtOnce: {
    value: 64,
    bounds: "questions to the model at a time, of all organizations",
    beyond: "the sentence is read by rules",
    test: [LLM, "is asked ${LIMITS.llmAtOnce} times at once"],
  },
  llmAtOnceOwn: {
    value: 4,
    bounds: "questions to the model at a time, of one organization",
    beyond: "the sentence is read by rules",
    test: [LLM, "as many at once as it may"],
  },
  llmPromptCharacters: {
    value: 30_000,
    bounds: "a form, or the names of agents, that go to the model with the sentence",
    beyond: "a larger form is read by rules; further agents are left out",
    test: [LLM, "names as many agents as there is room for"],
  },
  llmAnswerTokens: {
    value: 2_000,
    bounds: "tokens of the model's answer, if its endpoint knows this limit",
    beyond: "the answer is cut, and asked for again",
    test: [LLM, "in the caller's zone"],
  },
  llmAnswerBytes: {
    value: 64 * 1024,
    bounds: "an answer of the model",
    beyond: "the sentence is read by rules",
    test: [LLM, "is huge"],
  },
  llmPauseSeconds: {
    value: 60,
    bounds: "how long the model is left alone after its endpoint answered 429 or 503 with a `Retry-After`",
    beyond: "a longer `Retry-After` counts as this",
    test: [LLM, "asks for a pause"],
  },
} satisfies Record<string, Limit>;
