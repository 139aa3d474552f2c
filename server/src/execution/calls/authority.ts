/** Requests to an authority that gives tokens, and what its answers may show: they may repeat a credential. */
import { WorkflowError } from "../../definition/workflow-error.ts";
import { isObject, parseJson, type JsonObject } from "../../lib/json/json.ts";
import { textIn } from "../../outbound/body-text.ts";
import type { Outbound, OutboundRequest, OutboundResponse } from "../../outbound/outbound.ts";
import { asWorkflowError } from "./outbound-errors.ts";

/** All of it may come from a secret. */
const CONFIDENTIAL = { url: true, headers: new Set<string>(), body: true };
const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** It goes on for others when its caller is gone. Follows no redirect. Throws WorkflowError. */
export async function askAuthority(
  outbound: Outbound,
  request: Pick<OutboundRequest, "organizationId" | "method" | "url" | "headers" | "body">,
): Promise<OutboundResponse> {
  try {
    return await outbound.request({
      ...request,
      headers: { ...request.headers, accept: "application/json" },
      redirect: false,
      confidential: CONFIDENTIAL,
      signal: new AbortController().signal,
      timeoutMs: TIMEOUT_MS,
      mostBytes: MAX_ANSWER_BYTES,
    });
  } catch (error) {
    throw asWorkflowError(error, "no token for the call: ");
  }
}

/** The codes of RFC 6749 (5.2), 8693 and 8707: anything else in their place is not shown. */
const ERRORS = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
  "invalid_target",
  "access_denied",
]);

const WHEN = new Set(["retry-after", "date"]);

/** The error of an answer that is not the one that was asked for. */
export function refusedBy(response: OutboundResponse, toWhat: string): WorkflowError {
  const { status } = response;
  const error = errorIn(response);
  const why = error === undefined ? "" : ` (${error})`;
  const message = `${new URL(response.url).origin} answered ${status}${why} ${toWhat}`;
  const isRefused = status >= 400 && status < 500 && status !== 429;
  if (isRefused) return WorkflowError.of("authentication", message, 401);
  // Only the headers that say when to ask again.
  const headers = Object.fromEntries(Object.entries(response.headers).filter(([name]) => WHEN.has(name)));
  return WorkflowError.of("communication", message, status).answeredBy({ status, headers, body: null });
}

export function errorIn(response: OutboundResponse): string | undefined {
  const { error } = answerIn(response);
  return typeof error === "string" && ERRORS.has(error) ? error : undefined;
}

export function answerIn(response: OutboundResponse): JsonObject {
  try {
    const answer = parseJson(textIn(response));
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}
