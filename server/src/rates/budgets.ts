/**
 * Budgets of what models use: an organization's a day, by its plan; a model connection's a day; and one of each run with the
 * runs below it. A call reserves the most that it may use before it is made, and what it used takes the place of that. The rows are
 * those of all processes of a database, and an organization's calls are counted one after the other, so no two use the same room.
 */
import { LRUCache } from "lru-cache";
import { unlessAborted } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import { utcDate } from "../lib/calendar.ts";
import { newId, type ModelConnectionId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import type { Database } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { Account, Endings } from "./model-account.ts";
import { readSpend, type SpendDay, type SpendKey } from "./read-spend.ts";
import { placesOf, type Budget, type Refused } from "./spend-book.ts";
import { readRootRun, type Amount, type Reservation, type SentenceCall } from "./spend-store.ts";

/** A call before it is made. */
export type PlannedCall = {
  organizationId: OrganizationId;
  /** Undefined: the operator's. */
  connection:
    | { id: ModelConnectionId; name: string; tokensPerDay: number | null; costPerDay: number | null }
    | undefined;
  /** Undefined: a sentence, or a test of the connection. */
  run: { id: RunId; parentId: RunId | undefined } | undefined;
  /** The most that it may use. */
  most: Amount;
  /** Tokens of an answer without a maximum that it may use beyond that, if there is room for them. */
  beyondTokens: number;
  /** Undefined: without prices. */
  currency: string | undefined;
  /** It has ended by then, or its process died. */
  endsBy: number;
};

export type Reserved = {
  /** Whether the answer may have tokens beyond the most: else it is to be sent a maximum. */
  isOpen: boolean;
  /** Called once, with what was used. Written soon, and again if the database can't be used. */
  settle(used: Amount, call?: SentenceCall): void;
};

export type Budgets = {
  /** Throws OverBudget, or the signal's reason: nothing is reserved then. */
  reserve(call: PlannedCall, signal?: AbortSignal): Promise<Reserved>;
  /** The use of connections on their last days, in the order of `keys`. */
  spendOf(organizationId: OrganizationId, keys: readonly SpendKey[]): Promise<SpendDay[][]>;
  /** Resolves when all that was settled so far for the organization is written, or could not be. */
  settled(organizationId: OrganizationId): Promise<void>;
} & AsyncDisposable;

export class OverBudget extends Error {
  /** Calls that are under way may use less than they reserved: it is worth to come again soon. */
  readonly isBusy: boolean;

  constructor(message: string, isBusy: boolean) {
    super(message);
    this.name = "OverBudget";
    this.isBusy = isBusy;
  }
}

type Allowance = { plan: Plan; modelTokensPerDay: number | null };
type BudgetOptions = {
  database: Database;
  clock: Clock;
  log: Log;
  allowanceOf(organizationId: OrganizationId): Promise<Allowance | undefined>;
};

const DAY_MS = 86_400_000;
/** Runs that others started, with the run that no other started. */
const KEPT_ROOTS = 10_000;

export function createBudgets({ database, clock, log, allowanceOf }: BudgetOptions): Budgets {
  const account = new Account(database, clock);
  const endings = new Endings(account, clock, log);
  const roots = new LRUCache<RunId, RunId>({ max: KEPT_ROOTS });

  const rootOf = async (organizationId: OrganizationId, run: PlannedCall["run"]): Promise<RunId | null> => {
    if (!run?.parentId) return run?.id ?? null;
    const known = roots.get(run.parentId);
    if (known !== undefined) return known;
    const root = await readRootRun(database, organizationId, run.parentId);
    roots.set(run.parentId, root);
    return root;
  };

  return {
    async reserve(call, signal) {
      const { organizationId, connection, currency = "", most, beyondTokens } = call;
      const [allowance, runId] = await Promise.all([allowanceOf(organizationId), rootOf(organizationId, call.run)]);
      signal?.throwIfAborted();
      const reservation: Reservation = {
        organizationId,
        id: newId(),
        day: utcDate(clock.now()),
        connectionId: connection?.id ?? null,
        runId,
        currency,
        ...most,
        beyondTokens,
        expiresAt: call.endsBy,
      };
      const written = account.reserve({ reservation, budgets: budgetsOf(reservation, call, allowance) });
      const made = await unlessAborted(written, signal).catch((error: unknown) => {
        // The answer of its commit may be lost, or still come.
        const withdraw = (): void => endings.add({ reservation, used: NOTHING, isUnsure: true });
        void written.then(withdraw, withdraw);
        throw error;
      });
      if ("isBusy" in made)
        throw new OverBudget(sentenceOf(made, { reservation, connection, plan: allowance?.plan }), made.isBusy);
      return {
        isOpen: made.beyondTokens > 0,
        settle: (used, sentence) => endings.add({ reservation: made, used, call: sentence }),
      };
    },
    spendOf: async (organizationId, keys) => {
      await endings.written(organizationId);
      return readSpend(database, organizationId, { keys, now: clock.now() });
    },
    settled: (organizationId) => endings.written(organizationId),
    [Symbol.asyncDispose]: () => endings[Symbol.asyncDispose](),
  };
}

const NOTHING: Amount = { tokens: 0, cost: 0 };

function budgetsOf(reservation: Reservation, { connection }: PlannedCall, allowance: Allowance | undefined): Budget[] {
  const { connectionId, runId } = reservation;
  return placesOf(reservation).map((place) => {
    if (place.subject === connectionId)
      return { ...place, tokens: connection!.tokensPerDay, cost: connection!.costPerDay };
    const tokens = place.subject === runId ? LIMITS.modelTokensPerRun : allowance?.modelTokensPerDay;
    return { ...place, tokens: tokens ?? null, cost: null };
  });
}

/** Says which budget it is, how much of it is used, and when it is free again. */
function sentenceOf({ budget, unit, used, isBusy }: Refused, { plan, reservation, connection }: Asked): string {
  const { subject, day } = budget;
  const isRun = subject === reservation.runId;
  const amount = (of: number): string =>
    unit === "tokens" ? `${of} tokens` : `${Number(of.toFixed(6))} ${reservation.currency}`;
  const who =
    subject === reservation.connectionId
      ? `the model connection ${connection?.name} may use ${amount(budget[unit]!)} a day`
      : isRun
        ? `a run and the runs below it may use ${amount(budget[unit]!)} of models`
        : `the organization's plan (${plan}) allows ${amount(budget[unit]!)} of models a day`;
  const state = `${amount(used)} are used${isBusy ? ", calls under way have reserved others" : ""}, and this call may use up to ${amount(reservation[unit])}`;
  const free = isRun ? "" : `, and all of it is free again from ${utcDate(Date.parse(day) + DAY_MS)}T00:00:00Z on`;
  return `${who}: ${state}. A lower maxTokens needs less${free}`;
}

type Asked = { plan: Plan | undefined; reservation: Reservation; connection: PlannedCall["connection"] };
