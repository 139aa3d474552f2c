/** One call of a model: a request, and what came of it. The only place that knows the AI SDK's types besides providers.ts. */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FilePart,
  type LanguageModelV4FinishReason,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4StreamPart,
  type LanguageModelV4TextPart,
  type LanguageModelV4Usage,
  type SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { GrowingText, shownText } from "../lib/text.ts";
import { OutboundError, tooLarge } from "../outbound/errors.ts";
import type { Tokens } from "./connection.ts";
import { objectIn } from "./answer.ts";
import { CameWhole, type GuardedFetch } from "./guarded-fetch.ts";
import type { ModelFile } from "./model-file.ts";
import { LlmError, ofOutbound, ofStatus } from "./problem.ts";

export type Message =
  | { role: "user"; text: string; files?: readonly ModelFile[] }
  | { role: "assistant"; text: string; toolCalls?: readonly ToolCall[] }
  /** The answers to the tool calls of the message before. */
  | { role: "tool"; results: readonly ToolResult[] };

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
  /** Gets the text as it comes. With it a stream is asked for, and an endpoint that knows none gives its text at once. */
  onDelta?: ((text: string) => void) | undefined;
};

/** `arguments`: JSON, as far as the model knows how to write it. `sign`: the provider wants it back with the result. */
export type ToolCall = { id: string; name: string; arguments: string; sign?: JsonObject };
type ToolResult = { id: string; name: string; text: string };

export type ModelAnswer = {
  text: string;
  toolCalls: readonly ToolCall[];
  /** `length`: cut by `maxTokens`; `refused`: by the provider's filter. */
  finish: "stop" | "length" | "refused";
  /** The model's name as the endpoint gave it, cut. Undefined if it gave none. */
  model: string | undefined;
  usage: Tokens;
  /** The maximum that was sent. */
  maximum?: number | undefined;
};

/** The maximum that is believed: a larger count is nonsense. */
const MAX_TOKENS = 10_000_000;

type Asking = { host: string; signal: AbortSignal; sockets: GuardedFetch };

/** Throws LlmError, or the signal's reason. `host` names the endpoint in errors. `sockets`: those of the model. */
export async function callModel(model: LanguageModelV4, request: ModelRequest, asking: Asking): Promise<ModelAnswer> {
  const { host, signal } = asking;
  const options = { ...optionsOf(request), abortSignal: signal };
  try {
    return request.onDelta
      ? await streamed(model, options, request.onDelta, asking)
      : answerOf(await model.doGenerate(options));
  } catch (error) {
    signal.throwIfAborted();
    throw asLlmError(error, host);
  }
}

type Answered = Pick<LanguageModelV4GenerateResult, "content" | "finishReason" | "usage" | "response">;

function answerOf({ content, finishReason, usage, response }: Answered): ModelAnswer {
  let text = "";
  const toolCalls: ToolCall[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call")
      toolCalls.push({
        id: part.toolCallId,
        name: part.toolName,
        arguments: part.input,
        ...(part.providerMetadata && { sign: part.providerMetadata as JsonObject }),
      });
  }
  const finish = FINISHES[finishReason.unified] ?? "stop";
  const named = response?.modelId && shownText(response.modelId, LIMITS.nameCharacters);
  return { text, toolCalls, finish, model: named || undefined, usage: tokensOf(usage) };
}

async function streamed(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  onDelta: (text: string) => void,
  asking: Asking,
): Promise<ModelAnswer> {
  try {
    // With each event as it came: so it is seen what the package makes of which one.
    const { stream } = await model.doStream({ ...options, includeRawChunks: true });
    const coming = new ComingAnswer(onDelta, asking);
    for await (const part of stream) coming.add(part);
    return coming.whole();
  } catch (error) {
    if (!(error instanceof CameWhole)) throw error;
    // The answer has come, and this request goes nowhere: the last message spares the package to write a long conversation again.
    const answer = answerOf(await model.doGenerate({ ...options, prompt: options.prompt.slice(-1) }));
    onDelta(answer.text);
    return answer;
  }
}

/** Kept twice, by us and by who gets the text as it comes. */
const KEPT_TIMES = 2;

