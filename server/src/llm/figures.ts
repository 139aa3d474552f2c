/** Time and tokens of calls of models, for `/metrics`. */
import { countsOf, eachOf, Histogram } from "../lib/figures.ts";
import { PROVIDER_NAMES, SECONDS, TOKENS } from "../lib/telemetry/gen-ai.ts";
import type { ModelProvider, Tokens } from "./connection.ts";
import { LLM_PROBLEMS, type LlmProblem } from "./problem.ts";

type ProviderName = (typeof PROVIDER_NAMES)[ModelProvider];
const PROVIDERS = Object.values(PROVIDER_NAMES);

export class ModelFigures {
  readonly calls = countsOf([...LLM_PROBLEMS, "answered"]);
  /** By provider and problem, `""` for an answer: the conventions leave `error.type` out then, and an empty label is none. */
  readonly seconds: Record<ProviderName, Partial<Record<LlmProblem | "", Histogram>>> = eachOf(PROVIDERS, () => ({}));
  readonly tokens: Record<ProviderName, Partial<Record<"input" | "output", Histogram>>> = eachOf(PROVIDERS, () => ({}));

  /** `begunAt` is a time of `performance.now()`. */
  answered(provider: ModelProvider, { inputTokens, outputTokens }: Tokens, begunAt: number): void {
    const name = PROVIDER_NAMES[provider];
    this.calls.answered++;
    (this.seconds[name][""] ??= new Histogram(SECONDS.bounds)).since(begunAt);
    const tokens = this.tokens[name];
    (tokens.input ??= new Histogram(TOKENS.bounds)).observe(inputTokens);
    (tokens.output ??= new Histogram(TOKENS.bounds)).observe(outputTokens);
  }

  failed(provider: ModelProvider, problem: LlmProblem, begunAt: number): void {
    this.calls[problem]++;
    (this.seconds[PROVIDER_NAMES[provider]][problem] ??= new Histogram(SECONDS.bounds)).since(begunAt);
  }
}
