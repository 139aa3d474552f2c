/** Refuses a request as a whole, with the HTTP status that says so (docs/errors.md). */
import type { OutgoingHttpHeaders } from "node:http";
import type { Graphql } from "../graphql/graphql.ts";
import { Refusal, type Code } from "../lib/errors.ts";
import { sendJson, type Exchange } from "./write-response.ts";

/** Refuses what HTTP alone is wrong with, with a status of its own. */
export class HttpRefusal extends Refusal {
  readonly status: 405 | 408 | 415;
  readonly headers: OutgoingHttpHeaders;

  constructor(
    status: HttpRefusal["status"],
    message: string,
    headers: OutgoingHttpHeaders = {},
    code: "BAD_REQUEST" | "PERSISTED_QUERY_NOT_SUPPORTED" = "BAD_REQUEST",
  ) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

export type Statuses = Partial<Record<Code, number>>;

/** Any other code is about an operation of GraphQL, and within a 200. */
export const STATUSES: Statuses = {
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  REQUEST_ENTITY_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  UNAVAILABLE: 503,
};

/** The statuses of all routes but `/graphql`. Any other code is a 400. */
export const ROUTE_STATUSES: Statuses = { ...STATUSES, FORBIDDEN: 403, NOT_FOUND: 404, CONFLICT: 409 };

/** Sends any error in the shape of GraphQL errors. It counts against no plan. */
export async function sendRefusal(
  graphql: Graphql,
  exchange: Exchange,
  error: unknown,
  statuses = ROUTE_STATUSES,
): Promise<void> {
  const { code, result } = await graphql.refuse(error, { caller: () => undefined }, exchange.requestId);
  const status = error instanceof HttpRefusal ? error.status : (statuses[code] ?? 400);
  const retryAfter = result.errors?.[0]?.extensions["retryAfter"];
  sendJson(exchange, status, result, {
    ...(error instanceof HttpRefusal && error.headers),
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
}
