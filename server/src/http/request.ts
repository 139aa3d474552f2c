/** What is read from a request before anything is done for it. */
import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../lib/errors.ts";
import { LIMITS } from "../lib/limits.ts";

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

export const tooLarge = (): Refusal =>
  new Refusal("REQUEST_ENTITY_TOO_LARGE", `the request body is larger than ${LIMITS.bodyBytes} bytes`);

export const isTooLong = ({ headers }: IncomingMessage): boolean =>
  Number(headers["content-length"] ?? 0) > LIMITS.bodyBytes;

/** The whole body as text, chunked or not. Throws REQUEST_ENTITY_TOO_LARGE as soon as it is, and BAD_REQUEST. */
export function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    if (isTooLong(request)) return reject(tooLarge());
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= LIMITS.bodyBytes) return chunks.push(chunk);
      request.pause();
      reject(tooLarge());
    });
    request.on("end", () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      if (isUtf8(body)) resolve(body.toString());
      else reject(new Refusal("BAD_REQUEST", "the request body is not UTF-8 text"));
    });
    request.on("error", reject);
  });
}
