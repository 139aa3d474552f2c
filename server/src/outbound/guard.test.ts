import { describe, expect, it } from "vitest";
import { OperatorError } from "../lib/errors.ts";
import { createGuard } from "./guard.ts";

describe("the guard", () => {
  it("lets public addresses pass and nothing else", () => {
    const guard = createGuard([]);
    expect(guard("8.8.8.8")).toBeUndefined();
    expect(guard("127.0.0.1")).toBe("a loopback address");
    expect(guard("localhost")).toBe("not an address");
  });

  it("lets pass what OUTBOUND_ALLOW covers, of the same family", () => {
    const guard = createGuard(["10.0.0.0/8", " 127.0.0.1 ", "fd12::/16", ""]);
    expect(guard("10.255.0.1")).toBeUndefined();
    expect(guard("127.0.0.1")).toBeUndefined();
    expect(guard("::ffff:127.0.0.1")).toBeUndefined();
    expect(guard("fd12:1::1")).toBeUndefined();
    expect(guard("127.0.0.2")).toBe("a loopback address");
    expect(guard("192.168.0.1")).toBe("a private address");
    expect(guard("::1")).toBe("a loopback address");
    expect(guard("fd13::1")).toBe("a unique local address");
  });

  it("does not take a translated form for the address that it embeds", () => {
    expect(createGuard(["127.0.0.1/32"])("64:ff9b::7f00:1")).toBe("a loopback address");
  });

  it("opens a metadata service by its own address only", () => {
    expect(createGuard(["0.0.0.0/0", "100.64.0.0/10"])("169.254.169.254")).toBe("a cloud's metadata address");
    expect(createGuard(["100.64.0.0/10"])("100.100.100.200")).toBe("a cloud's metadata address");
    expect(createGuard(["100.64.0.0/10"])("100.100.100.201")).toBeUndefined();
    expect(createGuard(["fd00::/8"])("fd00:ec2::254")).toBe("a cloud's metadata address");
    expect(createGuard(["169.254.169.254/32"])("169.254.169.254")).toBeUndefined();
    expect(createGuard(["fd00:ec2::254"])("fd00:ec2::254")).toBeUndefined();
  });

  it.each([
    "10.0.0.0/33",
    "fd00::/129",
    "localhost",
    "10.1/8",
    "0x7f.0.0.1",
    "10.0.0.0/",
    "::ffff:10.0.0.0/104",
    "::ffff:10.0.0.1",
    "fe80::1%lo",
  ])("tells the operator that %s is no range", (text) => {
    expect(() => createGuard([text])).toThrow(OperatorError);
    expect(() => createGuard([text])).toThrow(text);
  });
});
