/** Addresses and CIDR ranges from the settings (config.ts has checked them). */
import { BlockList, isIPv6 } from "node:net";

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv6(address) ? "ipv6" : "ipv4");

/** Whether an address is one of these or lies in one of these ranges. */
export function addressesIn(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}
