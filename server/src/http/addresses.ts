/** Whom a request came from, which host it was meant for, and which page sent it. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { addressesIn } from "../lib/address-ranges.ts";

/** `::ffff:192.0.2.1` is 192.0.2.1. */
const plain = (address: string): string => (/^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address);

/** The nearest address that is no trusted proxy's. Without trusted proxies `X-Forwarded-For` is not looked at. */
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

/**
 * Whether a Host header names this server. A page of another name that resolves to 127.0.0.1 (DNS rebinding) would
 * else pass for the same origin. Ports differ behind proxies and are not compared.
 */
export function ownHosts(publicUrl: string | undefined): (host: string | undefined) => boolean {
  const names = new Set(LOOPBACK_NAMES);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname);
  const known = new Map<string, boolean>();
  return (host = "") => {
    const answer = known.get(host);
    if (answer !== undefined) return answer;
    const isOwn = names.has(host.replace(/:\d{1,5}$/, "").toLowerCase());
    // Clients choose the header's text: what is remembered is bounded.
    if (known.size < 100) known.set(host, isOwn);
    return isOwn;
  };
}

/**
 * Whether a browser's page may open a WebSocket: one of this server's own, or of an origin that the operator listed. Pages
 * of others can't read answers to HTTP without leave (CORS), but a WebSocket asks nobody. What is no browser sends no Origin.
 */
export function ownOrigins(
  publicUrl: string | undefined,
  corsOrigins: readonly string[],
): (request: IncomingMessage) => boolean {
  const listed = new Set(corsOrigins);
  if (publicUrl !== undefined) listed.add(new URL(publicUrl).origin);
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || listed.has(origin)) return true;
    if (!/^https?:\/\/[^/\s]+$/.test(origin) || !URL.canParse(origin)) return false;
    // The page came from the host that the request is for. The scheme is the proxy's matter, so each has its own port.
    const page = new URL(origin);
    const asked = `${page.protocol}//${host}`;
    return URL.canParse(asked) && new URL(asked).host === page.host;
  };
}
