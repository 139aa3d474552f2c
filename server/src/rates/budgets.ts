/**
 * Budgets of what models use: an organization's a day, by its plan; a model connection's a day; and one of each run with the
 * runs below it. A call reserves the most that it may use before it is made, and what it used takes the place of that. The rows are
 * those of all processes of a database, and an organization's calls are counted one after the other, so no two use the same room.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { utcDate } from "../lib/calendar.ts";
import { newId, type ModelConnectionId, type OrganizationId, type RunId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import type { Log } from "../lib/log/log.ts";
import { Batch } from "../storage/batch.ts";
import type { Database, Query } from "../storage/database.ts";
import type { Plan } from "../storage/schema.ts";
import { readSpend, type SpendDay, type SpendKey } from "./read-spend.ts";
import { placesOf, SpendBook, type Budget, type Refused } from "./spend-book.ts";
import {
  lockOrganizations,
  readReservations,
  readRootRun,
  readSpent,
  writeSpending,
  type Amount,
  type Reservation,
  type SentenceCall,
} from "./spend-store.ts";

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
  /** Undefined: without prices. */
  currency: string | undefined;
  /** It has ended by then, or its process died. */
  endsBy: number;
};

/** Settled once: with what was used, `unknown` if nobody knows. Written soon; the next call is counted after it. */
export type Reserved = { settle(used: Amount | "unknown", call?: SentenceCall): void };

export type Budgets = {
  /** Throws OverBudget. */
  reserve(call: PlannedCall): Promise<Reserved>;
  /** The use of connections on their last days, in the order of `keys`. */
  spendOf(organizationId: OrganizationId, keys: readonly SpendKey[]): Promise<SpendDay[][]>;
  /** Resolves when all that was settled so far is written. */
  settled(): Promise<void>;
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

type Entry =
  | { reservation: Reservation; budgets: readonly Budget[] }
  | { reservation: Reservation; used: Amount; call: SentenceCall | undefined };

const DAY_MS = 86_400_000;
/** Runs that others started, with the run that no other started. */
const KEPT_ROOTS = 10_000;

export function createBudgets({ database, clock, log, allowanceOf }: BudgetOptions): Budgets {
  const entries = new Batch<Entry, Refused | undefined>({
    write: (items) => database.transaction((query) => writeAll(query, items, clock.now())),
    id: ({ reservation }) => reservation.id,
    organizationId: ({ reservation }) => reservation.organizationId,
    bytes: () => ENTRY_BYTES,
    inFlight: 1,
  });
  const settling = new Set<Promise<unknown>>();
  const settle = (reservation: Reservation, used: Amount, call: SentenceCall | undefined): void => {
    const written = entries
      .add({ reservation, used, call })
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, NOT_WRITTEN))
      .finally(() => settling.delete(written));
    settling.add(written);
  };
  const settled = async (): Promise<void> => void (await Promise.all(settling));
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
    async reserve(call) {
      const { organizationId, connection, currency = "", most } = call;
      const [allowance, runId] = await Promise.all([allowanceOf(organizationId), rootOf(organizationId, call.run)]);
      const reservation: Reservation = {
        organizationId,
        id: newId(),
        day: utcDate(clock.now()),
        connectionId: connection?.id ?? null,
        runId,
        currency,
        ...most,
        expiresAt: call.endsBy,
      };
      const refused = await entries.add({ reservation, budgets: budgetsOf(reservation, call, allowance) });
      if (refused)
        throw new OverBudget(sentenceOf(refused, { reservation, connection, plan: allowance?.plan }), refused.isBusy);
      return { settle: (used, sentence) => settle(reservation, used === "unknown" ? reservation : used, sentence) };
    },
    spendOf: async (organizationId, keys) => {
      await settled();
      return readSpend(database, organizationId, { keys, today: utcDate(clock.now()) });
    },
    settled,
    [Symbol.asyncDispose]: settled,
  };
}

const NOT_WRITTEN = "what a model used could not be written: it counts in full";
/** The weight of an entry in a statement. */
const ENTRY_BYTES = 500;

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
  const free = isRun ? "" : `, and free again from ${utcDate(Date.parse(day) + DAY_MS)}T00:00:00Z on`;
  return `${who}: ${state}. A lower maxTokens needs less${free}`;
}

type Asked = { plan: Plan | undefined; reservation: Reservation; connection: PlannedCall["connection"] };

async function writeAll(query: Query, entries: readonly Entry[], now: number): Promise<(Refused | undefined)[]> {
  const organizations = [...new Set(entries.map(({ reservation }) => reservation.organizationId))].toSorted();
  await lockOrganizations(query, organizations);
  const reserved = await readReservations(query, organizations);
  const spent = await readSpent(
    query,
    entries.flatMap((entry) => ("budgets" in entry ? entry.budgets : [])),
  );
  const book = new SpendBook(now, spent, reserved);
  const results = entries.map((entry) => {
    if ("budgets" in entry) return book.reserve(entry.reservation, entry.budgets);
    book.settle(entry.reservation, entry.used, entry.call);
    return undefined;
  });
  await writeSpending(query, book.changes());
  return results;
}
