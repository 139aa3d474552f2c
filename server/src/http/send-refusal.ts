import type { Graphql } from "../graphql/graphql.ts";
import type { Code } from "../lib/errors.ts";
import { sendJson, type Exchange } from "./write-response.ts";
import { Misfit } from "./http-refusal.ts";

/** What refuses a request that is not GraphQL, in the shape of GraphQL errors. It counts against no plan. */
export async function sendRefusal(
  graphql: Graphql,
  exchange: Exchange,
  error: unknown,
  statuses: Partial<Record<Code, number>>,
): Promise<void> {
  const { code, result } = await graphql.refuse(error, { caller: () => undefined }, exchange.requestId);
  const status = error instanceof Misfit ? error.status : (statuses[code] ?? 400);
  const retryAfter = result.errors?.[0]?.extensions["retryAfter"];
  sendJson(exchange, status, result, {
    ...(error instanceof Misfit && error.headers),
    ...(status === 401 && { "www-authenticate": "Bearer" }),
    ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  });
}
