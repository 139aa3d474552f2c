/** Cross-origin calls from browsers: only from origins that the operator listed, never with cookies. */
import type { IncomingMessage } from "node:http";

export type Cors = ReadonlySet<string>;

const PREFLIGHT_KEPT_SECONDS = 3_600;

/** Undefined when the request names no listed origin. */
export function corsHeaders(cors: Cors, { headers: { origin } }: IncomingMessage): Record<string, string> | undefined {
  if (origin === undefined || !cors.has(origin)) return undefined;
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, x-request-id",
    "access-control-expose-headers": "x-request-id, retry-after, ratelimit, ratelimit-policy",
    "access-control-max-age": String(PREFLIGHT_KEPT_SECONDS),
    vary: "origin",
  };
}
