/** Sends a prepared request behind the outbound guard. */
import { isObject, type Json } from "../../lib/json/json.ts";
import type { Outbound, OutboundRequest } from "../../outbound/outbound.ts";
import type { Authorizer } from "./authorizer.ts";
import { asWorkflowError } from "./outbound-errors.ts";

type Taken = Required<Pick<OutboundRequest, "taken">>;

/** As often as its authentication needs; the answers in between are dropped. Throws WorkflowError. */
export async function send(
  outbound: Outbound,
  request: OutboundRequest & Taken,
  authorizer: Authorizer | undefined,
): Promise<void> {
  if (!authorizer) return sendOnce(outbound, request);
  const redirect = request.redirect && authorizer.followsRedirects;
  for (let isAgain = true; isAgain;) {
    const authorization = await authorizer.authorization();
    isAgain = false;
    const headers = authorization === undefined ? request.headers : { ...request.headers, authorization };
    const taken: Taken["taken"] = async (response) => {
      isAgain = authorizer.wantsAnother(response);
      if (!isAgain) await request.taken(response);
    };
    await sendOnce(outbound, { ...request, headers, redirect, taken });
  }
}

const sendOnce = (outbound: Outbound, request: OutboundRequest): Promise<void> =>
  outbound.request(request).then(
    () => undefined,
    (error: unknown) => {
      throw asWorkflowError(error);
    },
  );

/** Names in lower case, so that the author's headers override ours. */
export function headersOf(given: Json | undefined): Record<string, string> {
  const entries = isObject(given) ? Object.entries(given) : [];
  // By `fromEntries`: a header named __proto__ would otherwise be lost.
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), textOf(value)]));
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
