/** Calls of models within the budgets that they belong to: each reserves the most that it may use, and its answer settles it. */
import type { Clock } from "../lib/clock.ts";
import { newId, type AgentId, type OrganizationId, type ProjectId, type RunId } from "../lib/ids.ts";
import { OverBudget, type Budgets, type Reserved } from "../rates/budgets.ts";
import type { Amount, SentenceCall } from "../rates/spend-store.ts";
import type { ModelAnswer, ModelRequest } from "./call-model.ts";
import { costOf, type Connection } from "./connection.ts";
import { maximumOf, mostUsedBy, usedInAll } from "./most-used.ts";
import { LlmError } from "./problem.ts";

export type Charged = {
  organizationId: OrganizationId;
  timeoutMs: number;
  signal: AbortSignal;
  /** The run, and the one that started it: its calls count with those of all runs above it. */
  run?: { id: RunId; parentId: RunId | undefined } | undefined;
  /** Without a run: for which agent it is, if that is known. */
  agent?: { id: AgentId; projectId: ProjectId } | undefined;
};

const NOTHING: Amount = { tokens: 0, cost: 0 };

/** After the end of its time a call is settled within this, or its process died. */
const SETTLED_WITHIN_MS = 60_000;

type Options = {
  budgets: Pick<Budgets, "reserve">;
  clock: Clock;
  /** When a call that found no room should come again. */
  comeAgain: (organizationId: OrganizationId) => number;
};

export class ChargedCalls {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /** Throws LlmError if a budget has no room, the signal's reason, and what `ask` throws. */
  async ask(
    connection: Connection,
    by: Charged,
    request: ModelRequest,
    ask: (request: ModelRequest) => Promise<ModelAnswer>,
  ): Promise<ModelAnswer> {
    const maxTokens = maximumOf(request.maxTokens, connection);
    const reserved = await this.#reserve(connection, by, { ...request, maxTokens });
    if (by.signal.aborted) reserved.settle(NOTHING);
    by.signal.throwIfAborted();
    let hasBegun = false;
    const { onDelta } = request;
    const heard = (text: string): void => {
      hasBegun = true;
      onDelta?.(text);
    };
    try {
      const answer = await ask({ ...request, maxTokens, ...(onDelta && { onDelta: heard }) });
      const call = by.run ? undefined : this.#sentenceCall(connection, by, answer);
      reserved.settle(usedInAll(answer, request, connection), call);
      return answer;
    } catch (error) {
      reserved.settle(isUnpaid(error) && !hasBegun ? NOTHING : "unknown");
      throw error;
    }
  }

  async #reserve(connection: Connection, by: Charged, request: ModelRequest): Promise<Reserved> {
    const { id, name, limits, prices } = connection;
    const { organizationId, run, timeoutMs } = by;
    const { budgets, clock, comeAgain } = this.#options;
    const { tokensPerDay = null, costPerDay = null } = limits ?? {};
    try {
      return await budgets.reserve({
        organizationId,
        connection: id && { id, name, tokensPerDay, costPerDay },
        run,
        most: mostUsedBy(request, connection),
        currency: prices?.currency,
        endsBy: clock.now() + timeoutMs + SETTLED_WITHIN_MS,
      });
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
      throw new LlmError("over_budget", error.message, undefined, error.isBusy ? comeAgain(organizationId) : undefined);
    }
  }

  #sentenceCall(connection: Connection, { organizationId, agent }: Charged, answer: ModelAnswer): SentenceCall {
    const { id, name, prices } = connection;
    return {
      organizationId,
      id: newId(),
      agentId: agent?.id ?? null,
      projectId: agent?.projectId ?? null,
      connectionId: id ?? null,
      connection: name,
      model: answer.model ?? connection.model,
      calledAt: this.#options.clock.now(),
      ...answer.usage,
      cost: prices && costOf(answer.usage, prices),
      currency: prices && prices.currency,
    };
  }
}

/** A refusal, or an endpoint that could not be reached. Nobody knows what others cost: a model may have worked for long. */
const isUnpaid = (error: unknown): boolean =>
  error instanceof LlmError && (error.status !== undefined || error.problem === "unreachable");
