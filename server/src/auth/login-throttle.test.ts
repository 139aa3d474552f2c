import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { createLoginThrottle, network } from "./login-throttle.ts";

const refusal = (seconds: number): unknown =>
  expect.objectContaining({ code: "RATE_LIMITED", details: { retryAfter: seconds } });

test("an e-mail may fail ten times, then once every 30 s, from wherever", () => {
  const clock = testClock();
  const throttle = createLoginThrottle(clock);
  for (let index = 0; index < 10; index++) throttle.attempt("ada@example.com", `10.0.0.${index}`);
  expect(() => throttle.attempt("ADA@example.com", "10.0.0.99")).toThrow(refusal(30));
  clock.pass(29_000);
  expect(() => throttle.attempt("ada@example.com", "10.0.0.99")).toThrow(refusal(1));
  clock.pass(1_000);
  throttle.attempt("ada@example.com", "10.0.0.99");
  expect(() => throttle.attempt("ada@example.com", "10.0.0.99")).toThrow(refusal(30));
  throttle.attempt("grace@example.com", "10.0.0.99");
});

test("an address may fail fifty times, then once every 5 s, with whatever e-mail", () => {
  const clock = testClock();
  const throttle = createLoginThrottle(clock);
  for (let index = 0; index < 50; index++) throttle.attempt(`user${index}@example.com`, "10.0.0.1");
  expect(() => throttle.attempt("ada@example.com", "10.0.0.1")).toThrow(refusal(5));
  throttle.attempt("ada@example.com", "10.0.0.2");
});

test("a refused attempt is not counted", () => {
  const clock = testClock();
  const throttle = createLoginThrottle(clock);
  for (let index = 0; index < 10; index++) throttle.attempt("ada@example.com", "10.0.0.1");
  for (let index = 0; index < 1_000; index++) {
    expect(() => throttle.attempt("ada@example.com", "10.0.0.1")).toThrow(refusal(30));
  }
  throttle.attempt("grace@example.com", "10.0.0.1");
});

test("a success is given back, so that signing in often is free", () => {
  const throttle = createLoginThrottle(testClock());
  for (let index = 0; index < 1_000; index++) throttle.attempt("ada@example.com", "10.0.0.1")();
});

test("many at once are counted before their outcome is known", () => {
  const throttle = createLoginThrottle(testClock());
  const outcomes = Array.from({ length: 1_000 }, () => {
    try {
      return throttle.attempt("ada@example.com", "10.0.0.1");
    } catch {
      return undefined;
    }
  });
  expect(outcomes.filter((one) => one !== undefined)).toHaveLength(10);
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["", ""],
])("the network of %j is %j", (address, expected) => {
  expect(network(address)).toBe(expected);
});
