/** Where a redirect leads: the rules of the Fetch standard (HTTP-redirect fetch), stricter about what crosses origins. */
import { OutboundError, OutboundRefused } from "./errors.ts";
import { parseUrl } from "../lib/parse-url.ts";
import { checkUrl, type CheckedRequest } from "./request.ts";

type Answer = { status: number; headers: Record<string, string> };

const STATUSES = new Set([301, 302, 303, 307, 308]);
const BODY_HEADERS = new Set(["content-type", "content-encoding", "content-language", "content-location"]);
/** Authorization, Cookie, Idempotency-Key and any of the author's own headers may be credentials: only these are sent. */
const HARMLESS_HEADERS = new Set([...BODY_HEADERS, "accept", "accept-encoding", "accept-language", "user-agent"]);

/** Whether an answer leads somewhere else. */
export const isRedirect = ({ status, headers }: Answer): boolean =>
  STATUSES.has(status) && headers["location"] !== undefined;

/** The request that an answer redirects to, or undefined when it is an answer to keep. */
export function redirected(request: CheckedRequest, answer: Answer): CheckedRequest | undefined {
  if (!isRedirect(answer)) return undefined;
  const url = nextUrl(request.url, answer.headers["location"]!);
  const asGet = becomesGet(answer.status, request.method);
  const { confidential } = request;
  const sameOrigin = url.origin === request.url.origin;
  const body = asGet ? undefined : request.body;
  if (!sameOrigin && confidential?.body && body !== undefined) {
    throw new OutboundRefused(
      `the redirect that ${request.url.origin} answered is refused: it leads to another origin, which must not get the secret in the body`,
    );
  }
  const isHarmless = (name: string): boolean => HARMLESS_HEADERS.has(name) && !confidential?.headers.has(name);
  const kept = Object.entries(request.headers).filter(
    ([name]) => (sameOrigin || isHarmless(name)) && !(asGet && BODY_HEADERS.has(name)),
  );
  return { method: asGet ? "GET" : request.method, url, headers: Object.fromEntries(kept), body, confidential };
}

function nextUrl(from: URL, location: string): URL {
  const what = `the redirect that ${from.origin} answered`;
  if (!parseUrl(location, from.href)) throw new OutboundError("network", `${what} is not a valid URL`);
  const url = checkUrl(location, { what, base: from });
  if (from.protocol === "https:" && url.protocol === "http:") {
    throw new OutboundRefused(`${what} is refused: it leads from https to http`);
  }
  return url;
}

function becomesGet(status: number, method: string): boolean {
  if (status === 303) return method !== "HEAD";
  return (status === 301 || status === 302) && method === "POST";
}
