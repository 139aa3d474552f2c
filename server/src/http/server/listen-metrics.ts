/** /metrics on a port of its own, without a credential: for the operator's Prometheus, on loopback unless told otherwise. */
import { messageOf } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Log } from "../../lib/log/log.ts";
import { isLoopback } from "../../lib/loopback.ts";
import type { Metrics } from "../../metrics/metrics.ts";
import { hostProblems } from "../addresses.ts";
import { createServer } from "../node-http.ts";
import { sendError, type Exchange } from "../write-response.ts";
import { open } from "./listen.ts";
import { refuseMethod, sendMetrics } from "../pages/metrics-page.ts";
import { refuseUnreadable } from "../raw-response.ts";
import { isRead, pathOf, requestIds } from "../request.ts";
import { securityHeaders } from "../security-headers.ts";

type MetricsListener = { url: string; serve(metrics: Metrics): void } & AsyncDisposable;

const TIMEOUT_MS = 10_000;

/** Throws OperatorError when it cannot listen there. */
export async function listenMetrics(where: { host: string; port: number }, log: Log): Promise<MetricsListener> {
  const nextId = requestIds();
  const secure = securityHeaders(undefined);
  // A page of a browser on this machine may reach a loopback address by a name of its own. Elsewhere the network decides.
  const hostProblem = isLoopback(where.host)
    ? hostProblems(where.host.includes(":") ? undefined : `http://${where.host}`, "this server has another host name")
    : () => undefined;
  let metrics: Metrics | undefined;

  const answer = async (exchange: Exchange): Promise<void> => {
    const { request, path } = exchange;
    const problem = hostProblem(request.headers.host);
    if (problem) return sendError(exchange, problem.status, "BAD_REQUEST", problem.message);
    if (path !== "/metrics") return sendError(exchange, 404, "NOT_FOUND", "there is nothing at this path but /metrics");
    if (!isRead(request.method)) return refuseMethod(exchange);
    if (!metrics) return sendError(exchange, 503, "UNAVAILABLE", "the server is starting", { "retry-after": "1" });
    await sendMetrics(exchange, metrics);
  };

  const server = createServer(
    {
      headersTimeout: TIMEOUT_MS,
      requestTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_MS / 2,
      maxHeaderSize: LIMITS.headerBytes,
    },
    (request, response) => {
      const exchange = { request, response, requestId: nextId(request), path: pathOf(request.url ?? "/", ""), secure };
      answer(exchange).catch((error: unknown) => {
        log.error({ requestId: exchange.requestId, reason: messageOf(error) }, "metrics failed");
        response.destroy();
      });
    },
  );
  server.on("clientError", (error, socket) => refuseUnreadable(error, socket, secure));
  server.maxConnections = LIMITS.metricsConnections;
  server.maxHeadersCount = LIMITS.headersPerRequest;
  const url = await open(server, where, "METRICS_PORT");
  return {
    url: `${url}/metrics`,
    serve: (served) => (metrics = served),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
