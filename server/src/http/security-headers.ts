/**
 * The headers that protect browsers, for every answer: the one place. Answers of the API have constant lists,
 * handed to node:http as they are; those of pages are beside them.
 */

/** Nothing of an answer is to be shown, run or framed. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'";

/** The UI runs no script but its files, and talks to its own server only. Its styles that depend on the theme have the nonce. */
const pagePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

/** A year. Only this host's: what else is below the domain is not ours. */
const HTTPS_ONLY = "max-age=31536000";

export type SecurityHeaders = {
  /** The headers of everything that is no page: name, value, name, value. */
  api: readonly string[];
  /** The same as lines of an answer that is written to the connection itself. */
  lines: string;
  /** The headers of the UI's files: these replace the API's. `nonce`: of this answer alone. */
  page(nonce: string): Readonly<Record<string, string>>;
};

/** Browsers keep to https where the operator says that clients reach the server by it. */
export function securityHeaders(publicUrl: string | undefined): SecurityHeaders {
  const api: Record<string, string> = {
    "cache-control": "no-store",
    "content-security-policy": API_POLICY,
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    ...(publicUrl?.startsWith("https:") && { "strict-transport-security": HTTPS_ONLY }),
  };
  const pairs = Object.entries(api);
  return {
    api: pairs.flat(),
    lines: pairs.map(([name, value]) => `${name}: ${value}\r\n`).join(""),
    page: (nonce) => ({
      ...api,
      "content-security-policy": pagePolicy(nonce),
      "cross-origin-opener-policy": "same-origin",
      "x-robots-tag": "noindex, nofollow",
    }),
  };
}
