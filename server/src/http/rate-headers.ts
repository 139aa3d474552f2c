/** Where a caller stands with its limit, as headers (draft-ietf-httpapi-ratelimit-headers-10). */
import type { ServerResponse } from "node:http";
import type { Standing } from "../rates/rates.ts";
import { WINDOW_MS } from "../rates/window.ts";

export function setRateHeaders(response: ServerResponse, standing: Standing): void {
  const { policy, limit, remaining, resetSeconds } = standing;
  // `t` is as long as it takes until there is room for one request more, as `Retry-After` is.
  response.setHeader("ratelimit-policy", `"${policy}";q=${limit};w=${WINDOW_MS / 1_000}`);
  response.setHeader("ratelimit", `"${policy}";r=${remaining};t=${resetSeconds}`);
}
