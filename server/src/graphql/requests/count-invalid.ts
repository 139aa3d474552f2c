/** A request that is not valid counts against its caller's rate as any other does. */
import { Refusal } from "../../lib/errors.ts";
import { countRequest, type Rates } from "../../rates/rates.ts";
import type { Asking } from "./request.ts";

/** Returns the error to show: `error`, or RATE_LIMITED if the caller is over the rate. */
export async function countInvalid(
  rates: Rates,
  error: unknown,
  { caller: identify, counted }: Asking,
): Promise<unknown> {
  // The credential was already looked at and refused.
  if (error instanceof Refusal && error.code === "UNAUTHENTICATED") return error;
  try {
    const caller = await identify();
    if (caller) await countRequest(rates, caller, counted);
    return error;
  } catch (refusal) {
    return isOverRate(refusal) ? refusal : error;
  }
}

const isOverRate = (error: unknown): boolean => error instanceof Refusal && error.code === "RATE_LIMITED";
