import { describe, expect, it } from "vitest";
import { notPublic, parseAddress } from "./address.ts";

const kindOf = (text: string): string | undefined => notPublic(parseAddress(text)!);

describe("what an address is", () => {
  it.each([
    ["10.0.0.1", "a private address"],
    ["172.16.0.1", "a private address"],
    ["172.31.255.255", "a private address"],
    ["192.168.1.1", "a private address"],
    ["127.0.0.1", "a loopback address"],
    ["127.255.255.254", "a loopback address"],
    ["169.254.1.1", "a link-local address"],
    ["100.64.0.1", "a carrier-grade NAT address"],
    ["100.127.255.255", "a carrier-grade NAT address"],
    ["224.0.0.1", "a multicast address"],
    ["255.255.255.255", "the broadcast address"],
    ["0.0.0.0", "an unspecified address"],
    ["0.1.2.3", "an unspecified address"],
    ["198.18.0.1", "a reserved address"],
    ["198.19.255.255", "a reserved address"],
    ["192.0.2.1", "a reserved address"],
    ["198.51.100.1", "a reserved address"],
    ["203.0.113.1", "a reserved address"],
    ["192.0.0.8", "a reserved address"],
    ["240.0.0.1", "a reserved address"],
    ["::", "an unspecified address"],
    ["::1", "a loopback address"],
    ["fe80::1", "a link-local address"],
    ["fe80::1%eth0.100", "a link-local address"],
    ["fec0::1", "a site-local address"],
    ["fc00::1", "a unique local address"],
    ["fdff::1", "a unique local address"],
    ["ff02::1", "a multicast address"],
    ["2001:db8::1", "a reserved address"],
    ["3fff::1", "a reserved address"],
    ["2001:2::1", "a reserved address"],
    ["100::1", "a reserved address"],
    ["4000::1", "a reserved address"],
    ["5f00::1", "a reserved address"],
  ])("%s is %s", (text, kind) => expect(kindOf(text)).toBe(kind));

  it.each(["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"])(
    "%s is a metadata address",
    (text) => expect(kindOf(text)).toBe("a cloud's metadata address"),
  );

  it.each([
    ["::ffff:127.0.0.1", "a loopback address"],
    ["::ffff:a9fe:a9fe", "a cloud's metadata address"],
    ["::127.0.0.1", "a reserved address"],
    ["::8.8.8.8", "a reserved address"],
    ["::ffff:0:127.0.0.1", "a translated IPv4 address"],
    ["64:ff9b::7f00:1", "a loopback address"],
    ["64:ff9b::a9fe:a9fe", "a cloud's metadata address"],
    ["64:ff9b:1::7f00:1", "a reserved address"],
    ["2002:7f00:1::", "a 6to4 tunnel address"],
    ["2002:808:808::", "a 6to4 tunnel address"],
    ["2001:0:7f00:1::", "a Teredo tunnel address"],
  ])("%s, which embeds an IPv4 address, is %s", (text, kind) => expect(kindOf(text)).toBe(kind));

  it.each(["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is public",
    (text) => expect(kindOf(text)).toBeUndefined(),
  );

  it.each(["0177.0.0.1", "2130706433", "0x7f.1", "127.1", "localhost", "", "1.2.3.4/8"])("%s is no address", (text) =>
    expect(parseAddress(text)).toBeUndefined(),
  );
});
