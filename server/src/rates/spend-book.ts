/** The account of what models used, and of what calls under way may still use, as one transaction sees and changes it. */
import { utcDate } from "../lib/calendar.ts";
import { timeOfId } from "../lib/ids.ts";
import type { Amount, Changes, Place, Reservation, Spent } from "./spend-store.ts";

/** A call must leave room in it. Null: without a limit. `cost`: in the currency of the call. */
export type Budget = Place & { tokens: number | null; cost: number | null };

/** The budget without room. `isBusy`: there is room as soon as calls that are under way use less than they may. */
export type Refused = { budget: Budget; unit: keyof Amount; used: number; isBusy: boolean };

export class SpendBook {
  readonly #spent = new Totals();
  readonly #reserved = new Totals();
  readonly #open = new Map<string, Reservation>();
  readonly #added = new Map<string, Spent>();
  readonly #made = new Map<string, Reservation>();
  readonly #expired: Reservation[] = [];

  /** Reservations that have expired by `now` count in full. */
  constructor(now: number, spent: readonly Spent[], reserved: readonly Reservation[]) {
    for (const one of spent) this.#spent.add(one, one);
    for (const one of reserved) {
      if (one.expiresAt > now) this.#hold(one);
      else this.#expire(one);
    }
  }

  /** The reservation that is made: without `beyondTokens` if not all of the budgets have room for them. */
  reserve(wanted: Reservation, budgets: readonly Budget[]): Refused | Reservation {
    // It was written before, and the answer of its commit was lost.
    const known = this.#open.get(wanted.id);
    if (known) return known;
    let made = wanted;
    if (this.#refusedByAny(budgets, made)) made = { ...wanted, beyondTokens: 0 };
    const refused = this.#refusedByAny(budgets, made);
    if (refused) return refused;
    this.#hold(made);
    this.#made.set(made.id, made);
    return made;
  }

  #refusedByAny(budgets: readonly Budget[], wanted: Reservation): Refused | undefined {
    for (const budget of budgets) {
      const refused = this.#refusedBy(budget, wanted, "tokens") ?? this.#refusedBy(budget, wanted, "cost");
      if (refused) return refused;
    }
    return undefined;
  }

  #refusedBy(budget: Budget, wanted: Reservation, unit: keyof Amount): Refused | undefined {
    const most = budget[unit];
    if (most === null) return undefined;
    const { currency } = wanted;
    const used = this.#spent.of(budget, unit, currency);
    const more = heldBy(wanted)[unit];
    if (used + more > most) return { budget, unit, used, isBusy: false };
    const all = used + this.#reserved.of(budget, unit, currency) + more;
    return all > most ? { budget, unit, used, isBusy: true } : undefined;
  }

  #hold(reservation: Reservation): void {
    this.#open.set(reservation.id, reservation);
    for (const place of placesOf(reservation)) this.#reserved.add(place, heldBy(reservation));
  }

  #expire(reservation: Reservation): void {
    for (const place of placesOf(reservation)) this.#spend(place, reservation);
    this.#expired.push(reservation);
  }

  #spend({ organizationId, subject, day }: Place, more: Priced): void {
    const place = { organizationId, subject, day };
    this.#spent.add(place, more);
    const { currency } = more;
    const key = `${keyOf(place)} ${currency}`;
    const { tokens, cost } = this.#added.get(key) ?? NOTHING;
    this.#added.set(key, { ...place, currency, tokens: tokens + more.tokens, cost: cost + more.cost });
  }

  changes(): Changes {
    const spent = [...this.#added.values()].filter(({ tokens, cost }) => tokens !== 0 || cost !== 0);
    return { spent, reserved: [...this.#made.values()], expired: this.#expired };
  }
}

type Priced = Amount & { currency: string };

const NOTHING: Amount = { tokens: 0, cost: 0 };

/** Its part of a budget while it is under way. */
const heldBy = ({ currency, tokens, beyondTokens, cost }: Reservation): Priced => ({
  currency,
  tokens: tokens + beyondTokens,
  cost,
});

/** Sums by place. */
class Totals {
  readonly #sums = new Map<string, { tokens: number; costs: Map<string, number> }>();

  add(place: Place, { currency, tokens, cost }: Priced): void {
    const key = keyOf(place);
    const sum = this.#sums.get(key) ?? { tokens: 0, costs: new Map() };
    this.#sums.set(key, sum);
    sum.tokens += tokens;
    sum.costs.set(currency, (sum.costs.get(currency) ?? 0) + cost);
  }

  /** Tokens of calls in any currency; costs in this one. */
  of(place: Place, unit: keyof Amount, currency: string): number {
    const sum = this.#sums.get(keyOf(place));
    return (unit === "tokens" ? sum?.tokens : sum?.costs.get(currency)) ?? 0;
  }
}

const keyOf = ({ organizationId, subject, day }: Place): string => `${organizationId} ${subject} ${day}`;

/** A run is counted over its whole life, under the day on which it was created; the others by day. */
export function placesOf({ organizationId, connectionId, runId, day }: PlaceOfCall): Place[] {
  const places: Place[] = [{ organizationId, subject: organizationId, day }];
  if (connectionId !== null) places.push({ organizationId, subject: connectionId, day });
  if (runId !== null) places.push({ organizationId, subject: runId, day: utcDate(timeOfId(runId)) });
  return places;
}

type PlaceOfCall = Pick<Reservation, "organizationId" | "connectionId" | "runId" | "day">;