class ComingAnswer {
  readonly #onDelta: (text: string) => void;
  readonly #asking: Asking;
  readonly #text = new GrowingText();
  readonly #content: LanguageModelV4GenerateResult["content"] = [];
  #begunCalls = 0;
  #characters = 0;
  #modelId: string | undefined;
  #end: Pick<Answered, "finishReason" | "usage"> | undefined;

  constructor(onDelta: (text: string) => void, asking: Asking) {
    this.#onDelta = onDelta;
    this.#asking = asking;
    const { stream } = asking.sockets;
    if (stream)
      stream.onKnown = ({ text, reasoning }) => {
        this.#addText(text);
        this.#keep(reasoning);
      };
  }

  #addText(text: string): void {
    if (text === "") return;
    this.#keep(text);
    this.#text.add(text);
    this.#onDelta(text);
  }

  /** Throws OutboundError and LlmError. */
  add(part: LanguageModelV4StreamPart): void {
    const known = this.#asking.sockets.stream?.known;
    if (part.type === "raw") return known?.began(part.rawValue);
    known?.made(part);
    if (part.type === "text-delta") this.#addText(part.delta);
    else if (part.type === "tool-input-delta" || part.type === "reasoning-delta") this.#keep(part.delta);
    else if (part.type === "tool-input-start") {
      if (++this.#begunCalls > LIMITS.modelToolCalls) throw tooManyCalls(this.#asking.host);
    } else if (part.type === "tool-call") this.#content.push(part);
    else if (part.type === "response-metadata") this.#modelId = part.modelId ?? this.#modelId;
    else if (part.type === "finish") this.#end = part;
    else if (part.type === "error") throw this.#brokenOff(part.error);
  }

  #keep({ length }: string): void {
    const { sockets, host } = this.#asking;
    this.#characters += length;
    if (this.#characters > LIMITS.outputBytes) throw tooLarge(host);
    if (sockets.stream) sockets.stream.keptBytes = KEPT_TIMES * this.#characters;
  }

  /** An answer that ends without saying why is not whole. */
  whole(): ModelAnswer {
    if (this.#end?.finishReason.raw === undefined) throw this.#brokenOff(undefined);
    const content: Answered["content"] = [{ type: "text", text: this.#text.from(0) }, ...this.#content];
    return answerOf({ ...this.#end, content, response: { ...(this.#modelId && { modelId: this.#modelId }) } });
  }

  #brokenOff(error: unknown): unknown {
    if (causesOf(error).some((cause) => cause instanceof OutboundError)) return error;
    const { host } = this.#asking;
    const said = error instanceof Error ? undefined : sentenceIn(error as Json | undefined);
    return Object.assign(new LlmError("unusable", `${host} broke off its answer`), { said });
  }
}

const tooManyCalls = (host: string): LlmError =>
  new LlmError("unusable", `${host} asked for more than ${LIMITS.modelToolCalls} calls of functions in one answer`);

/** The sentence of an error that came as an event. */
function sentenceIn(error: Json | undefined): string | undefined {
  const said = isObject(error) ? error["message"] : error;
  return typeof said === "string" ? said : undefined;
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
  const prompt: LanguageModelV4Prompt = messages.map(promptOf);
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

function promptOf(message: Message): LanguageModelV4Message {
  if (message.role === "user") return { role: "user", content: contentOf(message) };
  if (message.role === "tool") {
    const content = message.results.map(({ id, name, text }) => ({
      type: "tool-result" as const,
      toolCallId: id,
      toolName: name,
      output: { type: "text" as const, value: text },
    }));
    return { role: "tool", content };
  }
  const { text, toolCalls = [] } = message;
  const calls = toolCalls.map(({ id, name, arguments: given, sign }) => ({
    type: "tool-call" as const,
    toolCallId: id,
    toolName: name,
    input: objectIn(given) ?? {},
    ...(sign && { providerOptions: sign as SharedV4ProviderOptions }),
  }));
  // Some providers refuse a text without characters.
  return {
    role: "assistant",
    content: [...(text === "" && calls.length > 0 ? [] : [{ type: "text" as const, text }]), ...calls],
  };
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
  if (error instanceof LlmError) return error;
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
