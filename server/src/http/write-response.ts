/** Writes responses: JSON on every path. */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { overloaded, type Code } from "../lib/errors.ts";
import { stringify } from "../lib/json/json-text.ts";
import type { CountedResponse } from "./count-responses.ts";
import { linger } from "./linger.ts";
import type { Standing } from "../rates/rates.ts";
import { WINDOW_MS } from "../fairness/rate-window.ts";
import type { SecurityHeaders } from "./security-headers.ts";

export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  requestId: string;
  path: string;
  secure: SecurityHeaders;
  /** Where its caller stands with its limit, once that is known: its answer tells. */
  standing?: Standing | undefined;
};

/** A request for a WebSocket, which has no response. */
export type Upgrade = Omit<Exchange, "response">;

const errorText = (code: Code, message: string, details?: { retryAfter: number }): string =>
  JSON.stringify({ errors: [{ message, extensions: { code, ...details } }] });

/** The response of a route. Without a `body`, nothing but the head. */
export type Reply = { status: number; body?: object | undefined; headers?: OutgoingHttpHeaders };

export const sendReply = (exchange: Exchange, { status, body, headers }: Reply): void =>
  sendText(exchange, status, body === undefined ? "" : stringify(body), headers);

/** `headers` replace the usual ones of the same name. */
export const sendJson = (exchange: Exchange, status: number, value: unknown, headers?: OutgoingHttpHeaders): void =>
  sendText(exchange, status, JSON.stringify(value), headers);

/** A text or bytes: JSON, unless `headers` says otherwise. */
export function sendText(
  exchange: Exchange,
  status: number,
  body: string | Uint8Array,
  headers?: OutgoingHttpHeaders,
): void {
  if (exchange.response.headersSent) return;
  sendHead(exchange, status, Buffer.byteLength(body), headers);
  // A string goes out with the headers as one write; a Buffer would make it two, 31 % of a small answer's CPU.
  exchange.response.end(body);
}

/** All but the body. */
export const sendHead = (exchange: Exchange, status: number, bytes: number, headers?: OutgoingHttpHeaders): void =>
  writeHead(exchange, status, JSON_TYPE, bytes, headers);

const JSON_TYPE = "application/json; charset=utf-8";

/**
 * Writes what every response has, and `headers`. The connection of a request whose body was not read to its end is closed. `bytes`:
 * undefined if nobody knows how many will follow.
 */
export function writeHead(
  { request, response, requestId, secure, standing }: Exchange,
  status: number,
  type: string | undefined,
  bytes: number | undefined,
  given: OutgoingHttpHeaders | undefined,
): void {
  const isUnread = !request.complete && hasBody(request);
  const headers = isUnread ? { ...given, connection: "close" } : given;
  // All in one list: a single header that was set before makes node:http set, and check, each of them on its own.
  const all: OutgoingHttpHeader[] = ["x-request-id", requestId];
  if (headers) addUnless(headers, all, secure.api);
  else all.push(...secure.api);
  if (standing) addRateHeaders(all, standing);
  const contentType = headers?.["content-type"] ?? type;
  if (contentType !== undefined) all.push("content-type", contentType);
  if (bytes !== undefined) all.push("content-length", bytes);
  if (headers) {
    for (const name of Object.keys(headers)) if (name !== "content-type") all.push(name, headers[name]!);
  }
  response.writeHead(status, all);
  if (isUnread) linger(request, response);
}

/** Adds of `pairs` (name, value, name, value) those whose names `given` has not. */
function addUnless(given: OutgoingHttpHeaders, all: OutgoingHttpHeader[], pairs: readonly string[]): void {
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at]!;
    if (!Object.hasOwn(given, name)) all.push(name, pairs[at + 1]!);
  }
}

/** Where a caller stands with its limit (draft-ietf-httpapi-ratelimit-headers-10). */
function addRateHeaders(headers: OutgoingHttpHeader[], { policy, limit, remaining, resetSeconds }: Standing): void {
  headers.push("ratelimit-policy", `"${policy}";q=${limit};w=${WINDOW_MS / 1_000}`);
  // `t` is the time until there is room for one more request, as `Retry-After` is.
  headers.push("ratelimit", `"${policy}";r=${remaining};t=${resetSeconds}`);
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

const OVERLOADED = overloaded();

/** As little as possible: what it costs, those who are answered lack. `retryAfter`: seconds. */
export function sendOverloaded(exchange: Exchange, retryAfter: number, headers?: OutgoingHttpHeaders): void {
  (exchange.response as CountedResponse).refusedWith = "UNAVAILABLE";
  const text = errorText("UNAVAILABLE", OVERLOADED.message, { retryAfter });
  sendText(exchange, 503, text, { "retry-after": String(retryAfter), ...headers });
}

/** In the shape of GraphQL errors on every path, so that clients need to read only one. */
export function sendError(
  exchange: Exchange,
  status: number,
  code: Code,
  message: string,
  headers?: OutgoingHttpHeaders,
): void {
  (exchange.response as CountedResponse).refusedWith = code;
  sendText(exchange, status, errorText(code, message), headers);
}
