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

const SMALL = 0.01;

/** As the currency has it, and less than a hundredth with two digits. */
export function costText(cost: number | null, currency: string | null): string | undefined {
  if (cost === null || currency === null) return undefined;
  const digits = cost > 0 && cost < SMALL ? { maximumSignificantDigits: 2 } : {};
  return new Intl.NumberFormat(undefined, { style: "currency", currency, ...digits }).format(cost);
}

export type Spent = { tokens: number; cost: number | null; currency: string | null };

/** `680 tokens · €0.00076`; costs in several currencies stand beside each other. */
export const spentText = (spent: readonly Spent[]): string =>
  [tokensText(spent.reduce((sum, { tokens }) => sum + tokens, 0)), costsText(spent)].filter(Boolean).join(" · ");

/** Empty if nothing had a price. */
export function costsText(spent: readonly Spent[]): string {
  const costs = new Map<string, number>();
  for (const { cost, currency } of spent)
    if (cost !== null && currency !== null) costs.set(currency, (costs.get(currency) ?? 0) + cost);
  return [...costs].map(([currency, cost]) => costText(cost, currency)).join(" + ");
}

type Costs = readonly Pick<Spent, "cost">[] | null;

/** Whether a day cost something. One without a sum did if a cost of an agent or of a connection is known. */
export const isCostly = (day: { modelCost: number | null; agents: Costs; connections: Costs }): boolean =>
  day.modelCost === null
    ? [...(day.agents ?? []), ...(day.connections ?? [])].some(({ cost }) => cost !== null)
    : day.modelCost > 0;
