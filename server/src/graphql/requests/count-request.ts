/** Every request of a caller counts against the rate of their organization, also one that is refused. */
import type { Caller } from "../../auth/caller.ts";
import { Refusal } from "../../lib/errors.ts";
import { overRate, type Rates, type Standing } from "../../rates/rates.ts";
import type { Asking } from "./request.ts";

/** Throws RATE_LIMITED. A promise only if the standing has to be looked up. */
export function countRequest(rates: Rates, { counted }: Asking, caller: Caller): void | Promise<void> {
  const judge = (standing: Standing | undefined): void => {
    if (!standing) return;
    counted?.(standing);
    if (standing.isRefused) throw overRate(standing);
  };
  const standing = rates.count(caller);
  return standing instanceof Promise ? standing.then(judge) : judge(standing);
}

/** The error of a request that is not valid but counts: `error`, or RATE_LIMITED if the caller is over the rate. */
export async function countInvalid(rates: Rates, error: unknown, asking: Asking): Promise<unknown> {
  // The credential was already looked at and refused.
  if (error instanceof Refusal && error.code === "UNAUTHENTICATED") return error;
  try {
    const caller = await asking.caller();
    if (caller) await countRequest(rates, asking, caller);
    return error;
  } catch (refusal) {
    return isOverRate(refusal) ? refusal : error;
  }
}

const isOverRate = (error: unknown): boolean => error instanceof Refusal && error.code === "RATE_LIMITED";
