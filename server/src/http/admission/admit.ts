/** The admission of requests that are no GraphQL: who is it, have they asked too often, and may they do it (auth/admission/admission.ts). */
import type { IncomingMessage } from "node:http";
import { findRefusal } from "../../auth/admission/admission.ts";
import { requireCaller, type Caller } from "../../auth/caller.ts";
import type { Needs } from "../../auth/needs.ts";
import { countRequest, type Rates } from "../../rates/rates.ts";
import type { Admission } from "./admission.ts";
import type { Exchange } from "../write-response.ts";

export type AdmitOptions = {
  admission: Admission;
  rates: Rates;
  clientAddress: (request: IncomingMessage) => string;
};

/** Throws UNAUTHENTICATED, RATE_LIMITED or FORBIDDEN. */
export async function admit(
  { admission, rates, clientAddress }: AdmitOptions,
  exchange: Exchange,
  needs: Needs,
): Promise<Caller> {
  const { request } = exchange;
  const { authorization } = request.headers;
  const caller = requireCaller(await admission.identify(request.socket, authorization, () => clientAddress(request)));
  await countRequest(rates, caller, (standing) => void (exchange.standing = standing));
  const refusal = findRefusal(caller, needs);
  if (refusal) throw refusal;
  return caller;
}
