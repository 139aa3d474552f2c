/** The most that a call may use, before it is made, and what it used. */
import { LIMITS } from "../lib/limits.ts";
import type { Message, ModelAnswer, ModelRequest } from "./call-model.ts";
import { costOf, type Connection, type Tokens } from "./connection.ts";
import type { ModelFile } from "./model-file.ts";

/** `cost`: in the currency of the connection's prices; 0 without prices. */
export type Used = { tokens: number; cost: number };

/** A token of most texts has at least as many bytes. */
const BYTES_A_TOKEN = 3;
/** Providers scale images down. */
const TOKENS_AN_IMAGE = 3_000;
/** A file counts as this before it is read. */
export const TOKENS_A_FILE = TOKENS_AN_IMAGE;
const PDF = "application/pdf";
/** A page is its text and an image of it. */
const PDF_BYTES_A_TOKEN = 10;
/** Roles, separators and the like. */
const TOKENS_A_MESSAGE = 8;

/**
 * The tokens that an answer without a maximum may have beyond those that count if nobody knows. Over a connection with a limit a day there
 * is no such answer.
 */
export function beyondTokensOf({ maxTokens }: ModelRequest, { limits }: Connection): number {
  const isLimited = limits !== null && (limits.tokensPerDay !== null || limits.costPerDay !== null);
  return maxTokens !== undefined || isLimited ? 0 : LIMITS.modelLongAnswerTokens - LIMITS.modelBudgetAnswerTokens;
}

/** Input tokens are an estimate. `heardTokens`: of an answer that broke off. */
export function mostUsedBy(request: ModelRequest, connection: Connection, heardTokens = 0): Used {
  const inputTokens = tokensAsked(request);
  const outputTokens = Math.max(request.maxTokens ?? LIMITS.modelBudgetAnswerTokens, heardTokens);
  const [fresh, cached] = [0, inputTokens].map((cachedInputTokens) =>
    usedBy({ inputTokens, outputTokens, cachedInputTokens }, connection),
  ) as [Used, Used];
  return cached.cost > fresh.cost ? cached : fresh;
}

/** By the endpoint's counts; if it counts nothing, by an estimate. */
export function usedInAll(answer: ModelAnswer, request: ModelRequest, connection: Connection): Used {
  return usedBy(
    countedIn(answer, () => tokensAsked(request)),
    connection,
  );
}

/** Likewise. `asked`: the tokens of the question. */
export function countedIn({ usage, text, toolCalls }: ModelAnswer, asked: () => number): Tokens {
  if (usage.inputTokens > 0 || usage.outputTokens > 0) return usage;
  const written = toolCalls.reduce((sum, { arguments: given }) => sum + tokensOf(given), tokensOf(text));
  return { inputTokens: asked(), outputTokens: written, cachedInputTokens: 0 };
}

const usedBy = (tokens: Tokens, { prices }: Connection): Used => ({
  tokens: tokens.inputTokens + tokens.outputTokens,
  cost: prices ? costOf(tokens, prices) : 0,
});

type Asked = Pick<ModelRequest, "system" | "messages" | "schema" | "tools">;

/** About how many tokens a model reads before it answers. */
export function tokensAsked({ system, messages, schema, tools }: Asked): number {
  let tokens = system === undefined ? 0 : tokensOf(system) + TOKENS_A_MESSAGE;
  for (const message of messages) tokens += tokensOfMessage(message);
  for (const part of [schema, tools]) if (part) tokens += tokensOf(JSON.stringify(part));
  return tokens;
}

export function tokensOfMessage(message: Message): number {
  if (message.role === "tool")
    return message.results.reduce((sum, { text }) => sum + tokensOf(text) + TOKENS_A_MESSAGE, 0);
  let tokens = tokensOf(message.text) + TOKENS_A_MESSAGE;
  if (message.role === "user") for (const file of message.files ?? []) tokens += tokensOfFile(file);
  else for (const { name, arguments: given } of message.toolCalls ?? []) tokens += tokensOf(name) + tokensOf(given);
  return tokens;
}

function tokensOfFile(file: ModelFile): number {
  if ("text" in file) return tokensOf(file.text);
  if (file.type !== PDF) return TOKENS_AN_IMAGE;
  return Math.max(TOKENS_AN_IMAGE, Math.ceil((file.base64.length * 0.75) / PDF_BYTES_A_TOKEN));
}

/** About how many tokens a text has: rather too many. */
export const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_A_TOKEN);
