/** Answers of the providers of models, each in its own protocol, and where a question has its key and its maximum of tokens. */
type Finish = "stop" | "length";
type Stream = (texts: readonly string[], finish: Finish | undefined) => string;
export type Protocol = {
  /** The path of a request for a stream. */
  path: string;
  /** The header that has the key. */
  header: [name: string, value: (key: string) => string];
  /** An answer of 100 tokens, 60 of them cached, with 20 of its own. */
  answer: (text: string, finish: Finish) => object;
  /** The same answer as a stream, in pieces. Without a finish it breaks off. */
  stream: Stream;
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

const event = (data: object, name?: string): string =>
  `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

/** The tokens come with the finish, or after it. */
const openAiStream =
  (isTogether: boolean): Stream =>
  (texts, finish) => {
    const base = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_800_000_000, model: "small-2026" };
    const chunk = (delta: object, reason: string | null = null, more: object = {}): string =>
      event({ ...base, choices: [{ index: 0, delta, finish_reason: reason }], ...more });
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60 },
    };
    const written = texts.map((content) => chunk({ content })).join("");
    const apart = event({ ...base, choices: [], usage });
    const last = isTogether ? chunk({ content: "" }, finish, { usage }) : chunk({}, finish) + apart;
    return `${chunk({ role: "assistant", content: "" })}${written}${finish ? `${last}data: [DONE]\n\n` : ""}`;
  };

const anthropicStream: Stream = (texts, finish) => {
  const usage = { input_tokens: 40, output_tokens: 1, cache_read_input_tokens: 60, cache_creation_input_tokens: 0 };
  const named = (type: string, own: object): string => event({ type, ...own }, type);
  const message = { id: "msg_1", type: "message", role: "assistant", model: "small-2026", content: [], usage };
  const delta = { stop_reason: finish === "stop" ? "end_turn" : "max_tokens", stop_sequence: null };
  return [
    named("message_start", { message: { ...message, stop_reason: null, stop_sequence: null } }),
    named("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ...texts.map((text) => named("content_block_delta", { index: 0, delta: { type: "text_delta", text } })),
    ...(finish
      ? [
          named("content_block_stop", { index: 0 }),
          named("message_delta", { delta, usage: { ...usage, output_tokens: 20 } }),
          named("message_stop", {}),
        ]
      : []),
  ].join("");
};

const googleStream: Stream = (texts, finish) => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 60,
    candidatesTokenCount: 20,
    totalTokenCount: 120,
  };
  const finishReason = finish && { finishReason: finish === "stop" ? "STOP" : "MAX_TOKENS" };
  return texts
    .map((text, index) =>
      event({
        candidates: [
          {
            index: 0,
            content: { role: "model", parts: [{ text }] },
            ...(index === texts.length - 1 && finishReason),
          },
        ],
        usageMetadata,
        modelVersion: "small-2026",
      }),
    )
    .join("");
};

const likeOpenAi: Protocol = {
  path: "/v1/chat/completions",
  header: ["authorization", (key) => `Bearer ${key}`],
  answer: ofOpenAi,
  stream: openAiStream(false),
  most: ({ max_tokens }) => max_tokens,
};

export const PROTOCOLS: Record<string, Protocol> = {
  openai_compatible: likeOpenAi,
  openai: likeOpenAi,
  mistral: { ...likeOpenAi, stream: openAiStream(true) },
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
    stream: anthropicStream,
    most: ({ max_tokens }) => max_tokens,
  },
  google: {
    path: "/v1/models/small:streamGenerateContent?alt=sse",
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
    stream: googleStream,
    most: ({ generationConfig }) => generationConfig.maxOutputTokens,
  },
};
