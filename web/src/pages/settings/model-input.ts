/** A model connection as its form says it, and the input of the mutations that it becomes. */
import type {
  ModelFragment,
  ModelLimitsInput,
  ModelPricesInput,
  ModelProvider,
  UpdateModelConnectionInput,
} from "../../api/documents.ts";

/** The protocols in which a model is asked, as people call them. */
export const PROVIDERS: Readonly<Record<ModelProvider, string>> = {
  openai_compatible: "OpenAI-compatible",
  openai: "OpenAI",
  anthropic: "Anthropic",
  google: "Google Gemini",
  mistral: "Mistral AI",
};

const PRICES = ["prices.inputPerMillion", "prices.outputPerMillion", "prices.cachedInputPerMillion"] as const;
const LIMITS = ["limits.concurrency", "limits.tokensPerDay", "limits.costPerDay"] as const;
const WHOLE: ReadonlySet<string> = new Set(["limits.concurrency", "limits.tokensPerDay"]);

type NumberField = (typeof PRICES)[number] | (typeof LIMITS)[number];
/** Named as the server names them in its problems. */
export type TextField = "name" | "model" | "baseUrl" | "apiKey" | "apiKeyHeader" | "prices.currency" | NumberField;

export type SaidOfModel = Readonly<Record<TextField, string>> & {
  readonly provider: ModelProvider;
  readonly isDefault: boolean;
  /** The key that is kept is taken away. */
  readonly isKeyless: boolean;
};

export const saidOf = (model: ModelFragment | undefined): SaidOfModel => ({
  name: model?.name ?? "",
  provider: model?.provider ?? "openai_compatible",
  baseUrl: model?.baseUrl ?? "",
  model: model?.model ?? "",
  apiKey: "",
  apiKeyHeader: model?.apiKeyHeader ?? "",
  isKeyless: false,
  isDefault: model?.isDefault ?? false,
  "prices.inputPerMillion": textOf(model?.prices?.inputPerMillion),
  "prices.outputPerMillion": textOf(model?.prices?.outputPerMillion),
  "prices.cachedInputPerMillion": textOf(model?.prices?.cachedInputPerMillion),
  "prices.currency": model?.prices?.currency ?? "",
  "limits.concurrency": textOf(model?.limits?.concurrency),
  "limits.tokensPerDay": textOf(model?.limits?.tokensPerDay),
  "limits.costPerDay": textOf(model?.limits?.costPerDay),
});

const textOf = (value: number | null | undefined): string => (value == null ? "" : String(value));

/** The server finds all others. */
export function problemsIn(said: SaidOfModel): Partial<Record<TextField, string>> {
  const required: TextField[] = ["name", "model"];
  if (said.provider === "openai_compatible") required.push("baseUrl");
  if (hasPrices(said)) required.push("prices.inputPerMillion", "prices.outputPerMillion", "prices.currency");
  return Object.fromEntries([
    ...[...PRICES, ...LIMITS].flatMap((field) => {
      const problem = numberProblem(field, said[field]);
      return problem ? [[field, problem]] : [];
    }),
    ...required.filter((field) => said[field].trim() === "").map((field) => [field, "is required"]),
  ]);
}

function numberProblem(field: NumberField, text: string): string | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return "must be a number";
  return WHOLE.has(field) && !Number.isSafeInteger(value) ? "must be a whole number" : undefined;
}

const hasPrices = (said: SaidOfModel): boolean =>
  ([...PRICES, "prices.currency"] as const).some((field) => said[field].trim() !== "");

type Input = Omit<UpdateModelConnectionInput, "modelConnectionId">;

/** All that is said, for a new connection. */
export const inputOf = (said: SaidOfModel) => ({
  name: said.name.trim(),
  provider: said.provider,
  baseUrl: said.baseUrl.trim() || null,
  model: said.model,
  apiKeyHeader: said.apiKeyHeader.trim() || null,
  isDefault: said.isDefault,
  prices: pricesOf(said),
  limits: limitsOf(said),
  ...(said.isKeyless ? { apiKey: null } : said.apiKey !== "" && { apiKey: said.apiKey }),
});

/** Only what the form changed: all else stays as somebody else may have made it since. */
export function changesOf(model: ModelFragment, said: SaidOfModel): Input {
  const before: Input = inputOf(saidOf(model));
  const isChanged = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(before[name as keyof Input]);
  return Object.fromEntries(Object.entries(inputOf(said)).filter(isChanged));
}

const pricesOf = (said: SaidOfModel): ModelPricesInput | null =>
  hasPrices(said)
    ? {
        inputPerMillion: Number(said["prices.inputPerMillion"]),
        outputPerMillion: Number(said["prices.outputPerMillion"]),
        cachedInputPerMillion: numberOf(said["prices.cachedInputPerMillion"]),
        currency: said["prices.currency"].trim(),
      }
    : null;

function limitsOf(said: SaidOfModel): ModelLimitsInput | null {
  const limits = {
    concurrency: numberOf(said["limits.concurrency"]),
    tokensPerDay: numberOf(said["limits.tokensPerDay"]),
    costPerDay: numberOf(said["limits.costPerDay"]),
  };
  return Object.values(limits).every((limit) => limit === null) ? null : limits;
}

const numberOf = (text: string): number | null => (text.trim() === "" ? null : Number(text));
