/** The rules for the fields of a connection, and the sentences of their refusals. */
import { isPlainText } from "../lib/mail/email-address.ts";
import { nameProblem } from "../auth/names.ts";
import type { FieldCode, FieldProblem } from "../lib/errors.ts";
import { keyHeaderProblem } from "../lib/reserved-headers.ts";
import { LIMITS } from "../lib/limits.ts";
import { parseUrl } from "../lib/parse-url.ts";
import { isSecretName } from "../lib/secret-name.ts";
import { PROVIDERS } from "../llm/connection.ts";
import type { ModelConnection } from "./model-connection.ts";

const CURRENCY = /^[A-Z]{3}$/;
/** Visible characters, as a header takes them. */
const KEY = /^[\x21-\x7e]+$/;

const problem = (field: string, code: FieldCode, message: string): FieldProblem => ({
  path: `input.${field}`,
  code,
  message,
});

/** `apiKey`: undefined where it stays as it is. */
export const problemsOf = (
  connection: ModelConnection,
  apiKey: string | null | undefined,
): (FieldProblem | undefined)[] => [
  isSecretName(connection.name)
    ? undefined
    : problem(
        "name",
        "invalid",
        `must be 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores, and begin with a letter or underscore`,
      ),
  nameProblem(connection.model, "input.model"),
  addressProblem(connection),
  keyProblem(apiKey),
  headerProblem(connection),
  ...priceProblems(connection),
  ...limitProblems(connection),
];

function addressProblem({ provider, baseUrl }: ModelConnection): FieldProblem | undefined {
  if (baseUrl === null) {
    if (PROVIDERS[provider]) return undefined;
    return problem("baseUrl", "required", `is required for ${provider}, for example https://models.example.com/v1`);
  }
  if (baseUrl.length > LIMITS.outboundUrlCharacters)
    return problem("baseUrl", "too_long", `must have at most ${LIMITS.outboundUrlCharacters} characters`);
  if (!isPlainText(baseUrl))
    return problem("baseUrl", "invalid", "must not contain control characters or lone surrogates");
  const url = parseUrl(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol))
    return problem("baseUrl", "invalid", "must be a URL that begins with https:// or http://");
  if (url.username !== "" || url.password !== "")
    return problem("baseUrl", "invalid", "must not hold a password: send it as apiKey");
  if (url.hash !== "") return problem("baseUrl", "invalid", "must have no fragment");
  return undefined;
}

/** The key is in no message. */
function keyProblem(apiKey: string | null | undefined): FieldProblem | undefined {
  if (apiKey == null) return undefined;
  if (apiKey === "")
    return problem("apiKey", "required", "must not be empty: leave it out if the endpoint asks for none");
  if (apiKey.length > LIMITS.modelKeyCharacters)
    return problem("apiKey", "too_long", `must have at most ${LIMITS.modelKeyCharacters} characters`);
  return KEY.test(apiKey)
    ? undefined
    : problem("apiKey", "invalid", "must have only visible ASCII characters, without spaces");
}

function headerProblem({ apiKeyHeader }: ModelConnection): FieldProblem | undefined {
  const found = apiKeyHeader === null ? undefined : keyHeaderProblem(apiKeyHeader);
  return found && problem("apiKeyHeader", found.code, found.message);
}

function priceProblems({ prices }: ModelConnection): (FieldProblem | undefined)[] {
  if (!prices) return [];
  const { currency, inputPerMillion, outputPerMillion, cachedInputPerMillion } = prices;
  return [
    CURRENCY.test(currency)
      ? undefined
      : problem("prices.currency", "invalid", "must be a code of ISO 4217, such as EUR"),
    numberProblem("prices.inputPerMillion", inputPerMillion, LIMITS.modelPricePerMillion),
    numberProblem("prices.outputPerMillion", outputPerMillion, LIMITS.modelPricePerMillion),
    numberProblem("prices.cachedInputPerMillion", cachedInputPerMillion, LIMITS.modelPricePerMillion),
  ];
}

function limitProblems({ limits, prices }: ModelConnection): (FieldProblem | undefined)[] {
  if (!limits) return [];
  const { concurrency, tokensPerDay, costPerDay } = limits;
  return [
    concurrency !== null && concurrency < 1
      ? problem("limits.concurrency", "out_of_range", "must be at least 1")
      : undefined,
    numberProblem("limits.concurrency", concurrency, LIMITS.modelConcurrency),
    tokensPerDay !== null && !Number.isInteger(tokensPerDay)
      ? problem("limits.tokensPerDay", "out_of_range", "must be a whole number")
      : numberProblem("limits.tokensPerDay", tokensPerDay, LIMITS.modelDayMost),
    numberProblem("limits.costPerDay", costPerDay, LIMITS.modelDayMost) ??
      (costPerDay !== null && !prices
        ? problem("limits.costPerDay", "invalid", "needs prices: without them nobody knows what a call costs")
        : undefined),
  ];
}

function numberProblem(field: string, value: number | null, most: number): FieldProblem | undefined {
  if (value === null || (value >= 0 && value <= most)) return undefined;
  return problem(field, "out_of_range", `must be 0 to ${most}`);
}
