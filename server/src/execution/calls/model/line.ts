/** The way to a model over one connection, for one attempt of a step: each answer is counted, and what fails is explained. */
import { WorkflowError } from "../../../definition/workflow-error.ts";
import type { Charge } from "../../../fairness/fair-pool.ts";
import { inTurns } from "../../../fairness/slices.ts";
import { newId } from "../../../lib/ids.ts";
import type { Json } from "../../../lib/json/json.ts";
import { LIMITS } from "../../../lib/limits.ts";
import { shortenedTo } from "../../../lib/text.ts";
import type { Message, ModelAnswer, ModelRequest } from "../../../llm/call-model.ts";
import { costOf, type Connection } from "../../../llm/connection.ts";
import { isNotUnderstood } from "../../../llm/llm.ts";
import { LlmError } from "../../../llm/problem.ts";
import { Postponed, type EffectContext } from "../../effect.ts";
import type { Frame } from "../../frame.ts";
import type { LiveText, SearchComing } from "../../live-text.ts";
import { oneSearchAtATime } from "../calling.ts";
import { ENOUGH_BYTES } from "../conceal.ts";
import { Credentials } from "../http-response.ts";
import type { FileSource } from "./files.ts";
import type { UnreadMessage } from "./messages.ts";
import { connectionOf, type AskModels } from "./models.ts";

const LONGEST_MS = LIMITS.callSeconds * 1_000;
const TIMEOUT_MS = LIMITS.modelCallSeconds * 1_000;

/** A request whose files are still to be read. */
export type UnreadRequest = Omit<ModelRequest, "messages"> & { messages: readonly UnreadMessage[] };

export class ModelLine {
  readonly connection: Connection;
  readonly #models: AskModels;
  readonly #frame: Frame;
  readonly #context: EffectContext;
  /** The connection's key and the definition's secrets: an endpoint may repeat them. */
  readonly #credentials: Credentials;

  private constructor(
    models: AskModels,
    frame: Frame,
    context: EffectContext,
    of: { connection: Connection; credentials: Credentials },
  ) {
    this.#models = models;
    this.#frame = frame;
    this.#context = context;
    this.connection = of.connection;
    this.#credentials = of.credentials;
  }

  /** Throws `configuration`. */
  static async open(models: AskModels, frame: Frame, context: EffectContext, name: string): Promise<ModelLine> {
    const connection = await connectionOf(models, frame, name);
    const { program, journal } = frame.execution;
    const { organizationId, projectId } = journal.head;
    const names = program.secrets;
    const secrets = names.length === 0 ? undefined : await models.readSecrets(organizationId, projectId, names);
    const credentials = new Credentials(undefined, secrets);
    if (connection.apiKey) credentials.hideToo(connection.apiKey);
    return new ModelLine(models, frame, context, { connection, credentials });
  }

  /** Throws WorkflowError, or Postponed. */
  async ask(request: UnreadRequest): Promise<ModelAnswer> {
    try {
      const answer = await this.#call(request);
      this.#count(request, answer);
      return answer;
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  #count(request: UnreadRequest, { usage, model }: ModelAnswer): void {
    const { execution, step } = this.#frame;
    const { head } = execution.journal;
    const { id, name, prices } = this.connection;
    execution.journal.countModelCall(step, {
      run_id: head.id,
      organization_id: head.organizationId,
      id: newId(),
      step_number: step.number,
      agent_id: head.agentId,
      project_id: head.projectId,
      connection_id: id ?? null,
      connection: name,
      model: model ?? request.model ?? this.connection.model,
      called_at: execution.now(),
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cached_input_tokens: usage.cachedInputTokens,
      cost: prices && costOf(usage, prices).toFixed(DECIMALS),
      currency: prices && prices.currency,
    });
  }

  /** An endpoint that knows no schemas is told in words. */
  async #call(request: UnreadRequest): Promise<ModelAnswer> {
    const { organizationId, signal, turn } = this.#context;
    const timeoutMs = this.#frame.task.timeout ? LONGEST_MS : TIMEOUT_MS;
    const { id, parent } = this.#frame.execution.journal.head;
    const run = { id, parentId: parent?.runId };
    using live = this.#showText();
    const onDelta = (text: string): void => live.add(text);
    const call = async (unheard: UnreadRequest): Promise<ModelAnswer> => {
      const asked = { ...unheard, onDelta };
      using held = this.#models.files.open(organizationId);
      const made = hasFiles(asked) ? (late: AbortSignal) => this.#withFiles(asked, held, late) : asked;
      const answer = await this.#models.call(this.connection, { organizationId, signal, turn, timeoutMs, run }, made);
      live.complete();
      return answer;
    };
    try {
      return await call(request);
    } catch (error) {
      const { schema, system, ...rest } = request;
      if (!schema || !isNotUnderstood(error)) throw error;
      const words = `Answer with JSON alone that fits this JSON Schema: ${JSON.stringify(schema)}`;
      return await call({
        ...rest,
        system: system === undefined ? words : `${system}\n\n${words}`,
        idempotencyKey: `${request.idempotencyKey}-words`,
      });
    }
  }

