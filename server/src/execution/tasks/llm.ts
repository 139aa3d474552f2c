/** `call: llm`: one question to a language model, and once more if its answer does not fit the schema. */
import type { BodyOf } from "../../definition/program.ts";
import { quote } from "../../definition/text/problem.ts";
import { WorkflowError } from "../../definition/workflow-error.ts";
import { inTurns } from "../../fairness/slices.ts";
import type { Slots } from "../../fairness/slots.ts";
import { newId, type OrganizationId, type ProjectId } from "../../lib/ids.ts";
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { isStorable, shortenedTo } from "../../lib/text.ts";
import { valueIn } from "../../llm/answer.ts";
import type { Message, ModelAnswer, ModelRequest } from "../../llm/call-model.ts";
import { costOf, type Connection } from "../../llm/connection.ts";
import { isNotUnderstood, type Llm } from "../../llm/llm.ts";
import { LlmError } from "../../llm/problem.ts";
import type { ReadSecrets } from "../calls/authentication.ts";
import { oneSearchAtATime } from "../calls/calling.ts";
import { ENOUGH_BYTES } from "../calls/conceal.ts";
import { Credentials } from "../calls/http-response.ts";
import { performEffect, Postponed, type EffectContext } from "../effect.ts";
import { evaluate } from "../evaluate.ts";
import { complete, type Frame, type RunTask } from "../frame.ts";

export type AskModels = Pick<Llm, "call" | "isOperator"> & {
  /** The connection of this name; without one, the project's default, else the server's own. */
  connectionOf(
    organizationId: OrganizationId,
    projectId: ProjectId,
    name: string | undefined,
  ): Promise<Connection | undefined>;
  readSecrets: ReadSecrets;
  concealing: Slots;
};

type Answered = NonNullable<BodyOf<"llm">["answer"]>;
/** The step keeps and shows it as its input. */
type Asked = Pick<ModelRequest, "model" | "system" | "schema" | "temperature" | "maxTokens" | "seed"> & {
  connection: string;
  messages: { role: Message["role"]; content: string }[];
};

const LONGEST_MS = LIMITS.callSeconds * 1_000;
const TIMEOUT_MS = LIMITS.modelCallSeconds * 1_000;

export const createRunLlm =
  (models: AskModels): RunTask<BodyOf<"llm">> =>
  async (frame, body) => {
    const { execution, input, step, variables } = frame;
    const output = await performEffect(frame, {
      async prepare() {
        const values = (await evaluate(execution, body.arguments, input, variables, step)) as JsonObject;
        const connection = await connectionOf(models, frame, body.connection);
        const { organizationId } = execution.journal.head;
        const isForeign = connection.id === undefined && !(await models.isOperator(organizationId));
        if (isForeign && values["model"] !== undefined) throw WorkflowError.of("configuration", NOT_CHOSEN);
        const model = isForeign ? undefined : modelOf(values["model"], connection);
        return requestOf(values, { connection: connection.name, model, answer: body.answer }) as JsonObject;
      },
      async perform(request, context) {
        const conversation = await Conversation.open(models, frame, request as unknown as Asked, context);
        const output = await conversation.outputOf(body.answer);
        await context.hold(output);
        return output;
      },
    });
    return complete(frame, output);
  };

/** Throws `configuration`. */
async function connectionOf(models: AskModels, { execution }: Frame, name: string | undefined): Promise<Connection> {
  const { organizationId, projectId } = execution.journal.head;
  const found = await models.connectionOf(organizationId, projectId, name);
  if (found) return found;
  throw WorkflowError.of(
    "configuration",
    name === undefined
      ? "the project has no default model connection, and the server has no model of its own"
      : `the project has no model connection ${quote(name)}`,
  );
}

/** Only the operator's own organization sees and chooses what the server's model is. */
const NOT_CHOSEN = "`model` can't be chosen on the server's own connection: name a connection of the project";

/** Throws `validation`. */
function modelOf(given: Json | undefined, { model }: Connection): string {
  if (given === undefined) return model;
  const name = textOf(given, "model");
  if (name.length <= LIMITS.nameCharacters && isStorable(name)) return name;
  throw WorkflowError.of(
    "validation",
    `model must be a name of at most ${LIMITS.nameCharacters} characters, so nothing was asked`,
  );
}

