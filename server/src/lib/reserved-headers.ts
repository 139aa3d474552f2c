import { LIMITS } from "./limits.ts";

/** Headers that frame a request or choose the server: they follow from its URL and body, and nobody may set them. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "proxy-connection",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Headers that say what a question is and who asks: a key in their place would break it or end up in logs. */
const TAKEN: ReadonlySet<string> = new Set([
  "anthropic-beta",
  "anthropic-version",
  "cookie",
  "forwarded",
  "idempotency-key",
  "origin",
  "referer",
  "user-agent",
  "via",
]);
const TAKEN_BEGINNINGS = ["accept", "content-", "proxy-", "sec-", "x-forwarded-"];

/** The reason why no key of a model may go in a header of this name, to be read after the name of its setting; undefined if one may. */
export function keyHeaderProblem(name: string): { code: "too_long" | "invalid"; message: string } | undefined {
  if (name.length > LIMITS.modelKeyHeaderCharacters)
    return { code: "too_long", message: `must have at most ${LIMITS.modelKeyHeaderCharacters} characters` };
  if (!TOKEN.test(name)) return { code: "invalid", message: "must be the name of a header, such as api-key" };
  const lower = name.toLowerCase();
  const isTaken =
    RESERVED_HEADERS.has(lower) ||
    TAKEN.has(lower) ||
    TAKEN_BEGINNINGS.some((beginning) => lower.startsWith(beginning));
  return isTaken
    ? { code: "invalid", message: `must be a header that is free for a key, such as api-key: ${lower} is not` }
    : undefined;
}
