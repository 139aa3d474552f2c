/**
 * GET /metrics on the port that everybody reaches. The figures are those of the whole installation, so they are for whole
 * `admin` credentials of its first organization: to any other they would tell how busy its neighbours are.
 */
import type { Needs } from "../../auth/needs.ts";
import type { FirstOrganization } from "../../auth/first-organization.ts";
import { messageOf, Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { admit, type AdmitOptions } from "../admission/admit.ts";
import { sendError, sendText, type Exchange } from "../write-response.ts";
import { ROUTE_STATUSES } from "../http-refusal.ts";
import { isRead } from "../request.ts";

export type MetricsPageOptions = {
  metrics: Metrics;
  firstOrganization: FirstOrganization;
  isUnavailable: (error: unknown) => boolean;
  log: Log;
} & AdmitOptions;

const NEEDS: Needs = { signIn: true, scopes: new Map([["admin", "/metrics"]]), whole: "/metrics" };

/** Never rejects. */
export const createMetricsPage =
  (options: MetricsPageOptions) =>
  async (exchange: Exchange): Promise<void> => {
    if (!isRead(exchange.request.method)) return refuseMethod(exchange);
    try {
      await admitReader(options, exchange);
      await sendMetrics(exchange, options.metrics);
    } catch (error) {
      refuse(options, exchange, error);
    }
  };

export const refuseMethod = (exchange: Exchange): void =>
  sendError(exchange, 405, "BAD_REQUEST", "ask for metrics by GET", { allow: "GET, HEAD" });

export async function sendMetrics(exchange: Exchange, metrics: Metrics): Promise<void> {
  const { contentType, text } = await metrics.scrape();
  sendText(exchange, 200, text, { "content-type": contentType });
}

/** Throws UNAUTHENTICATED, RATE_LIMITED or FORBIDDEN. */
async function admitReader(options: MetricsPageOptions, exchange: Exchange): Promise<void> {
  const { organizationId } = await admit(options, exchange, NEEDS);
  if (await options.firstOrganization.has(organizationId)) return;
  throw new Refusal("FORBIDDEN", "metrics cover the whole installation: only its first organization may read them");
}

function refuse({ isUnavailable, log }: MetricsPageOptions, exchange: Exchange, error: unknown): void {
  if (error instanceof Refusal) {
    const { code, message, details } = error;
    const retryAfter = details.retryAfter === undefined ? {} : { "retry-after": String(details.retryAfter) };
    const challenge = code === "UNAUTHENTICATED" ? { "www-authenticate": "Bearer" } : {};
    const status = ROUTE_STATUSES[code] ?? 400;
    return sendError(exchange, status, code, message, { ...retryAfter, ...challenge });
  }
  const { requestId } = exchange;
  if (isUnavailable(error)) {
    const message = "the service cannot reach its database at present: try again, or read metrics at METRICS_PORT";
    return sendError(exchange, 503, "UNAVAILABLE", message, { "retry-after": "1" });
  }
  log.error({ requestId, reason: messageOf(error) }, "metrics failed");
  const message = `internal error; the server's log has it under the request id ${requestId}`;
  sendError(exchange, 500, "INTERNAL_SERVER_ERROR", message);
}
