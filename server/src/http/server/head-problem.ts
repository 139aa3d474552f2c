/** Problems in a request's head that node:http's parser lets through, and nobody means. */
import type { IncomingMessage } from "node:http";
import { LIMITS } from "../../lib/limits.ts";

export type HeadProblem = { status: 400 | 431 | 501 | 505; message: string };

/** The first problem, if there is one: the connection is closed with it, because nobody knows what its client means. */
export function headProblem(request: IncomingMessage): HeadProblem | undefined {
  const { httpVersionMajor, url = "", headers, rawHeaders } = request;
  if (rawHeaders.length > 2 * LIMITS.headersPerRequest)
    return { status: 431, message: `the request has more than ${LIMITS.headersPerRequest} header fields` };
  // HTTP/0.9 and what says 2.0 in the words of 1.1.
  if (httpVersionMajor !== 1) return { status: 505, message: "this server speaks HTTP/1.1" };
  // A whole URL is for proxies, and names a host beside the Host header.
  if (!url.startsWith("/")) return { status: 400, message: "the request's target must be a path" };
  // Node takes the first, a proxy perhaps another.
  if (hostsIn(rawHeaders) > 1) return { status: 400, message: "the request has more than one Host header" };
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return { status: 501, message: "a body may be sent in chunks, but in no other transfer coding" };
  return undefined;
}

function hostsIn(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === "host".length && name.toLowerCase() === "host") count++;
  }
  return count;
}
