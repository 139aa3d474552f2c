/** A request that is none of GraphQL's: it has an HTTP status of its own (docs/errors.md). */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Refusal } from "../../lib/errors.ts";
import { isJson } from "./graphql-request.ts";

export class Misfit extends Refusal {
  readonly status: 405 | 408 | 415;
  readonly headers: OutgoingHttpHeaders;

  constructor(status: Misfit["status"], message: string, headers: OutgoingHttpHeaders = {}) {
    super("BAD_REQUEST", message);
    this.status = status;
    this.headers = headers;
  }
}

/** As far as its head tells. */
export function misfitOf(request: IncomingMessage): Misfit | undefined {
  if (request.method !== "POST") return new Misfit(405, "send GraphQL operations by POST", { allow: "POST" });
  if (!isJson(request)) return new Misfit(415, "the Content-Type must be application/json, in UTF-8");
  return undefined;
}
