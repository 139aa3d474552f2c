/** The use of language models, in words. */
import { countText } from "./counts.ts";

export type ModelUsage = {
  inputTokens: number;
  outputTokens: number;
  /** Among the input tokens. */
  cachedInputTokens: number;
  /** Null: a call had no price, or there are two currencies. */
  cost: number | null;
  currency: string | null;
};

/** `1,234 tokens · €0.0012`. */
export const usageText = ({ inputTokens, outputTokens, cost, currency }: ModelUsage): string =>
  [tokensText(inputTokens + outputTokens), costText(cost, currency)].filter(Boolean).join(" · ");

/** `1,000 tokens in, 200 of them cached; 234 out`. */
export const usageParts = ({ inputTokens, outputTokens, cachedInputTokens }: ModelUsage): string => {
  const cached = cachedInputTokens > 0 ? `, ${countText(cachedInputTokens)} of them cached` : "";
  return `${tokensText(inputTokens)} in${cached}; ${countText(outputTokens)} out`;
};

export const tokensText = (count: number): string => `${countText(count)} ${count === 1 ? "token" : "tokens"}`;

/** Two places, and of less than a hundredth two digits. */
export function costText(cost: number | null, currency: string | null): string | undefined {
  if (cost === null || currency === null) return undefined;
  const style = {
    style: "currency",
    currency,
    maximumSignificantDigits: 2,
    roundingPriority: "morePrecision",
  } as const;
  return new Intl.NumberFormat(undefined, style).format(cost);
}
