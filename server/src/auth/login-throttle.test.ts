import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { testClock } from "../../../test/clock.ts";
import { createLoginThrottle, network, type Attempt, type LoginThrottle } from "./login-throttle.ts";

const refusal = (seconds: number): unknown =>
  expect.objectContaining({ code: "RATE_LIMITED", details: { retryAfter: seconds } });

const stranger = (email: string, address: string): Attempt => ({ email, address, isKnown: false });
const known = (email: string, address: string): Attempt => ({ email, address, isKnown: true });
/** Its fifth wrong password from each of `addresses` addresses. */
function failFrom(throttle: LoginThrottle, email: string, addresses: number): void {
  for (let index = 0; index < addresses * 5; index++) throttle.attempt(stranger(email, `10.9.${index % addresses}.1`));
}

test("an e-mail may fail ten times from one address, then once every 30 s, known or not", () => {
  for (const from of [stranger, known]) {
    const clock = testClock();
    const throttle = createLoginThrottle(clock);
    const one = from("ada@example.com", "10.0.0.1");
    for (let index = 0; index < 10; index++) throttle.attempt(one);
    expect(() => throttle.attempt(from("ADA@example.com", "10.0.0.1"))).toThrow(refusal(30));
    clock.pass(29_000);
    expect(() => throttle.attempt(one)).toThrow(refusal(1));
    clock.pass(1_000);
    throttle.attempt(one);
    expect(() => throttle.attempt(one)).toThrow(refusal(30));
    throttle.attempt(from("ada@example.com", "10.0.0.2"));
    throttle.attempt(from("grace@example.com", "10.0.0.1"));
  }
});

test("an e-mail is one however its letters are written, also where PostgreSQL takes İ for i and JavaScript does not", () => {
  const throttle = createLoginThrottle(testClock());
  const writings = ["ida.li@example.com", "İda.li@example.com", "İDA.Lİ@EXAMPLE.COM", "Ida.lİ@example.com"];
  for (let index = 0; index < 10; index++) throttle.attempt(stranger(writings[index % 4]!, "10.0.0.1"));
  for (const email of writings) expect(() => throttle.attempt(stranger(email, "10.0.0.1"))).toThrow(refusal(30));
});

test("from many addresses an e-mail may fail fifty times, then once every 30 s, and is never refused at a known one", () => {
  const clock = testClock();
  const throttle = createLoginThrottle(clock);
  failFrom(throttle, "ada@example.com", 10);
  expect(() => throttle.attempt(stranger("ada@example.com", "10.0.0.99"))).toThrow(refusal(30));
  throttle.attempt(stranger("grace@example.com", "10.0.0.99"));
  throttle.attempt(known("ada@example.com", "10.0.0.99"));
  clock.pass(30_000);
  throttle.attempt(stranger("ada@example.com", "10.0.0.98"));
  expect(() => throttle.attempt(stranger("ada@example.com", "10.0.0.98"))).toThrow(refusal(30));
});

test("an address may fail fifty times, then once every 5 s, with whatever e-mail, and those known there are not refused", () => {
  const clock = testClock();
  const throttle = createLoginThrottle(clock);
  for (let index = 0; index < 50; index++) throttle.attempt(stranger(`user${index}@example.com`, "10.0.0.1"));
  expect(() => throttle.attempt(stranger("ada@example.com", "10.0.0.1"))).toThrow(refusal(5));
  throttle.attempt(stranger("ada@example.com", "10.0.0.2"));
  throttle.attempt(known("ada@example.com", "10.0.0.1"));
});

test("addresses of one IPv6 /64 are one", () => {
  const throttle = createLoginThrottle(testClock());
  for (let index = 0; index < 10; index++) throttle.attempt(stranger("ada@example.com", `2001:db8::${index}`));
  expect(() => throttle.attempt(stranger("ada@example.com", "2001:db8::99"))).toThrow(refusal(30));
  throttle.attempt(stranger("ada@example.com", "2001:db8:0:1::99"));
});

test("a refused attempt is not counted", () => {
  const throttle = createLoginThrottle(testClock());
  for (let index = 0; index < 10; index++) throttle.attempt(stranger("ada@example.com", "10.0.0.1"));
  for (let index = 0; index < 1_000; index++) {
    expect(() => throttle.attempt(stranger("ada@example.com", "10.0.0.1"))).toThrow(refusal(30));
  }
  throttle.attempt(stranger("grace@example.com", "10.0.0.1"));
});

test("a success is given back, so that signing in often is free", () => {
  const throttle = createLoginThrottle(testClock());
  for (let index = 0; index < 1_000; index++) throttle.attempt(stranger("ada@example.com", "10.0.0.1"))();
});

test("many at once are counted before their outcome is known", () => {
  const throttle = createLoginThrottle(testClock());
  const outcomes = Array.from({ length: 1_000 }, () => {
    try {
      return throttle.attempt(stranger("ada@example.com", "10.0.0.1"));
    } catch {
      return undefined;
    }
  });
  expect(outcomes.filter((one) => one !== undefined)).toHaveLength(10);
});

test("a hundred thousand accounts from as many addresses are remembered in 16 MB, the newest", () => {
  const throttle = createLoginThrottle(testClock());
  const fail = (index: number): unknown =>
    throttle.attempt(
      stranger(`${"x".repeat(200)}${index}@example.com`, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`),
    );
  for (let index = 0; index < 20_000; index++) fail(index);
  const before = heapUsed();
  for (let index = 20_000; index < 120_000; index++) fail(index);
  expect(heapUsed() - before).toBeLessThan(16 * 1024 * 1024);
  for (let count = 0; count < 9; count++) fail(119_999);
  expect(() => fail(119_999)).toThrow(refusal(30));
});

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

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
