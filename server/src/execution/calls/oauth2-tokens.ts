/**
 * Access tokens by OAuth 2 client credentials (RFC 6749, 4.4). A token is kept in memory until shortly before its end and
 * shared by all runs of the organization that ask with the same client for the same; so is a request for one.
 */
import { hash } from "node:crypto";
import { WorkflowError } from "../../definition/workflow-error.ts";
import type { Clock } from "../../lib/clock.ts";
import { FairCache } from "../../fairness/fair-cache.ts";
import type { OrganizationId } from "../../lib/ids.ts";
import { isObject, parseJson, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { textIn } from "../../outbound/body-text.ts";
import type { Outbound, OutboundResponse } from "../../outbound/outbound.ts";
import { asWorkflowError } from "./outbound-errors.ts";
import type { TokenRequest } from "./token-request.ts";

export type Tokens = {
  /** `isNew`: it was not known before. Rejects with WorkflowError, or with the signal's reason. */
  get(
    organizationId: OrganizationId,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<{ token: string; isNew: boolean }>;
  /** The service does not take it: the next one is asked for. */
  forget(organizationId: OrganizationId, request: TokenRequest, token: string): void;
};

type Kept = { token: string; until: number };

/** The tokens of all organizations. */
const KEPT = 1_000;
const TIMEOUT_MS = 30_000;
/** The life of a token whose answer does not say how long it is good. */
const UNSAID_SECONDS = 60;
/** It must still be good when it arrives. */
const MARGIN_SECONDS = 30;
const MARGIN_SHARE = 0.1;

export function createTokens(outbound: Outbound, clock: Clock): Tokens {
  // A token that is lost must be asked for again, which its authority may count.
  const kept = new FairCache<Kept>(KEPT);
  const asking = new Map<string, Promise<string>>();

  const ask = (organizationId: OrganizationId, request: TokenRequest, key: string): Promise<string> => {
    const since = clock.now();
    const promise = requestToken(outbound, organizationId, request)
      .then(({ token, seconds }) => {
        if (seconds > 0) kept.set(organizationId, key, { token, until: since + seconds * 1_000 });
        return token;
      })
      .finally(() => asking.delete(key));
    // The error reaches those who wait, if there still are any.
    promise.catch(() => {});
    asking.set(key, promise);
    return promise;
  };

  return {
    async get(organizationId, request, signal) {
      const key = keyOf(organizationId, request);
      const known = kept.get(organizationId, key);
      if (known && known.until > clock.now()) return { token: known.token, isNew: false };
      const token = await unlessAborted(asking.get(key) ?? ask(organizationId, request, key), signal);
      return { token, isNew: true };
    },
    forget(organizationId, request, token) {
      const key = keyOf(organizationId, request);
      if (kept.get(organizationId, key)?.token === token) kept.delete(organizationId, key);
    },
  };
}

/** With all that the request is made of, the client's secret too: with another one it is another request. */
const keyOf = (organizationId: OrganizationId, request: TokenRequest): string =>
  hash("sha256", JSON.stringify([organizationId, request]), "base64url");

/** The request goes on for the others. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    const over = (): void => signal.removeEventListener("abort", stop);
    promise.then(resolve, reject).finally(over);
  });
}

async function requestToken(
  outbound: Outbound,
  organizationId: OrganizationId,
  { url, headers, body }: TokenRequest,
): Promise<{ token: string; seconds: number }> {
  let response: OutboundResponse;
  try {
    response = await outbound.request({
      organizationId,
      method: "POST",
      url,
      headers: { ...headers, accept: "application/json" },
      body,
      redirect: false,
      signal: new AbortController().signal,
      timeoutMs: TIMEOUT_MS,
    });
  } catch (error) {
    throw asWorkflowError(error, "no token for the call: ");
  }
  return tokenIn(response);
}

/** The codes of RFC 6749 (5.2) and 8707: anything else in their place is not shown, as it may repeat the client's secret. */
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

const TOKEN = /^[\x21-\x7e]+$/;

function tokenIn(response: OutboundResponse): { token: string; seconds: number } {
  const { origin } = new URL(response.url);
  const answer = answerIn(response);
  if (response.status < 200 || response.status > 299) {
    const error = String(answer["error"]);
    const why = ERRORS.has(error) ? ` (${error})` : "";
    const message = `${origin} answered ${response.status}${why} to the request for a token`;
    const isRefused = response.status >= 400 && response.status < 500 && response.status !== 429;
    if (isRefused) throw WorkflowError.of("authentication", message, 401);
    // Only the headers that say when to ask again: the answer may repeat the client's secret.
    const headers = Object.fromEntries(Object.entries(response.headers).filter(([name]) => WHEN.has(name)));
    const { status } = response;
    throw WorkflowError.of("communication", message, status).answeredBy({ status, headers, body: null });
  }
  const { access_token: token, token_type: type = "Bearer", expires_in: seconds = UNSAID_SECONDS } = answer;
  if (typeof token !== "string" || !TOKEN.test(token) || token.length > LIMITS.secretBytes)
    throw WorkflowError.of("communication", `${origin} answered without a token that can be sent`);
  if (String(type).toLowerCase() !== "bearer")
    throw WorkflowError.of("authentication", `${origin} answered with a token of another type than Bearer`);
  const good = Number(seconds) || 0;
  return { token, seconds: good - Math.min(MARGIN_SECONDS, good * MARGIN_SHARE) };
}

function answerIn(response: OutboundResponse): JsonObject {
  try {
    const answer = parseJson(textIn(response));
    return isObject(answer) ? answer : {};
  } catch {
    return {};
  }
}
