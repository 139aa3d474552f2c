/** The conversation of an assistant with its model and tools, and what it has used. Made again from the steps that are over. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { AssistantLimits, LimitName } from "../../definition/tasks/assistant.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Tool } from "../../llm/call-model.ts";
import type { Tokens } from "../../llm/connection.ts";
import { TOKENS_A_FILE, tokensAsked, tokensOfMessage } from "../../llm/most-used.ts";
import { unread, type AskedMessage, type UnreadMessage } from "../calls/model/messages.ts";
import type { UnusedAnswers } from "../journal/loaded-run.ts";
import type { ChildUsage } from "../shared.ts";

/** A call as the model asked for it. `arguments`: a text if they are not a JSON object. */
export type Wish = { id: string; name: string; arguments: JsonObject | string; sign?: JsonObject };

/** The output of a model's step. */
export type Turn = {
  text: string;
  toolCalls: Wish[];
  usage: Tokens & { cost: number | null; currency: string | null };
};

/**
 * A limit that allows nothing further, and the least that it would have to be raised by. `limit` undefined: it is none of the
 * author's, but a budget's.
 */
export type Reached = { limit: LimitName | undefined; sentence: string; needed: number };

/** The part of a question that is no message. */
export type Told = { instructions: string | undefined; schema: JsonObject | undefined; tools: readonly Tool[] };

export class Conversation {
  readonly messages: UnreadMessage[] = [];
  /** The author's, and what people have added to them. */
  readonly limits: AssistantLimits;
  /** Calls of the model that were begun, and calls of tools. */
  modelCalls = 0;
  toolCalls = 0;
  #unusedAnswers = 0;
  tokens = 0;
  cost = 0;
  currency: string | null = null;
  /** The tokens of what the model has read and written, and about those of what it is still to read. */
  #readTokens = 0;
  #unreadTokens: number;

  constructor(limits: AssistantLimits, asked: readonly AskedMessage[], { instructions, schema, tools }: Told) {
    this.limits = { ...limits };
    const offered = tools.length > 0 ? tools : undefined;
    this.#unreadTokens = tokensAsked({ system: instructions, schema, tools: offered, messages: [] });
    for (const message of unread(asked)) this.#add(message);
  }

  #add(message: UnreadMessage): void {
    this.messages.push(message);
    this.#unreadTokens += tokensOfMessage(message);
    if (message.role === "user") this.#unreadTokens += TOKENS_A_FILE * (message.sources?.length ?? 0);
  }

  addTurn({ text, toolCalls, usage }: Turn): void {
    this.tokens += usage.inputTokens + usage.outputTokens;
    this.#addCost(usage.cost, usage.currency);
    this.#readTokens = usage.inputTokens + usage.outputTokens;
    this.#unreadTokens = 0;
    const calls = toolCalls.map((call) => ({ ...call, arguments: argumentsText(call) }));
    this.messages.push({ role: "assistant", text, ...(calls.length > 0 && { toolCalls: calls }) });
  }

  addResults(calls: readonly Wish[], texts: readonly string[]): void {
    const results = calls.map(({ id, name }, index) => ({ id, name, text: texts[index]! }));
    this.#add({ role: "tool", results });
  }

  say(text: string): void {
    this.#add({ role: "user", text });
  }

  /** Counts answers to the next question that earlier tries could not use. */
  addUnused({ count, tokens, cost, currency }: UnusedAnswers): void {
    this.#unusedAnswers += count;
    this.tokens += tokens;
    if (currency !== null) this.#addCost(cost, currency);
  }

  /** Counts a run that a tool call started, with the runs below it. */
  addChild(usage: ChildUsage | null): void {
    if (!usage) return;
    this.tokens += usage.inputTokens + usage.outputTokens;
    if (this.limits.cost === undefined) return;
    if (usage.cost === null || (this.currency !== null && usage.currency !== this.currency))
      throw WorkflowError.of(
        "configuration",
        "limits.cost can't count a run that a tool started: a model that it asked has no prices, or those of another currency",
      );
    this.#addCost(usage.cost, usage.currency);
  }

  #addCost(cost: number | null, currency: string | null): void {
    if (cost === null) return;
    this.cost += cost;
    this.currency ??= currency;
  }

  get #iterations(): number {
    return this.modelCalls + this.#unusedAnswers;
  }

  /** About how many tokens the model would read next. */
  get nextTokens(): number {
    return this.#readTokens + this.#unreadTokens;
  }

  /** About how many tokens the next answer may have. */
  get leftTokens(): number {
    return this.limits.tokens - this.tokens - this.nextTokens;
  }

  /** The limit that allows no further question. `seconds` is of the clock. */
  reached(): Reached | undefined {
    const { iterations, cost } = this.limits;
    if (this.#iterations >= iterations) return this.reachedOf("iterations");
    if (this.leftTokens < 1) return this.reachedOf("tokens");
    return cost !== undefined && this.cost >= cost ? this.reachedOf("cost") : undefined;
  }

  /** `needed`: of tool calls. */
  reachedOf(limit: LimitName, needed = this.#neededOf(limit)): Reached {
    return { limit, sentence: this.sentenceOf(limit), needed };
  }

  #neededOf(limit: LimitName): number {
    if (limit === "iterations") return Math.max(1, this.#iterations - this.limits.iterations + 1);
    if (limit === "tokens") return Math.max(1, 1 - this.leftTokens);
    return limit === "cost" ? 0 : 1;
  }

  sentenceOf(limit: LimitName): string {
    const cost = this.currency === null ? "" : `, ${round(this.cost)} ${this.currency}`;
    const used = `${this.#iterations} iterations, ${this.toolCalls} tool calls, ${this.tokens} tokens${cost}`;
    const next = limit === "tokens" ? `, and about ${this.nextTokens} more with the next question` : "";
    return `limits.${limit} (${this.limits[limit]}) is reached: so far ${used}${next}`;
  }

  /** The use that stands against the limits. */
  get used(): JsonObject {
    const { toolCalls, tokens, currency } = this;
    return {
      iterations: this.#iterations,
      toolCalls,
      tokens,
      ...(currency !== null && { cost: round(this.cost), currency }),
    };
  }
}

const round = (cost: number): number => Number(cost.toPrecision(6));

const argumentsText = ({ arguments: given }: Wish): string =>
  typeof given === "string" ? given : JSON.stringify(given);
