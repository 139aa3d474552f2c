/** Calls of models within the budgets that they belong to: each reserves the most that it may use, and its answer settles it. */
import type { Clock } from "../lib/clock.ts";
import { newId, type AgentId, type OrganizationId, type ProjectId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { OverBudget, type Budgets, type PlannedCall, type Reserved } from "../rates/budgets.ts";
import type { Amount, SentenceCall } from "../rates/spend-store.ts";
import type { ModelAnswer, ModelRequest } from "./call-model.ts";
import { costOf, type Connection } from "./connection.ts";
import { beyondTokensOf, mostUsedBy, tokensOf, usedInAll } from "./most-used.ts";
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
    ask: (request: ModelRequest, onSent: () => void) => Promise<ModelAnswer>,
  ): Promise<ModelAnswer> {
    const reserved = await this.#reserve(connection, by, request);
    const maximum = request.maxTokens ?? (reserved.isOpen ? undefined : LIMITS.modelBudgetAnswerTokens);
    let isSent = false;
    let heardTokens = 0;
    const { onDelta } = request;
    const heard = (text: string): void => {
      heardTokens += tokensOf(text);
      onDelta?.(text);
    };
    try {
      const asked = { ...request, maxTokens: maximum, ...(onDelta && { onDelta: heard }) };
      const answer = await ask(asked, () => (isSent = true));
      const call = by.run ? undefined : this.#sentenceCall(connection, by, answer);
      reserved.settle(usedInAll(answer, request, connection), call);
      return { ...answer, maximum };
    } catch (error) {
      const isUnpaid = !isSent || isRefusal(error);
      reserved.settle(isUnpaid ? NOTHING : mostUsedBy(request, connection, heardTokens));
      throw error;
    }
  }

  async #reserve(connection: Connection, by: Charged, request: ModelRequest): Promise<Reserved> {
    const { id, name, limits, prices } = connection;
    const { organizationId, run, timeoutMs } = by;
    const { budgets, clock, comeAgain } = this.#options;
    const { tokensPerDay = null, costPerDay = null } = limits ?? {};
    try {
      const call: PlannedCall = {
        organizationId,
        connection: id && { id, name, tokensPerDay, costPerDay },
        run,
        most: mostUsedBy(request, connection),
        beyondTokens: beyondTokensOf(request, connection),
        currency: prices?.currency,
        endsBy: clock.now() + timeoutMs + SETTLED_WITHIN_MS,
      };
      return await budgets.reserve(call, by.signal);
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

/**
 * A gateway that waited for its model in vain: 504, 524 of Cloudflare, and 408, as some say it. Not 522, with which Cloudflare says that it
 * reached no origin.
 */
const WAITED_IN_VAIN: ReadonlySet<number> = new Set([408, 504, 524]);

/** Nobody knows what another failure cost, once the request is on its way: a model may have worked for long. */
const isRefusal = (error: unknown): boolean =>
  error instanceof LlmError && error.status !== undefined && !WAITED_IN_VAIN.has(error.status);
