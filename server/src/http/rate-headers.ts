/** Where a caller stands with its limit, as headers (draft-ietf-httpapi-ratelimit-headers-10). */
import type { OutgoingHttpHeader } from "node:http";
import type { Standing } from "../rates/rates.ts";
import { WINDOW_MS } from "../rates/window.ts";

export function addRateHeaders(headers: OutgoingHttpHeader[], standing: Standing): void {
  const { policy, limit, remaining, resetSeconds } = standing;
  // `t` is as long as it takes until there is room for one request more, as `Retry-After` is.
  headers.push("ratelimit-policy", `"${policy}";q=${limit};w=${WINDOW_MS / 1_000}`);
  headers.push("ratelimit", `"${policy}";r=${remaining};t=${resetSeconds}`);
}
