/** A request that is none of GraphQL's: it has an HTTP status of its own (docs/errors.md). */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { isJson, NOT_PERSISTED } from "./graphql-request.ts";

type MisfitCode = "BAD_REQUEST" | "PERSISTED_QUERY_NOT_SUPPORTED";

export class Misfit extends Refusal {
  readonly status: 405 | 408 | 415;
  readonly headers: OutgoingHttpHeaders;

  constructor(
    status: Misfit["status"],
    message: string,
    headers: OutgoingHttpHeaders = {},
    code: MisfitCode = "BAD_REQUEST",
  ) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

/** As far as its head tells. */
export function misfitOf(request: IncomingMessage): Misfit | undefined {
  if (request.method === "GET" && asksForPersisted(request))
    return new Misfit(405, NOT_PERSISTED, { allow: "POST" }, "PERSISTED_QUERY_NOT_SUPPORTED");
  if (request.method !== "POST") return new Misfit(405, "send GraphQL operations by POST", { allow: "POST" });
  if (!isJson(request)) return new Misfit(415, "the Content-Type must be application/json, in UTF-8");
  return undefined;
}

/** Clients send hashes by GET, so that caches can keep the answers. */
const asksForPersisted = ({ url = "" }: IncomingMessage): boolean => /[?&]extensions=[^&]*persistedQuery/.test(url);
