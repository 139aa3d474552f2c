/**
 * Classifies an IP address: on the public internet, or of a kind that a server must not call for its users.
 * Sources: the IANA special-purpose registries (RFC 6890 and later) as ipaddr.js has them, and the metadata services
 * of the clouds. An address counts as public only if it is known to be.
 */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");
/** RFC 6052: the well-known NAT64 prefix. Names on IPv6-only networks with DNS64 resolve to it. */
const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** Metadata services: they give credentials to any caller inside. 168.63.129.16 (Azure) lies in a public range. */
const METADATA = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
]);

const WORDS = new Map<string, string>(
  Object.entries({
    private: "a private address",
    loopback: "a loopback address",
    linkLocal: "a link-local address",
    uniqueLocal: "a unique local address",
    deprecatedSiteLocal: "a site-local address",
    multicast: "a multicast address",
    broadcast: "the broadcast address",
    unspecified: "an unspecified address",
    carrierGradeNat: "a carrier-grade NAT address",
    "6to4": "a 6to4 tunnel address",
    teredo: "a Teredo tunnel address",
    rfc6145: "a translated IPv4 address",
  }),
);

/** An IPv4-mapped address is the IPv4 address that the system connects to; a zone is dropped. */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  if (family === 4) return ipaddr.IPv4.parse(text);
  // In hexadecimal: ipaddr.js mistakes the dotted form of ::7f00:1, which is not an IPv4 address, for a mapped one.
  const { hostname } = new URL(`http://[${text.split("%", 1)[0]}]`);
  const address = ipaddr.IPv6.parse(hostname.slice(1, -1));
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

export const isMetadata = (address: Address): boolean => METADATA.has(address.toString());

/** Why an address may not be called, in words; undefined if it is public. */
export function notPublic(address: Address): string | undefined {
  if (isMetadata(address)) return "a cloud's metadata address";
  if (address instanceof ipaddr.IPv6) {
    if (address.match(NAT64)) return notPublic(lastIPv4(address));
    if (address.range() === ("unicast" as string) && !address.match(GLOBAL_UNICAST)) return "a reserved address";
  }
  const range: string = address.range();
  return range === "unicast" ? undefined : (WORDS.get(range) ?? "a reserved address");
}

const lastIPv4 = (address: ipaddr.IPv6): ipaddr.IPv4 => new ipaddr.IPv4(address.toByteArray().slice(12));
