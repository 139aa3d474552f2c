/** `call: llm`: one question to a language model, and once more if its answer does not fit the schema. */
import type { BodyOf } from "../../definition/program.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { valueIn } from "../../llm/answer.ts";
import type { ModelAnswer, ModelRequest } from "../../llm/call-model.ts";
import { ModelLine } from "../calls/model/line.ts";
import { messagesIn, textOf, unread, type AskedMessage, type UnreadMessage } from "../calls/model/messages.ts";
import { chosenModel, type AskModels } from "../calls/model/models.ts";
import { performEffect, type EffectContext } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

type Answered = NonNullable<BodyOf<"llm">["answer"]>;
/** The step keeps and shows it as its input. */
type Asked = Pick<ModelRequest, "model" | "system" | "schema" | "temperature" | "maxTokens" | "seed"> & {
  connection: string;
  messages: AskedMessage[];
};

export const createRunLlm =
  (models: AskModels): RunTask<BodyOf<"llm">> =>
  async (frame, body) => {
    const { execution, input, step, variables } = frame;
    const output = await performEffect(frame, {
      async prepare() {
        const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
        const { connection } = body;
        const chosen = await chosenModel(models, frame, { connection, model: values["model"] });
        return requestOf(values, chosen, body.answer) as JsonObject;
      },
      async perform(request, context) {
        const asked = request as unknown as Asked;
        const line = await ModelLine.open(models, frame, context, asked.connection);
        const output = await new Question(frame, line, asked, context).outputOf(body.answer);
        await context.hold(output);
        return output;
      },
    });
    return complete(frame, output);
  };

function requestOf(
  values: JsonObject,
  chosen: { connection: string; model?: string },
  answer: Answered | undefined,
): Asked {
  const { prompt: _, messages: __, files: ___, model: ____, system, ...rest } = values;
  return {
    ...rest,
    ...chosen,
    ...(system !== undefined && { system: textOf(system, "system") }),
    messages: messagesIn(values),
    ...(answer && { schema: answer.schema }),
  };
}

/** The calls of one attempt. */
class Question {
  readonly #frame: Frame;
  readonly #line: ModelLine;
  readonly #asked: Asked;
  readonly #context: EffectContext;

  constructor(frame: Frame, line: ModelLine, asked: Asked, context: EffectContext) {
    this.#frame = frame;
    this.#line = line;
    this.#asked = asked;
    this.#context = context;
  }

  /** Throws WorkflowError, or Postponed. */
  async outputOf(answer: Answered | undefined): Promise<Json> {
    const { execution, step } = this.#frame;
    const messages = unread(this.#asked.messages);
    const { idempotencyKey } = this.#context;
    if (!answer) return this.#textOf(await this.#ask(messages, idempotencyKey));
    if (step.state.unfit === undefined) {
      const read = await this.#read(answer, await this.#ask(messages, idempotencyKey));
      if ("value" in read) return read.value;
      // Committed, so that after a crash this question is not paid for again.
      step.state.unfit = read;
      execution.journal.touch(step);
      await execution.commit();
    }
    const { text, problem } = step.state.unfit;
    const again: UnreadMessage[] = [
      ...messages,
      { role: "assistant", text },
      { role: "user", text: repairOf(problem) },
    ];
    const read = await this.#read(answer, await this.#ask(again, `${idempotencyKey}-2`));
    if (!("value" in read))
      throw WorkflowError.of(
        "model-answer",
        `the answer does not fit the schema: ${read.problem}. It is: ${read.text}`,
      );
    step.state.unfit = undefined;
    return read.value;
  }

  #ask(messages: readonly UnreadMessage[], idempotencyKey: string): Promise<ModelAnswer> {
    const { connection: _, messages: __, ...rest } = this.#asked;
    return this.#line.ask({ ...rest, messages, idempotencyKey });
  }

  #textOf(answer: ModelAnswer): Promise<string> {
    return this.#line.textOf(answer, this.#asked.maxTokens);
  }

  async #read({ check }: Answered, answer: ModelAnswer): Promise<{ value: Json } | { text: string; problem: string }> {
    const text = await this.#textOf(answer);
    const value = valueIn(text);
    if (value === undefined) return { text, problem: "it is not JSON" };
    const problem = check(value);
    return problem === undefined ? { value } : { text, problem };
  }
}

const repairOf = (problem: string): string =>
  `This does not fit: ${problem}. Answer once more, with JSON alone that fits the schema.`;
