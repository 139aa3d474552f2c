/**
 * The only way to a language model, over the operator's own connection or one of a project's (models/). Follows no redirect, and limits
 * what an organization can have under way.
 */
import { LRUCache } from "lru-cache";
import { follow } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import type { JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { Beats } from "../fairness/pace.ts";
import { RateWindows } from "../fairness/rate-window.ts";
import { Slots } from "../fairness/slots.ts";
import { createOutbound, type Outbound, type ResponseHead } from "../outbound/outbound.ts";
import type { Budgets } from "../rates/budgets.ts";
import type { Usage } from "../rates/usage.ts";
import { callModel, type ModelAnswer, type ModelRequest } from "./call-model.ts";
import { ChargedCalls, type Charged } from "./charged-calls.ts";
import type { Connection } from "./connection.ts";
import { GuardedFetch } from "./guarded-fetch.ts";
import { Endpoints, type Endpoint } from "./endpoints.ts";
import { Crowd } from "./crowd.ts";
import { ModelFigures } from "./figures.ts";
import { LlmError } from "./problem.ts";
import { OpenModels } from "./providers.ts";

export type Question = {
  /** The model's task. */
  system: string;
  prompt: string;
  /** JSON Schema of the answer; none: any text. */
  schema?: JsonObject;
};

/** The text of the model's answer. Throws LlmError, or the signal's reason. */
export type Ask = (question: Question) => Promise<string>;

export interface Llm {
  /** The operator's own connection, if one is configured. */
  readonly own: Connection | undefined;
  /** Whether an organization is the operator's own: it alone sees where that model is, and what it says when it fails. */
  isOperator(organizationId: OrganizationId): Promise<boolean>;
  /** Limits how often people may test a connection. */
  readonly tests: RateWindows<OrganizationId>;
  readonly figures: ModelFigures;
  /**
   * A few calls that belong together: they count as one and have `LIMITS.llmSeconds` for all. Never queues. Throws LlmError;
   * rejects with the signal's reason when nobody waits any longer.
   */
  use<Result>(connection: Connection, by: Use, work: (call: Call) => Promise<Result>): Promise<Result>;
  /**
   * One call of a run, which waits for its turn. Throws LlmError, with `heldUntil` when it is to come again later, or the
   * signal's reason.
   */
  call(connection: Connection, by: RunCall, request: ModelRequest | MakeRequest): Promise<ModelAnswer>;
}

/**
 * Makes a request when its turn has come, if that takes memory or time. Undefined: the call is to come again later. What it throws ends the
 * call.
 */
type MakeRequest = (signal: AbortSignal) => Promise<ModelRequest | undefined>;

/** `timeoutMs`: from when its turn has come. `turn`: awaited before the answer is parsed. */
type RunCall = Omit<Use, "agent"> & {
  run: NonNullable<Charged["run"]>;
  timeoutMs: number;
  turn: () => Promise<void> | undefined;
};

type Use = Pick<Charged, "organizationId" | "agent"> & { signal: AbortSignal };
export type Call = (request: ModelRequest) => Promise<ModelAnswer>;

type LlmOptions = {
  own: Pick<Connection, "baseUrl" | "apiKey" | "apiKeyHeader" | "model" | "prices"> | undefined;
  clock: Clock;
  log: Log;
  usage: Pick<Usage, "modelTokens">;
  budgets: Pick<Budgets, "reserve">;
  operator: { has(organizationId: OrganizationId): Promise<boolean> };
  /** For the connections of projects: private addresses are closed to them, as to every call that an author writes. */
  outbound: Outbound;
};

/** Organizations whose calls were sent away. */
const CROWDS = 1_000;

export const createLlm = (options: LlmOptions): Llm & AsyncDisposable => new Door(options);

class Door implements Llm, AsyncDisposable {
  readonly own: Connection | undefined;
  readonly tests: RateWindows<OrganizationId>;
  readonly figures = new ModelFigures();
  readonly #options: LlmOptions;
  /** The operator names the address, which may be a private one: OUTBOUND_ALLOW would open it to every author's calls as well. */
  readonly #ownOutbound: ReturnType<typeof createOutbound>;
  readonly #slots = new Slots(LIMITS.llmAtOnce, LIMITS.llmAtOnceOwn / LIMITS.llmAtOnce);
  readonly #uses: RateWindows<OrganizationId>;
  readonly #runCalls = new Slots(LIMITS.modelCallsAtOnce, LIMITS.modelCallsAtOnceOwn / LIMITS.modelCallsAtOnce);
  readonly #beats: Beats;
  readonly #endpoints: Endpoints;
  readonly #models = new OpenModels();
  /** Calls that wait for a slot. */
  readonly #waiting = new Map<OrganizationId, number>();
  readonly #charged: ChargedCalls;
  readonly #crowds = new LRUCache<OrganizationId, Crowd>({ max: CROWDS });

  constructor(options: LlmOptions) {
    const { own, clock, log } = options;
    this.#options = options;
    this.own = own && {
      ...own,
      id: undefined,
      name: "server",
      provider: "openai_compatible",
      limits: null,
    };
    this.#beats = new Beats(clock);
    this.#endpoints = new Endpoints(clock);
    const comeAgain = (organizationId: OrganizationId): number => this.#crowdOf(organizationId).next();
    this.#charged = new ChargedCalls({ budgets: options.budgets, clock, comeAgain });
    this.tests = new RateWindows(clock);
    this.#uses = new RateWindows(clock);
    this.#ownOutbound = createOutbound({ allow: ["0.0.0.0/0", "::/0"], clock, log });
  }

  isOperator(organizationId: OrganizationId): Promise<boolean> {
    return this.#options.operator.has(organizationId);
  }

  async use<Result>(
    connection: Connection,
    { organizationId, signal, agent }: Use,
    work: (call: Call) => Promise<Result>,
  ): Promise<Result> {
    const { host } = new URL(connection.baseUrl);
    using _slots = this.#take(connection, organizationId, host);
    const timeoutMs = LIMITS.llmSeconds * 1000;
    using inTime = this.#inTime(host, timeoutMs, signal);
    const by = { organizationId, signal: inTime.signal, timeoutMs, mostBytes: LIMITS.llmAnswerBytes, agent };
    return await work((request) => this.#counted(connection, inTime, () => this.#ask(connection, by, request)));
  }

  async call(
    connection: Connection,
    { organizationId, signal, timeoutMs, turn, run }: RunCall,
    request: ModelRequest | MakeRequest,
  ): Promise<ModelAnswer> {
    const { host } = new URL(connection.baseUrl);
    const endpoint = this.#endpoints.of(connection);
    throwIfHeld(endpoint, host);
    using _endpoint = this.#endpoints.use(connection, endpoint);
    using _slots = await this.#wait(connection, endpoint, { organizationId, signal });
    throwIfHeld(endpoint, host);
    using inTime = this.#inTime(host, timeoutMs, signal);
    const by = { organizationId, signal: inTime.signal, timeoutMs, mostBytes: LIMITS.outputBytes, turn, run };
    try {
      return await this.#counted(connection, inTime, async () => {
        const made = typeof request === "function" ? await request(inTime.signal) : request;
        if (!made) throw this.#noMemory(organizationId);
        return this.#stream(connection, endpoint, by, made);
      });
    } catch (error) {
      if (error instanceof LlmError && (error.status === 429 || error.status === 503)) throwIfHeld(endpoint, host);
      throw error;
    }
  }

  /** The right to ask, until it is disposed: a slot of the connection, if it has a limit of its own, and one of all. */
  async #wait(connection: Connection, { slots }: Endpoint, by: Use): Promise<Disposable> {
    using taken = new DisposableStack();
    for (const from of connection.limits?.concurrency == null ? [this.#runCalls] : [slots, this.#runCalls]) {
      if (!from.tryTake(by.organizationId)) await this.#waitFor(from, by);
      taken.defer(() => from.release(by.organizationId));
    }
    return taken.move();
  }

  async #waitFor(from: Slots, { organizationId, signal }: Use): Promise<void> {
    const waiting = this.#waiting.get(organizationId) ?? 0;
    if (waiting >= LIMITS.modelCallsWaitingOwn) {
      const message = `${LIMITS.modelCallsWaitingOwn} calls of the organization wait for a model already`;
      throw new LlmError("too_often", message, undefined, this.#crowdOf(organizationId).next());
    }
    this.#waiting.set(organizationId, waiting + 1);
    try {
      if (!(await from.take(organizationId, signal))) signal.throwIfAborted();
    } finally {
      const left = this.#waiting.get(organizationId)! - 1;
      if (left > 0) this.#waiting.set(organizationId, left);
      else this.#waiting.delete(organizationId);
    }
  }

  #noMemory(organizationId: OrganizationId): LlmError {
    const until = this.#crowdOf(organizationId).next();
    return new LlmError("too_often", "there is no memory for the files of the call", undefined, until);
  }

  /** A signal that follows the caller's and ends after this long. */
  #inTime(host: string, timeoutMs: number, signal: AbortSignal): InTime {
    const { clock } = this.#options;
    const late = follow(signal);
    const timer = clock.at(clock.now() + timeoutMs, () =>
      late.abort(new LlmError("timeout", `${host} did not answer within ${timeoutMs / 1000} s`)),
    );
    return {
      caller: signal,
      signal: late.signal,
      [Symbol.dispose]() {
        timer[Symbol.dispose]();
        late[Symbol.dispose]();
      },
    };
  }

  async #counted(
    { provider }: Connection,
    { caller, signal }: InTime,
    work: () => Promise<ModelAnswer>,
  ): Promise<ModelAnswer> {
    const begunAt = performance.now();
    try {
      const answer = await work();
      this.figures.answered(provider, answer.usage, begunAt);
      return answer;
    } catch (error) {
      caller.throwIfAborted();
      const found: unknown = signal.aborted ? signal.reason : error;
      if (found instanceof LlmError) this.figures.failed(provider, found.problem, begunAt);
      throw found;
    }
  }

  /** The right to ask, until it is disposed. */
  #take(connection: Connection, organizationId: OrganizationId, host: string): Disposable {
    const endpoint = this.#endpoints.of(connection);
    const { pause, slots } = endpoint;
    if (pause.isOn()) throw new LlmError("rate_limited", `${host} asked for a pause`);
    using taken = new DisposableStack();
    taken.use(this.#endpoints.use(connection, endpoint));
    const take = (from: Slots, message: string): void => {
      if (!from.tryTake(organizationId)) throw new LlmError("too_often", message);
      taken.defer(() => from.release(organizationId));
    };
    const { llmAtOnce, llmAtOnceOwn, llmUsesPerMinute } = LIMITS;
    take(
      this.#slots,
      `an organization may ask ${llmAtOnceOwn} times at once, and all organizations together ${llmAtOnce}`,
    );
    take(slots, `the model connection ${connection.name} may be asked ${connection.limits?.concurrency} times at once`);
    // Counted only once there is a slot for it.
    if (!this.#uses.take(organizationId, llmUsesPerMinute).isTaken)
      throw new LlmError("too_often", `an organization may ask ${llmUsesPerMinute} times a minute`);
    return taken.move();
  }

  /** An endpoint that refuses to stream is asked for whole answers from then on. */
  async #stream(connection: Connection, endpoint: Endpoint, by: Asking, request: ModelRequest): Promise<ModelAnswer> {
    const { onDelta, ...whole } = request;
    if (!onDelta) return this.#ask(connection, by, request);
    const askWhole = async (asked: ModelRequest): Promise<ModelAnswer> => {
      const answer = await this.#ask(connection, by, asked);
      onDelta(answer.text);
      return answer;
    };
    if (endpoint.isWhole) return askWhole(whole);
    try {
      return await this.#ask(connection, by, request);
    } catch (error) {
      // A schema is what more endpoints don't know: the caller then asks without it.
      if (request.schema || !isNotUnderstood(error)) throw error;
      const answer = await askWhole({ ...whole, idempotencyKey: `${request.idempotencyKey}-whole` });
      endpoint.isWhole = true;
      return answer;
    }
  }

  #ask(connection: Connection, by: Asking, request: ModelRequest): Promise<ModelAnswer> {
    return this.#charged.ask(connection, by, request, (asked, onSent) =>
      this.#answerOf(connection, { ...by, onSent }, asked),
    );
  }

  async #answerOf(
    connection: Connection,
    { signal, ...by }: Asking & { onSent: () => void },
    request: ModelRequest,
  ): Promise<ModelAnswer> {
    const { organizationId } = by;
    const { host } = new URL(connection.baseUrl);
    const { pause } = this.#endpoints.of(connection);
    const outbound = connection.id === undefined ? this.#ownOutbound : this.#options.outbound;
    const onResponse = (head: ResponseHead): void => pause.read(head);
    const guarded = { ...by, outbound, host, onResponse, beats: this.#beats };
    const sockets = new GuardedFetch(guarded, request.onDelta !== undefined);
    using own = follow(signal);
    const call = { signal: own.signal, fetch: sockets.fetch };
    const model = await this.#models.open(organizationId, connection, request.model, call);
    const answer = await callModel(model, request, { host, signal: own.signal, sockets });
    this.#options.usage.modelTokens(organizationId, answer.usage.inputTokens + answer.usage.outputTokens);
    return answer;
  }

  #crowdOf(organizationId: OrganizationId): Crowd {
    let crowd = this.#crowds.get(organizationId);
    if (!crowd) this.#crowds.set(organizationId, (crowd = new Crowd(this.#options.clock)));
    return crowd;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ownOutbound[Symbol.asyncDispose]();
  }
}

type Asking = Use & Charged & { mostBytes: number; turn?: RunCall["turn"] };
type InTime = { caller: AbortSignal; signal: AbortSignal } & Disposable;

function throwIfHeld({ pause }: Endpoint, host: string): void {
  const until = pause.heldUntil();
  if (until !== undefined) throw new LlmError("rate_limited", `${host} asked for a pause`, 429, until);
}

/** Statuses of endpoints that do not support structured answers or this limit of tokens: asked once more without. */
const NOT_UNDERSTOOD = new Set([400, 422]);

export const isNotUnderstood = (error: unknown): boolean =>
  error instanceof LlmError && error.status !== undefined && NOT_UNDERSTOOD.has(error.status);

/** Asks for text. The caller looks for JSON among other words: an endpoint may hold to the schema or not. */
export const askWith =
  (call: Call): Ask =>
  async ({ system, prompt, schema }) => {
    const request: ModelRequest = { system, messages: [{ role: "user", text: prompt }] };
    try {
      return (await call({ ...request, schema, maxTokens: LIMITS.llmAnswerTokens })).text;
    } catch (error) {
      if (!isNotUnderstood(error)) throw error;
      return (await call(request)).text;
    }
  };
