/** One question to an OpenAI-compatible endpoint, through the AI SDK on our own guarded sockets. */
import type { OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { OutboundError, tooLarge } from "../outbound/errors.ts";
import { textIn } from "../outbound/body-text.ts";
import type { Outbound, OutboundResponse } from "../outbound/outbound.ts";
import { LlmError, ofOutbound, ofStatus } from "./problem.ts";

export type Question = {
  /** The model's task. */
  system: string;
  prompt: string;
  /** JSON Schema of the answer; none: any text. */
  schema?: JsonObject;
};

type Settings = { baseUrl: string; apiKey: string | undefined; model: string };
/** `tokens`: of the question and the answer, as the endpoint counted them. */
type Answer = { text: string; tokens: number };
type Model = { answer(organizationId: OrganizationId, question: Question, signal: AbortSignal): Promise<Answer> };
type Fetch = typeof globalThis.fetch;

/** Statuses of endpoints that do not support structured answers or this limit of tokens: asked once more without. */
const NOT_UNDERSTOOD = new Set([400, 422]);
/** No question has more: a larger count is nonsense. */
const MAX_TOKENS = 1_000_000;
const WITHOUT_BODY = new Set([204, 205, 304]);

/** `onResponse` sees each response: some ask for a pause. */
type Endpoint = {
  outbound: Outbound;
  host: string;
  onResponse: (response: Pick<OutboundResponse, "status" | "headers">) => void;
};

export function openModel(
  { baseUrl, apiKey, model }: Settings,
  outbound: Outbound,
  { host, onResponse }: Omit<Endpoint, "outbound">,
): Model {
  // Its messages for a person at a console would bypass our log.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  // Loaded only where a model is configured, and at the start: it holds the process for 160 ms. 23 MB.
  const sdk = Promise.all([import("ai"), import("@ai-sdk/openai-compatible")]);
  // The caller gets the error.
  sdk.catch(() => {});
  return {
    async answer(organizationId, { prompt, system, schema }, signal) {
      const [{ APICallError, generateText, jsonSchema, NoObjectGeneratedError, Output }, { createOpenAICompatible }] =
        await sdk;
      let failure: unknown;
      const fetched = guardedFetch({ outbound, host, onResponse }, organizationId);
      const provider = createOpenAICompatible({
        name: "llm",
        baseURL: baseUrl,
        ...(apiKey !== undefined && { apiKey }),
        supportsStructuredOutputs: true,
        fetch: (url, init) => fetched(url, init).catch((error: unknown) => Promise.reject((failure = error))),
      });
      const common = { model: provider(model), system, prompt, maxRetries: 0, abortSignal: signal };
      const ask = async (isPlain: boolean): Promise<Answer> => {
        try {
          const { text, totalUsage } = await generateText({
            ...common,
            ...(!isPlain && { maxOutputTokens: LIMITS.llmAnswerTokens }),
            ...(!isPlain && schema && { output: Output.object({ schema: jsonSchema(schema), name: "answer" }) }),
          });
          return { text, tokens: tokensIn(totalUsage) };
        } catch (error) {
          if (signal.aborted) throw error;
          if (failure instanceof OutboundError) throw ofOutbound(failure);
          // The caller looks for JSON among other words.
          if (NoObjectGeneratedError.isInstance(error) && error.text !== undefined)
            return { text: error.text, tokens: tokensIn(error.usage) };
          const status = APICallError.isInstance(error) ? error.statusCode : undefined;
          if (status !== undefined && NOT_UNDERSTOOD.has(status) && !isPlain) return ask(true);
          throw status === undefined || status < 300
            ? new LlmError("unusable", `${host} did not answer as a model does`)
            : ofStatus(status, host);
        }
      };
      return ask(false);
    },
  };
}

/** Called by the SDK in place of `fetch`. */
const guardedFetch =
  ({ outbound, host, onResponse }: Endpoint, organizationId: OrganizationId): Fetch =>
  async (url, init) => {
    const { status, headers, body } = await outbound.request({
      organizationId,
      method: "POST",
      url: String(url),
      headers: Object.fromEntries(new Headers(init!.headers)),
      body: init!.body as string,
      redirect: false,
      signal: init!.signal!,
      timeoutMs: LIMITS.llmSeconds * 1000,
    });
    if (body.length > LIMITS.llmAnswerBytes) throw tooLarge(host, LIMITS.llmAnswerBytes);
    onResponse({ status, headers });
    return new Response(WITHOUT_BODY.has(status) ? null : textIn({ headers, body }), { status, headers });
  };

/** An endpoint may count in any way, or not at all. */
const tokensIn = (usage: { inputTokens?: number | undefined; outputTokens?: number | undefined } | undefined): number =>
  [usage?.inputTokens, usage?.outputTokens]
    .filter((count) => count !== undefined && Number.isSafeInteger(count) && count > 0)
    .reduce<number>((sum, count) => sum + Math.min(count!, MAX_TOKENS), 0);
