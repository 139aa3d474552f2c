/** One call of a model: a request, and what came of it. The only place that knows the AI SDK's types besides providers.ts. */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FilePart,
  type LanguageModelV4FinishReason,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Prompt,
  type LanguageModelV4TextPart,
  type LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { shownText } from "../lib/text.ts";
import { OutboundError } from "../outbound/errors.ts";
import type { Tokens } from "./connection.ts";
import type { ModelFile } from "./model-file.ts";
import { LlmError, ofOutbound, ofStatus } from "./problem.ts";

export type Message =
  | { role: "user"; text: string; files?: readonly ModelFile[] }
  | { role: "assistant"; text: string };

/** `parameters`: JSON Schema of an object. */
export type Tool = { name: string; description: string; parameters: JsonObject };

export type ModelRequest = {
  /** The model's task. */
  system?: string | undefined;
  messages: readonly Message[];
  /** JSON Schema of the answer, which providers hold to more or less; none: any text. */
  schema?: JsonObject | undefined;
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  seed?: number | undefined;
  /** Instead of the connection's model. */
  model?: string | undefined;
  /** Sent along: an endpoint that knows it does nothing twice. */
  idempotencyKey?: string | undefined;
  /** Functions that the model may ask for; it is told what came of them with the next request. */
  tools?: readonly Tool[] | undefined;
};

/** `arguments`: JSON, as far as the model knows how to write it. */
export type ToolCall = { id: string; name: string; arguments: string };

export type ModelAnswer = {
  text: string;
  toolCalls: readonly ToolCall[];
  /** `length`: cut by `maxTokens`; `refused`: by the provider's filter. */
  finish: "stop" | "length" | "refused";
  /** The model's name as the endpoint gave it, cut. Undefined if it gave none. */
  model: string | undefined;
  usage: Tokens;
};

/** The maximum that is believed: a larger count is nonsense. */
const MAX_TOKENS = 10_000_000;

/** Throws LlmError, or the signal's reason. `host` names the endpoint in errors. */
export async function callModel(
  model: LanguageModelV4,
  request: ModelRequest,
  { host, signal }: { host: string; signal: AbortSignal },
): Promise<ModelAnswer> {
  try {
    return answerOf(await model.doGenerate({ ...optionsOf(request), abortSignal: signal }));
  } catch (error) {
    signal.throwIfAborted();
    throw asLlmError(error, host);
  }
}

function answerOf({ content, finishReason, usage, response }: LanguageModelV4GenerateResult): ModelAnswer {
  let text = "";
  const toolCalls: ToolCall[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call")
      toolCalls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input });
  }
  const finish = FINISHES[finishReason.unified] ?? "stop";
  const named = response?.modelId && shownText(response.modelId, LIMITS.nameCharacters);
  return { text, toolCalls, finish, model: named || undefined, usage: tokensOf(usage) };
}

const FINISHES: Partial<Record<LanguageModelV4FinishReason["unified"], ModelAnswer["finish"]>> = {
  length: "length",
  "content-filter": "refused",
};

function optionsOf({
  system,
  messages,
  schema,
  temperature,
  maxTokens,
  seed,
  idempotencyKey,
  tools,
}: ModelRequest): LanguageModelV4CallOptions {
  const prompt: LanguageModelV4Prompt = messages.map((message) =>
    message.role === "user"
      ? { role: "user", content: contentOf(message) }
      : { role: "assistant", content: [{ type: "text", text: message.text }] },
  );
  if (system !== undefined) prompt.unshift({ role: "system", content: system });
  return {
    prompt,
    ...(schema && { responseFormat: { type: "json", schema, name: "answer" } }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(seed !== undefined && { seed }),
    ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
    ...(tools && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        name,
        description,
        inputSchema: parameters,
      })),
    }),
  };
}

/** Images and PDFs first, as providers advise. Texts of files are one with the message's: some endpoints take one text alone. */
function contentOf({
  text,
  files = [],
}: Extract<Message, { role: "user" }>): (LanguageModelV4FilePart | LanguageModelV4TextPart)[] {
  const parts: LanguageModelV4FilePart[] = [];
  let words = "";
  for (const { name, ...file } of files) {
    if ("text" in file) words += `${name === undefined ? "" : `${name}:\n\n`}${file.text}\n\n`;
    else
      parts.push({
        type: "file",
        mediaType: file.type,
        data: { type: "data", data: file.base64 },
        ...(name !== undefined && { filename: name }),
      });
  }
  return [...parts, { type: "text", text: words + text }];
}

/** An endpoint may count in any way, or not at all. */
function tokensOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Tokens {
  const input = countOf(inputTokens.total);
  return {
    inputTokens: input,
    outputTokens: countOf(outputTokens.total),
    cachedInputTokens: Math.min(input, countOf(inputTokens.cacheRead)),
  };
}

const countOf = (count: number | undefined): number =>
  count !== undefined && Number.isSafeInteger(count) && count > 0 ? Math.min(count, MAX_TOKENS) : 0;

function asLlmError(error: unknown, host: string): unknown {
  const outbound = causesOf(error).find((cause) => cause instanceof OutboundError);
  if (outbound) return ofOutbound(outbound);
  const status = APICallError.isInstance(error) ? error.statusCode : undefined;
  if (status === undefined || status < 300) return new LlmError("unusable", `${host} did not answer as a model does`);
  return Object.assign(ofStatus(status, host), { said: (error as Error).message });
}

/** The error and what it wraps: an error of the SDK has ours as its cause. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}
