/** A request that is none of GraphQL's: it has an HTTP status of its own (docs/errors.md). */
import type { OutgoingHttpHeaders } from "node:http";
import { Refusal } from "../lib/errors.ts";

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