type Named = { connection: string; model: string | undefined; answer: Answered | undefined };

function requestOf(values: JsonObject, { connection, model, answer }: Named): Asked {
  const { prompt, messages, model: _, system, ...rest } = values;
  return {
    ...rest,
    connection,
    ...(model !== undefined && { model }),
    ...(system !== undefined && { system: textOf(system, "system") }),
    messages: messages === undefined ? [{ role: "user", content: textOf(prompt!, "prompt") }] : messagesOf(messages),
    ...(answer && { schema: answer.schema }),
  };
}

/** A text as it is, anything else as JSON. Throws `validation`. */
function textOf(value: Json, place: string): string {
  if (value === null || value === "")
    throw WorkflowError.of("validation", `${place} is ${value === null ? "null" : "empty"}, so nothing was asked`);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function messagesOf(messages: Json): Asked["messages"] {
  if (!Array.isArray(messages) || messages.length === 0 || messages.length > LIMITS.modelMessages)
    throw WorkflowError.of(
      "validation",
      `messages must be a list of 1 to ${LIMITS.modelMessages} messages, so nothing was asked`,
    );
  return messages.map((message, index) => {
    const { role, content } = isObject(message) ? message : {};
    if ((role !== "user" && role !== "assistant") || content === undefined)
      throw WorkflowError.of(
        "validation",
        `messages[${index}] must have content and the role user or assistant, so nothing was asked`,
      );
    return { role, content: textOf(content, `messages[${index}].content`) };
  });
}

/** The calls of one attempt, over one connection. */
class Conversation {
  readonly #models: AskModels;
  readonly #frame: Frame;
  readonly #connection: Connection;
  readonly #asked: Asked;
  readonly #context: EffectContext;
  /** The connection's key and the definition's secrets: an endpoint may repeat them. */
  readonly #credentials: Credentials;

  private constructor(
    models: AskModels,
    frame: Frame,
    asked: Asked,
    context: EffectContext,
    of: { connection: Connection; credentials: Credentials },
  ) {
    this.#models = models;
    this.#frame = frame;
    this.#asked = asked;
    this.#context = context;
    this.#connection = of.connection;
    this.#credentials = of.credentials;
  }

  static async open(models: AskModels, frame: Frame, asked: Asked, context: EffectContext): Promise<Conversation> {
    const connection = await connectionOf(models, frame, asked.connection);
    const { program, journal } = frame.execution;
    const { organizationId, projectId } = journal.head;
    const names = program.secrets;
    const secrets = names.length === 0 ? undefined : await models.readSecrets(organizationId, projectId, names);
    const credentials = new Credentials(undefined, secrets);
    if (connection.apiKey) credentials.hideToo(connection.apiKey);
    return new Conversation(models, frame, asked, context, { connection, credentials });
  }

  /** Throws WorkflowError, or Postponed. */
  async outputOf(answer: Answered | undefined): Promise<Json> {
    const { execution, step } = this.#frame;
    const messages = this.#asked.messages.map(({ role, content }): Message => ({ role, text: content }));
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
    const again: Message[] = [...messages, { role: "assistant", text }, { role: "user", text: repairOf(problem) }];
    const read = await this.#read(answer, await this.#ask(again, `${idempotencyKey}-2`));
    if (!("value" in read))
      throw WorkflowError.of(
        "model-answer",
        `the answer does not fit the schema: ${read.problem}. It is: ${read.text}`,
      );
    step.state.unfit = undefined;
    return read.value;
  }

  async #ask(messages: readonly Message[], idempotencyKey: string): Promise<ModelAnswer> {
    const { connection: _, messages: __, ...rest } = this.#asked;
    const request: ModelRequest = { ...rest, messages, idempotencyKey };
    try {
      const answer = await this.#call(request);
      this.#count(answer);
      return answer;
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  #count({ usage, model }: ModelAnswer): void {
    const { execution, step } = this.#frame;
    const { head } = execution.journal;
    const { id, name, prices } = this.#connection;
    execution.journal.countModelCall(step, {
      run_id: head.id,
      organization_id: head.organizationId,
      id: newId(),
      step_number: step.number,
      agent_id: head.agentId,
      project_id: head.projectId,
      connection_id: id ?? null,
      connection: name,
      model: model ?? this.#asked.model ?? this.#connection.model,
      called_at: execution.now(),
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cached_input_tokens: usage.cachedInputTokens,
      cost: prices && costOf(usage, prices).toFixed(DECIMALS),
      currency: prices && prices.currency,
    });
  }

  /** An endpoint that knows no schemas is told in words. */
  async #call(request: ModelRequest): Promise<ModelAnswer> {
    const { organizationId, signal, turn } = this.#context;
    const timeoutMs = this.#frame.task.timeout ? LONGEST_MS : TIMEOUT_MS;
    const call = (asked: ModelRequest): Promise<ModelAnswer> =>
      this.#models.call(this.#connection, { organizationId, signal, turn, timeoutMs }, asked);
    try {
      return await call(request);
    } catch (error) {
      const { schema, system, ...rest } = request;
      if (!schema || !isNotUnderstood(error)) throw error;
      const words = `Answer with JSON alone that fits this JSON Schema: ${JSON.stringify(schema)}`;
      return call({
        ...rest,
        system: system === undefined ? words : `${system}\n\n${words}`,
        idempotencyKey: `${request.idempotencyKey}-words`,
      });
    }
  }

  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof LlmError)) return error;
    if (error.heldUntil !== undefined) return new Postponed(error.heldUntil);
    const { id, baseUrl } = this.#connection;
    if (id === undefined) {
      // Where the operator's model is, and what it says, is the operator's alone.
      const { origin, host } = new URL(baseUrl);
      const message = error.message.replaceAll(origin, OWN).replaceAll(host, OWN);
      return asTaskError(error, message);
    }
    // Enough to recognise a credential that begins before the cut.
    const said = error.said && (await this.#hidden(error.said.slice(0, SAID_CHARACTERS + ENOUGH_BYTES)));
    return asTaskError(error, said ? `${error.message}: ${shortenedTo(said, SAID_CHARACTERS)}` : error.message);
  }

  /** The answer's text, if it is whole. Throws `model-answer` and `model-refused`. */
  async #textOf({ text, finish }: ModelAnswer): Promise<string> {
    const shown = await this.#hidden(text);
    if (finish === "refused")
      throw WorkflowError.of("model-refused", `the provider's filter refused the answer${shown && `: ${shown}`}`);
    if (finish !== "length") return shown;
    const { maxTokens } = this.#asked;
    const by = maxTokens === undefined ? "the model's own limit of tokens" : `maxTokens (${maxTokens})`;
    throw WorkflowError.of("model-answer", `the answer was cut by ${by}. It begins: ${shown}`);
  }

  async #read({ check }: Answered, answer: ModelAnswer): Promise<{ value: Json } | { text: string; problem: string }> {
    const text = await this.#textOf(answer);
    const value = valueIn(text);
    if (value === undefined) return { text, problem: "it is not JSON" };
    const problem = check(value);
    return problem === undefined ? { value } : { text, problem };
  }

  async #hidden(text: string): Promise<string> {
    const { organizationId, turn } = this.#context;
    const searching = oneSearchAtATime(this.#models.concealing, organizationId, this.#credentials);
    return searching(async () => {
      const { concealer } = this.#credentials;
      return concealer ? inTurns(concealer.text(text), turn) : text;
    });
  }
}

/** The decimals of a cost: a token of a model at 0.01 a million costs 0.00000001. */
const DECIMALS = 12;

const OWN = "the server's model";
const SAID_CHARACTERS = 500;

const asTaskError = ({ problem, status }: LlmError, message: string): WorkflowError =>
  problem === "timeout" ? WorkflowError.of("timeout", message) : WorkflowError.of("communication", message, status);

const repairOf = (problem: string): string =>
  `This does not fit: ${problem}. Answer once more, with JSON alone that fits the schema.`;
