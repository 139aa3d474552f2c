import { describe, expect, test } from "vitest";
import { agentNamedBy, toolNameOf } from "./tool-name.ts";

describe("a tool's name", () => {
  test("64 characters stay, one more is cut", () => {
    const handle = "h".repeat(59);
    expect(toolNameOf("shop", handle)).toBe(`shop_${handle}`);
    expect(toolNameOf("shops", handle)).toMatch(/^shops_h{40}__[0-9a-f]{16}$/);
    expect(toolNameOf("shops", handle)).toHaveLength(64);
  });

  test("differs for agents whose names begin alike", () => {
    const handle = "h".repeat(62);
    expect(toolNameOf("shop", `${handle}a`)).not.toBe(toolNameOf("shop", `${handle}b`));
  });

  test("is never one of the tools beside the agents", () => {
    expect(toolNameOf("get", "run")).toMatch(/^get_run__[0-9a-f]{16}$/);
  });

  test("says which agent it is", () => {
    expect(agentNamedBy("shop_pay-out")).toEqual({ project: "shop", handle: "pay-out" });
    expect(agentNamedBy(toolNameOf("get", "run"))).toEqual({ beginning: "get_run", hash: expect.any(String) });
    const project = "p".repeat(63);
    expect(agentNamedBy(toolNameOf(project, "x"))).toEqual({ beginning: "p".repeat(46), hash: expect.any(String) });
    const short = "p".repeat(45);
    expect(agentNamedBy(toolNameOf(short, project))).toEqual({ beginning: `${short}_`, hash: expect.any(String) });
  });

  test.each([
    "",
    "shop",
    "_x",
    "x_",
    "a_b_c",
    "get_run",
    "Shop_x",
    "shop_x\u0000",
    "x".repeat(65),
    `x_${"y".repeat(63)}`,
    `s__${"0".repeat(16)}`,
    ...["\0", "\ud800", "S", "%"].map((sign) => `${sign.repeat(46)}__${"0".repeat(16)}`),
    ...["\0", "g", "A"].map((sign) => `${"p".repeat(46)}__${sign.repeat(16)}`),
  ])("%j names no agent", (name) => expect(agentNamedBy(name)).toBeUndefined());
});
