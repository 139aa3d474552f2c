/** Answers of the providers of models, each in its own protocol, and where a question has its key and its maximum of tokens. */
type Finish = "stop" | "length";
export type Protocol = {
  path: string;
  /** The header that has the key. */
  header: [name: string, value: (key: string) => string];
  /** An answer of 100 tokens, 60 of them cached, with 20 of its own. */
  answer: (text: string, finish: Finish) => object;
  /** Where the maximum of tokens is in the question. */
  most: (body: any) => unknown;
};

const ofOpenAi = (text: string, finish: Finish): object => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_800_000_000,
  model: "small-2026",
  choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: finish }],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 60 },
  },
});

const likeOpenAi: Protocol = {
  path: "/v1/chat/completions",
  header: ["authorization", (key) => `Bearer ${key}`],
  answer: ofOpenAi,
  most: ({ max_tokens }) => max_tokens,
};

export const PROTOCOLS: Record<string, Protocol> = {
  openai_compatible: likeOpenAi,
  openai: likeOpenAi,
  mistral: likeOpenAi,
  anthropic: {
    path: "/v1/messages",
    header: ["x-api-key", (key) => key],
    answer: (text, finish) => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "small-2026",
      content: [{ type: "text", text }],
      stop_reason: finish === "stop" ? "end_turn" : "max_tokens",
      stop_sequence: null,
      usage: { input_tokens: 40, output_tokens: 20, cache_read_input_tokens: 60, cache_creation_input_tokens: 0 },
    }),
    most: ({ max_tokens }) => max_tokens,
  },
  google: {
    path: "/v1/models/small:generateContent",
    header: ["x-goog-api-key", (key) => key],
    answer: (text, finish) => ({
      candidates: [
        {
          index: 0,
          content: { role: "model", parts: [{ text }] },
          finishReason: finish === "stop" ? "STOP" : "MAX_TOKENS",
        },
      ],
      usageMetadata: {
        promptTokenCount: 100,
        cachedContentTokenCount: 60,
        candidatesTokenCount: 20,
        totalTokenCount: 120,
      },
      modelVersion: "small-2026",
    }),
    most: ({ generationConfig }) => generationConfig.maxOutputTokens,
  },
};
