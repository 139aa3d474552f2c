/** A way to ask a model, with all that is needed for it: the operator's own (config.ts), or one of a project's (models/). */
import type { ModelConnectionId } from "../lib/ids.ts";

/** The protocols that models are asked in, and where each is if nothing else is said. `openai_compatible` has no place of its own. */
export const PROVIDERS = {
  openai_compatible: undefined,
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  mistral: "https://api.mistral.ai/v1",
} as const;
export type ModelProvider = keyof typeof PROVIDERS;

/** The header in which each protocol has the key. */
export const KEY_HEADERS: Record<ModelProvider, string> = {
  openai_compatible: "authorization",
  openai: "authorization",
  anthropic: "x-api-key",
  google: "x-goog-api-key",
  mistral: "authorization",
};

/** Counts of the provider. Cached tokens are among the input tokens. */
export type Tokens = { inputTokens: number; outputTokens: number; cachedInputTokens: number };

/** Prices of a million tokens. Without `cachedInputPerMillion`, cached tokens cost what the others do. */
export type ModelPrices = {
  inputPerMillion: number;
  outputPerMillion: number;
  cachedInputPerMillion: number | null;
  /** ISO 4217. */
  currency: string;
};

/** In the currency of the prices. */
export function costOf(
  { inputTokens, outputTokens, cachedInputTokens }: Tokens,
  { inputPerMillion, outputPerMillion, cachedInputPerMillion }: ModelPrices,
): number {
  const input = (inputTokens - cachedInputTokens) * inputPerMillion;
  const cached = cachedInputTokens * (cachedInputPerMillion ?? inputPerMillion);
  return (input + cached + outputTokens * outputPerMillion) / 1_000_000;
}

/** Null: only the server's own limits. A day is one of UTC. */
export type ModelLimits = { concurrency: number | null; tokensPerDay: number | null; costPerDay: number | null };

export type Connection = {
  /** Undefined: the operator's own, which serves every project and may be at a private address. */
  id: ModelConnectionId | undefined;
  name: string;
  provider: ModelProvider;
  /** May have a query, which each request gets. */
  baseUrl: string;
  model: string;
  apiKey: string | undefined;
  /** The header that the key goes in, alone. Null: as the provider's protocol has it. */
  apiKeyHeader: string | null;
  prices: ModelPrices | null;
  limits: ModelLimits | null;
};
