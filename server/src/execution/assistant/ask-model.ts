/** One question of an assistant to its model, in a step of its own. */
import type { BodyOf } from "../../definition/program.ts";
import type { LimitName } from "../../definition/tasks/assistant.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { objectIn, valueIn } from "../../llm/answer.ts";
import type { ModelAnswer, Tool } from "../../llm/call-model.ts";
import { costOf, type ModelPrices, type Tokens } from "../../llm/connection.ts";
import { countedIn } from "../../llm/most-used.ts";
import { ModelLine } from "../calls/model/line.ts";
import type { AskedMessage } from "../calls/model/messages.ts";
import type { AskModels } from "../calls/model/models.ts";
import { performEffect } from "../effect.ts";
import type { Frame } from "../frame.ts";
import type { JournalStep } from "../journal/loaded-run.ts";
import type { Conversation, Turn, Wish } from "./conversation.ts";

/** The assistant's step keeps and shows it as its input. */
export type Asked = {
  connection: string;
  model?: string;
  instructions?: string;
  messages: AskedMessage[];
  temperature?: number;
  maxTokens?: number;
  seed?: number;
  schema?: JsonObject;
  /** With those that the author left out. */
  limits: JsonObject;
  /** The amounts that people have added to the limits. */
  granted?: Record<string, number>;
};

type Question = {
  asked: Asked;
  conversation: Conversation;
  tools: readonly Tool[];
  /** The answer's schema, if the answer must fit it now. */
  mustFit: BodyOf<"assistant">["answer"] | undefined;
  /** The limits are reached, and this is asked all the same. */
  isLast: boolean;
};

/** Below this, what the limits leave is sent as the answer's maximum. Above, models' own maximum may be less than that. */
const CAPPED_TOKENS = 4_096;

/** Returns a Turn. Throws `limit`, `model-answer`, `model-refused` and what a call may. */
export const askModel = (models: AskModels, frame: Frame, question: Question): Promise<Json> =>
  performEffect(frame, {
    prepare() {
      const { connection, model } = question.asked;
      return { connection, ...(model !== undefined && { model }) };
    },
    async perform(_, context) {
      const { asked, conversation, tools } = question;
      const {
        connection,
        instructions: system,
        messages: _messages,
        limits: _limits,
        granted: _granted,
        ...rest
      } = asked;
      const line = await ModelLine.open(models, frame, context, connection);
      const most = mostTokens(frame.step, question, line.connection.prices);
      const answer = await line.ask({
        ...rest,
        ...(system !== undefined && { system }),
        ...(most.maxTokens !== undefined && { maxTokens: most.maxTokens }),
        messages: conversation.messages,
        ...(tools.length > 0 && { tools }),
        idempotencyKey: context.idempotencyKey,
      });
      const turn = await turnOf(frame.step, line, answer, { ...question, ...most }).catch((error: unknown) => {
        noteUnused(frame.step, usageOf(answer, conversation), line.connection.prices);
        throw error;
      });
      await context.hold(turn);
      return turn;
    },
  });

/** An enclosing `try` may ask again: the answer counts in the limits all the same. */
function noteUnused({ state }: JournalStep, usage: Tokens, prices: ModelPrices | null): void {
  const tokens = usage.inputTokens + usage.outputTokens;
  state.unused = { count: 1, tokens, cost: prices ? costOf(usage, prices) : 0, currency: prices && prices.currency };
}

/** The error of a limit, which the question's step remembers. */
export function limitError(step: JournalStep, limit: LimitName, sentence: string): WorkflowError {
  step.state.reached = limit;
  return WorkflowError.of("limit", sentence);
}

/** Limits hold also if the endpoint counts nothing: by the estimate that budgets count then. */
const usageOf = (answer: ModelAnswer, conversation: Conversation): Tokens =>
  countedIn(answer, () => conversation.nextTokens);

/** `cap`: the limit that leaves less than what the author allows an answer. */
type Most = { maxTokens: number | undefined; cap?: "tokens" | "cost" };

/** The answer's maximum: the author's, or what the limits leave. Throws `limit` and `configuration`. */
function mostTokens(step: JournalStep, { asked, conversation, isLast }: Question, prices: ModelPrices | null): Most {
  const { maxTokens } = asked;
  const { limits } = conversation;
  if (isLast) return { maxTokens: maxTokens ?? CAPPED_TOKENS };
  let cap: NonNullable<Most["cap"]> = "tokens";
  let left = conversation.leftTokens;
  if (limits.cost !== undefined) {
    if (!prices) throw WorkflowError.of("configuration", "limits.cost needs the prices of the model connection");
    const input = costOf({ inputTokens: conversation.nextTokens, outputTokens: 0, cachedInputTokens: 0 }, prices);
    const affordable = limits.cost - conversation.cost - input;
    if (affordable <= 0) throw limitError(step, "cost", conversation.sentenceOf("cost"));
    const tokens = prices.outputPerMillion > 0 ? (affordable / prices.outputPerMillion) * 1_000_000 : Infinity;
    if (tokens < left) [left, cap] = [Math.max(1, Math.floor(tokens)), "cost"];
  }
  return left < (maxTokens ?? CAPPED_TOKENS + 1) ? { maxTokens: left, cap } : { maxTokens };
}

async function turnOf(
  step: JournalStep,
  line: ModelLine,
  answer: ModelAnswer,
  { conversation, mustFit, maxTokens, cap, isLast }: Question & Most,
): Promise<Turn> {
  if (answer.finish === "length" && cap !== undefined)
    throw limitError(step, cap, `${conversation.sentenceOf(cap)}; the last answer was cut by it`);
  const text = await line.textOf(answer, maxTokens);
  const toolCalls: Wish[] = [];
  for (const { id, name, arguments: given, sign } of isLast ? [] : answer.toolCalls) {
    const wish = { id, name: nameOf(name), arguments: given.trim() === "" ? {} : (objectIn(given) ?? given) };
    toolCalls.push((await line.hiddenIn({ ...wish, ...(sign && { sign }) })) as Wish);
  }
  if (mustFit && toolCalls.length === 0) {
    const problem = misfitOf(text, mustFit);
    if (problem !== undefined)
      throw WorkflowError.of("model-answer", `the answer does not fit the schema: ${problem}. It is: ${text}`);
  }
  const { prices } = line.connection;
  const usage = usageOf(answer, conversation);
  const cost = prices && costOf(usage, prices);
  return { text, toolCalls, usage: { ...usage, cost, currency: prices && prices.currency } };
}

/** Models may write anything; a step's name is shown on one line. */
const NAME_CHARACTERS = 128;
const nameOf = (name: string): string =>
  name
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, "")
    .slice(0, NAME_CHARACTERS) || "tool";

export function misfitOf(text: string, { check }: NonNullable<BodyOf<"assistant">["answer"]>): string | undefined {
  const value = valueIn(text);
  return value === undefined ? "it is not JSON" : check(value);
}
