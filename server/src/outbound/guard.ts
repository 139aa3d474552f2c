/** Which addresses may be called: the public ones, and those that the operator lists in OUTBOUND_ALLOW. */
import ipaddr from "ipaddr.js";
import { OperatorError } from "../lib/errors.ts";
import { isMetadata, notPublic, parseAddress, type Address } from "./address.ts";

/** Why the address may not be called, in words ("a loopback address"); undefined if it may. */
export type Guard = (address: string) => string | undefined;

type Network = { base: Address; bits: number };

/** `allow`: CIDRs or single addresses. Throws OperatorError for the first that is neither. */
export function createGuard(allow: readonly string[]): Guard {
  const networks = allow.map((text) => text.trim()).filter((text) => text !== "");
  const allowed = networks.map(parseNetwork);
  return (text) => {
    const address = parseAddress(text);
    if (!address) return "not an address";
    const reason = notPublic(address);
    return reason && allowed.some((network) => covers(network, address)) ? undefined : reason;
  };
}

/** Only its own address opens a metadata service: 10.0.0.0/8 or 100.64.0.0/10 are not meant for it. */
function covers({ base, bits }: Network, address: Address): boolean {
  if (base.kind() !== address.kind()) return false;
  const single = bits === (address.kind() === "ipv4" ? 32 : 128);
  return (single || !isMetadata(address)) && address.match(base, bits);
}

function parseNetwork(text: string): Network {
  const [, base = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = base.includes("%") ? undefined : parseAddress(base);
  const most = address?.kind() === "ipv4" ? 32 : 128;
  const bits = prefix === undefined ? most : Number(prefix);
  // An IPv4-mapped network would never match: such addresses are judged as IPv4.
  const mapped = address?.kind() === "ipv4" && !ipaddr.IPv4.isValidFourPartDecimal(base);
  if (!address || mapped || bits > most) {
    throw new OperatorError(`OUTBOUND_ALLOW: "${text}" is not an address range such as 10.0.0.0/8 or fd00::/8`);
  }
  return { base: address, bits };
}
