/** Counts what is answered, by route and status and by the code of a refusal. */
import type { ServerResponse } from "node:http";
import { CODES, type Code } from "../lib/errors.ts";
import { countsOf, eachOf, type Counts } from "../lib/figures.ts";
import { pathOf } from "./request.ts";

const ROUTES = ["graphql", "mcp", "webhook", "events", "metrics", "health", "other"] as const;
type Route = (typeof ROUTES)[number];
/** `aborted`: the client went away before there was an answer. */
const STATUSES = ["2xx", "3xx", "4xx", "5xx", "aborted"] as const;
type Status = (typeof STATUSES)[number];

export type HttpFigures = {
  requests: Record<Route, Counts<Status>>;
  /** Refusals of requests as a whole, before GraphQL looked at them. */
  refusals: Counts<Code>;
};

/** `refusedWith`: set by `sendError`. */
export type CountedResponse = ServerResponse & { refusedWith?: Code };

export const createHttpFigures = (): HttpFigures => ({
  requests: eachOf(ROUTES, () => countsOf(STATUSES)),
  refusals: countsOf(CODES),
});

/** Counts a response that is closed. `prefix`: the public URL's path. */
export function countAnswer(
  { requests, refusals }: HttpFigures,
  { req, headersSent, statusCode, refusedWith }: CountedResponse,
  prefix: string,
): void {
  const path = pathOf(req.url ?? "/", prefix);
  requests[routeOf(path)][headersSent ? statusOf(statusCode) : "aborted"]++;
  if (refusedWith !== undefined) refusals[refusedWith]++;
}

function routeOf(path: string): Route {
  if (path === "/graphql") return "graphql";
  if (path === "/mcp") return "mcp";
  if (path.startsWith("/webhook/")) return "webhook";
  if (path === "/events") return "events";
  if (path === "/metrics") return "metrics";
  return path === "/healthz" || path === "/readyz" ? "health" : "other";
}

function statusOf(status: number): Status {
  if (status < 300) return "2xx";
  if (status < 400) return "3xx";
  return status < 500 ? "4xx" : "5xx";
}
