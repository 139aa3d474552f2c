/** The parts of a request that are read before anything is done for it. */
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { LIMITS } from "../lib/limits.ts";

const REQUEST_ID = /^[\w.:-]{1,128}$/;
/** The caller's `X-Request-Id` if it may be written to a log, otherwise a new one that is unique to this process. */
export function requestIds(): (request: IncomingMessage) => string {
  const start = randomBytes(6).toString("base64url");
  let count = 0;
  return ({ headers: { "x-request-id": given } }) =>
    typeof given === "string" && REQUEST_ID.test(given) ? given : `${start}-${(++count).toString(36)}`;
}

/** The path below the public URL's path, which a proxy may strip, without the query. Empty for exactly the public URL. */
export function pathOf(url: string, prefix: string): string {
  const end = url.indexOf("?");
  const path = end < 0 ? url : url.slice(0, end);
  return prefix !== "" && (path === prefix || path.startsWith(`${prefix}/`)) ? path.slice(prefix.length) : path;
}

/** Cut, as a copy: a part of a text keeps the whole of it in memory. */
export function userAgentOf({ headers: { "user-agent": text } }: IncomingMessage): string | undefined {
  if (text === undefined || text.length <= LIMITS.userAgentCharacters) return text;
  return Buffer.from(text.slice(0, LIMITS.userAgentCharacters), "latin1").toString("latin1");
}

export const isRead = (method: string | undefined): boolean => method === "GET" || method === "HEAD";
