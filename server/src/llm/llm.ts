/**
 * The only way to the language model that the operator configured (docs/drafts.md). Calls its address alone, follows no redirect, and
 * limits what an organization can spend.
 */
import { follow } from "../lib/abort.ts";
import { countsOf, type Counts } from "../lib/figures.ts";
import type { Clock } from "../lib/clock.ts";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { RateWindows } from "../fairness/rate-window.ts";
import { Slots } from "../fairness/slots.ts";
import { retryAfterMs } from "../outbound/retry-after.ts";
import { createOutbound } from "../outbound/outbound.ts";
import type { Usage } from "../rates/usage.ts";
import { openModel, type Question } from "./model.ts";
import { LLM_PROBLEMS, LlmError, type LlmProblem } from "./problem.ts";

type LlmSettings = { baseUrl: string; apiKey: string | undefined; model: string };

/** The text of the model's answer. Throws LlmError, or the signal's reason. */
export type Ask = (question: Question) => Promise<string>;

export interface Llm {
  readonly settings: LlmSettings;
  /** Whether an organization is the operator's own: it alone sees where the model is, and what it says when it fails. */
  isOperator(organizationId: OrganizationId): Promise<boolean>;
  /** Limits how often people may test the connection. */
  readonly tests: RateWindows<OrganizationId>;
  readonly figures: { calls: Counts<LlmProblem | "answered"> };
  /**
   * A few questions that belong together: they count as one and have `LIMITS.llmSeconds` for all. Never queues. Throws
   * LlmError; rejects with the signal's reason when nobody waits any longer.
   */
  use<Result>(
    organizationId: OrganizationId,
    signal: AbortSignal,
    work: (ask: Ask) => Promise<Result>,
  ): Promise<Result>;
}

type LlmOptions = {
  clock: Clock;
  log: Log;
  usage: Pick<Usage, "modelTokens">;
  operator: { has(organizationId: OrganizationId): Promise<boolean> };
};

export function createLlm(settings: LlmSettings, { clock, log, usage, operator }: LlmOptions): Llm & AsyncDisposable {
  const { host } = new URL(settings.baseUrl);
  // The operator names the address, which may be a private one: OUTBOUND_ALLOW would open it to every author's calls as well.
  const outbound = createOutbound({ allow: ["0.0.0.0/0", "::/0"], clock, log });
  const slots = new Slots(LIMITS.llmAtOnce, LIMITS.llmAtOnceOwn / LIMITS.llmAtOnce);
  const uses = new RateWindows<OrganizationId>(clock);
  const figures = { calls: countsOf([...LLM_PROBLEMS, "answered"]) };
  const pause = new Pause(clock);
  const model = openModel(settings, outbound, { host, onResponse: (response) => pause.read(response) });

  return {
    settings,
    isOperator: (organizationId) => operator.has(organizationId),
    tests: new RateWindows(clock),
    figures,
    async use(organizationId, signal, work) {
      if (pause.isOn()) throw new LlmError("rate_limited", `${host} asked for a pause`);
      if (!slots.tryTake(organizationId))
        throw new LlmError(
          "too_often",
          `an organization may ask ${LIMITS.llmAtOnceOwn} times at once, and all organizations together ${LIMITS.llmAtOnce}`,
        );
      using late = follow(signal);
      let isLate = false;
      using _deadline = clock.at(clock.now() + LIMITS.llmSeconds * 1000, () => {
        isLate = true;
        late.abort(new LlmError("timeout", `${host} did not answer within ${LIMITS.llmSeconds} s`));
      });
      try {
        // Counted only once there is a slot for it.
        if (!uses.take(organizationId, LIMITS.llmUsesPerMinute).isTaken)
          throw new LlmError("too_often", `an organization may ask ${LIMITS.llmUsesPerMinute} times a minute`);
        return await work(async (question) => {
          try {
            const { text, tokens } = await model.answer(organizationId, question, late.signal);
            usage.modelTokens(organizationId, tokens);
            figures.calls.answered++;
            return text;
          } catch (error) {
            signal.throwIfAborted();
            const found: unknown = isLate ? late.signal.reason : error;
            if (found instanceof LlmError) figures.calls[found.problem]++;
            throw found;
          }
        });
      } finally {
        slots.release(organizationId);
      }
    },
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}

/** The pause that the endpoint last asked for with `Retry-After`, at most `LIMITS.llmPauseSeconds`. */
class Pause {
  readonly #clock: Clock;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A time further ahead than any pause dates from before the clock was set back. */
  isOn(): boolean {
    const leftMs = this.#until - this.#clock.now();
    return leftMs > 0 && leftMs <= LIMITS.llmPauseSeconds * 1000;
  }

  read(response: Parameters<typeof retryAfterMs>[0]): void {
    const ms = retryAfterMs(response, this.#clock.now());
    if (ms === 0) return;
    const until = this.#clock.now() + Math.min(ms, LIMITS.llmPauseSeconds * 1000);
    this.#until = this.isOn() ? Math.max(this.#until, until) : until;
  }
}