  /** Undefined: there is no memory for the files. */
  async #withFiles(request: UnreadRequest, held: Charge, signal: AbortSignal): Promise<ModelRequest | undefined> {
    const { organizationId, turn } = this.#context;
    const sources = request.messages.flatMap(sourcesOf);
    const read = await this.#models.files.read(sources, held, { organizationId, signal, turn });
    if (!read) return undefined;
    const messages = request.messages.map((message): Message =>
      message.role === "user"
        ? { role: "user", text: message.text, files: read.splice(0, sourcesOf(message).length) }
        : message,
    );
    return { ...request, messages };
  }

  /** Shows what the model writes to who watches the run. */
  #showText(): LiveText {
    const { execution, step } = this.#frame;
    const search = (): ReturnType<SearchComing> => this.#credentials.concealer?.coming();
    return execution.shared.texts.open(execution.journal.head.id, step.number, search);
  }

  async #explained(error: unknown): Promise<unknown> {
    if (!(error instanceof LlmError)) return error;
    if (error.heldUntil !== undefined) return new Postponed(error.heldUntil);
    const { id, baseUrl } = this.connection;
    if (id === undefined) {
      // Where the operator's model is, and what it says, is the operator's alone.
      const { origin, host } = new URL(baseUrl);
      const message = error.message.replaceAll(origin, OWN).replaceAll(host, OWN);
      return asTaskError(error, message);
    }
    // Enough to recognise a credential that begins before the cut.
    const said = error.said && (await this.hidden(error.said.slice(0, SAID_CHARACTERS + ENOUGH_BYTES)));
    return asTaskError(error, said ? `${error.message}: ${shortenedTo(said, SAID_CHARACTERS)}` : error.message);
  }

  /** The answer's text, if it is whole. Throws `model-answer` and `model-refused`. */
  async textOf({ text, finish, maximum }: ModelAnswer, maxTokens: number | undefined): Promise<string> {
    const shown = await this.hidden(text);
    if (finish === "refused")
      throw WorkflowError.of("model-refused", `the provider's filter refused the answer${shown && `: ${shown}`}`);
    if (finish !== "length") return shown;
    const by = cutBy(maxTokens, maximum);
    throw WorkflowError.of("model-answer", `the answer was cut by ${by}. It begins: ${shown}`);
  }

  /** Without the credentials that the endpoint may repeat. */
  async hidden(text: string): Promise<string> {
    return (await this.hiddenIn(text)) as string;
  }

  async hiddenIn(value: Json): Promise<Json> {
    const { organizationId, turn } = this.#context;
    const searching = oneSearchAtATime(this.#models.concealing, organizationId, this.#credentials);
    return searching(async () => {
      const { concealer } = this.#credentials;
      return concealer ? inTurns(concealer.json(value), turn) : value;
    });
  }
}

const sourcesOf = (message: UnreadMessage): readonly FileSource[] =>
  message.role === "user" ? (message.sources ?? []) : [];

const hasFiles = ({ messages }: UnreadRequest): boolean => messages.some((message) => sourcesOf(message).length > 0);

function cutBy(maxTokens: number | undefined, maximum: number | undefined): string {
  if (maxTokens !== undefined) return `maxTokens (${maxTokens})`;
  return maximum === undefined
    ? "the model's own limit of tokens"
    : `the ${maximum} tokens that a call without maxTokens may use over a connection with a limit a day, or where a budget has no room for more`;
}

/** The decimals of a cost: a token of a model at 0.01 a million costs 0.00000001. */
const DECIMALS = 12;

const OWN = "the server's model";
const SAID_CHARACTERS = 500;

function asTaskError({ problem, status }: LlmError, message: string): WorkflowError {
  if (problem === "timeout") return WorkflowError.of("timeout", message);
  if (problem === "over_budget") return WorkflowError.of("limit", message);
  return WorkflowError.of("communication", message, status);
}
