/** What is read from a request before anything is done for it. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

const REQUEST_ID = /^[\w.:-]{1,128}$/;
/** The caller's own `X-Request-Id` when it is one that can stand in a log, else a new one, unique to this process. */
export function requestIds(): (request: IncomingMessage) => string {
  const start = randomBytes(6).toString("base64url");
  let count = 0;
  return ({ headers: { "x-request-id": given } }) =>
    typeof given === "string" && REQUEST_ID.test(given) ? given : `${start}-${(++count).toString(36)}`;
}

/** The path below the public URL's own path, without the query: a proxy may leave that path in or take it off. Empty for the public URL without a slash at its end. */
export function pathOf(url: string, prefix: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`)) ? path.slice(prefix.length) : path;
}
