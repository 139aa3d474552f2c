/** Who sent a request, for which host, and from which page. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { LRUCache } from "lru-cache";
import { addressesIn } from "../lib/address-ranges.ts";

/** `::ffff:192.0.2.1` is 192.0.2.1. */
const plain = (address: string): string => (/^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address);

/** Whether a connection's address is one of these, or in one of these ranges. */
export function addressesOf(ranges: readonly string[]): (address: string) => boolean {
  const isIn = addressesIn(ranges);
  return (address) => ranges.length > 0 && isIn(plain(address));
}

/** The nearest address that is not a trusted proxy's. Without trusted proxies, `X-Forwarded-For` is ignored. */
export function clientAddresses(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = addressesIn(trustedProxies);
  return ({ socket, headers }) => {
    let client = plain(socket.remoteAddress ?? "");
    if (trustedProxies.length === 0) return client;
    const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
    while (forwarded.length > 0 && isTrusted(client)) {
      const next = plain(forwarded.pop()!.trim());
      if (isIP(next) === 0) break;
      client = next;
    }
    return client;
  };
}

const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];

export type HostProblem = { status: 400 | 421; message: string };

const BAD_PORT: HostProblem = { status: 400, message: "the Host header's port is larger than 65535" };

/**
 * Checks that a Host header names this server. Otherwise a page of another name that resolves to 127.0.0.1 (DNS rebinding)
 * would pass for the same origin. Ports differ behind proxies and are not compared. `otherHost` is the message about another name.
 */
export function hostProblems(
  publicUrl: string | undefined,
  otherHost: string,
): (host: string | undefined) => HostProblem | undefined {
  const names = new Set(LOOPBACK_NAMES);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname);
  // Clients choose the header's text.
  const known = new LRUCache<string, HostProblem | "own">({ max: 100 });
  // Nearly all requests name the same.
  let last: string | undefined;
  const other: HostProblem = { status: 421, message: otherHost };
  const read = (host: string): HostProblem | "own" => {
    const port = /:(\d+)$/.exec(host);
    if (!names.has((port ? host.slice(0, port.index) : host).toLowerCase())) return other;
    return Number(port?.[1] ?? 0) > 65_535 ? BAD_PORT : "own";
  };
  return (host = "") => {
    if (host === last) return undefined;
    let answer = known.get(host);
    if (answer === undefined) known.set(host, (answer = read(host)));
    if (answer !== "own") return answer;
    last = host;
    return undefined;
  };
}

/**
 * Whether a browser's page may open a WebSocket: one of this server's own, or of an origin that the operator listed. Pages
 * of other origins need permission to read HTTP answers (CORS), but not for a WebSocket. Other clients send no Origin.
 */
export function ownOrigins(
  publicUrl: string | undefined,
  corsOrigins: readonly string[],
): (request: IncomingMessage) => boolean {
  const listed = new Set(corsOrigins);
  if (publicUrl !== undefined) listed.add(new URL(publicUrl).origin);
  return ({ headers: { origin, host } }) =>
    origin === undefined || listed.has(origin) || pageOfHost(origin, host) !== undefined;
}

/** An origin as a URL, if the page came from the host that the request is for. */
function pageOfHost(origin: string, host: string | undefined): URL | undefined {
  if (!/^https?:\/\/[^/\s]+$/.test(origin) || !URL.canParse(origin)) return undefined;
  // Schemes may differ behind a proxy, so each side has its own default port.
  const page = new URL(origin);
  const asked = `${page.protocol}//${host}`;
  return URL.canParse(asked) && new URL(asked).host === page.host ? page : undefined;
}

/**
 * The scheme of the page that a request comes from, if it is one of this server's own: at the public URL, or at a loopback name
 * with the port that was asked. Undefined for any other page, listed for CORS or not, and without an Origin.
 */
export function ownPages(publicUrl: string | undefined): (request: IncomingMessage) => "http:" | "https:" | undefined {
  const own = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return ({ headers: { origin = "", host } }) => {
    const page = origin === own ? new URL(origin) : pageOfHost(origin, host);
    if (page === undefined || (origin !== own && !LOOPBACK_NAMES.includes(page.hostname))) return undefined;
    return page.protocol === "https:" ? "https:" : "http:";
  };
}
