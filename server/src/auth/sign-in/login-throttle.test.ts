import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { testClock } from "../../../../test/clock.ts";
import { createLoginThrottle, network, type Attempt, type LoginThrottle } from "./login-throttle.ts";
import { scaled } from "../../../../test/scale.ts";
import { createMemoryPauses, REMEMBERED } from "./pauses.ts";

const refusal = (seconds: number): object => ({ code: "RATE_LIMITED", details: { retryAfter: seconds } });

const throttleAt = (clock = testClock()): LoginThrottle =>
  createLoginThrottle(createMemoryPauses(clock), Buffer.alloc(32, 1));
const stranger = (email: string, address: string): Attempt => ({ email, address, isKnown: false });
const known = (email: string, address: string): Attempt => ({ email, address, isKnown: true });

/** That many failures, from so many addresses in turn. */
async function failFrom(throttle: LoginThrottle, email: string, count: number, addresses = 10): Promise<void> {
  for (let index = 0; index < count; index++) await throttle.attempt(stranger(email, `10.9.${index % addresses}.1`));
}

test("an e-mail may fail ten times from one address, known or not, then after pauses that grow to 5 minutes", async () => {
  for (const from of [stranger, known]) {
    const clock = testClock();
    const throttle = throttleAt(clock);
    const one = from("ada@example.com", "10.0.0.1");
    for (let index = 0; index < 10; index++) await throttle.attempt(one);
    for (const seconds of [30, 60, 120, 240, 300, 300, 300]) {
      await expect(throttle.attempt(from("ADA@example.com", "10.0.0.1"))).rejects.toMatchObject(refusal(seconds));
      clock.pass(seconds * 1_000 - 1_000);
      await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(1));
      expect(() => throttle.check(one)).toThrow(expect.objectContaining(refusal(1)));
      clock.pass(1_000);
      throttle.check(one);
      await throttle.attempt(one);
    }
    await throttle.attempt(from("ada@example.com", "10.0.0.2"));
    await throttle.attempt(from("grace@example.com", "10.0.0.1"));
  }
});

test("time that passes between failures takes back none until it is a whole one's", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  const one = known("ada@example.com", "10.0.0.1");
  for (let index = 0; index < 10; index++) {
    await throttle.attempt(one);
    clock.pass(1_000);
  }
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(29));
});

test("quiet time after the last pause takes failures back, one in 5 minutes", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  const one = known("ada@example.com", "10.0.0.1");
  for (let index = 0; index < 10; index++) await throttle.attempt(one);
  clock.pass(30_000 + 3 * 300_000);
  for (let index = 0; index < 3; index++) await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(30));
  clock.pass(30_000 + 300_000);
  await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(30));
  clock.pass(30_000 + 300_000 - 1);
  await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(60));
  clock.pass(86_400_000);
  for (let index = 0; index < 10; index++) await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(30));
});

test("an e-mail is one however its letters are written, also where PostgreSQL takes İ for i and JavaScript does not", async () => {
  const throttle = throttleAt();
  const writings = ["ida.li@example.com", "İda.li@example.com", "İDA.Lİ@EXAMPLE.COM", "Ida.lİ@example.com"];
  for (let index = 0; index < 10; index++) await throttle.attempt(stranger(writings[index % 4]!, "10.0.0.1"));
  for (const email of writings)
    await expect(throttle.attempt(stranger(email, "10.0.0.1"))).rejects.toMatchObject(refusal(30));
});

test("from many addresses an e-mail may fail fifty times, then after such pauses, and is never refused at a known one", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  await failFrom(throttle, "ada@example.com", 50);
  await expect(throttle.attempt(stranger("ada@example.com", "10.0.0.99"))).rejects.toMatchObject(refusal(30));
  await throttle.attempt(stranger("grace@example.com", "10.0.0.99"));
  await throttle.attempt(known("ada@example.com", "10.0.0.99"));
  clock.pass(30_000);
  await throttle.attempt(stranger("ada@example.com", "10.0.0.98"));
  await expect(throttle.attempt(stranger("ada@example.com", "10.0.0.97"))).rejects.toMatchObject(refusal(60));
});

test("an address may fail fifty times, with whatever e-mail, then after pauses of 5 s to 1 minute; those known there are not refused", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  for (let index = 0; index < 50; index++) await throttle.attempt(stranger(`user${index}@example.com`, "10.0.0.1"));
  for (const seconds of [5, 10, 20, 40, 60, 60]) {
    const one = stranger(`later${seconds}@example.com`, "10.0.0.1");
    await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(seconds));
    clock.pass(seconds * 1_000);
    await throttle.attempt(one);
  }
  await throttle.attempt(stranger("ada@example.com", "10.0.0.2"));
  await throttle.attempt(known("ada@example.com", "10.0.0.1"));
});

test("addresses of one IPv6 /64 are one", async () => {
  const throttle = throttleAt();
  for (let index = 0; index < 10; index++) await throttle.attempt(stranger("ada@example.com", `2001:db8::${index}`));
  await expect(throttle.attempt(stranger("ada@example.com", "2001:db8::99"))).rejects.toMatchObject(refusal(30));
  await throttle.attempt(stranger("ada@example.com", "2001:db8:0:1::99"));
});

test("a refused attempt is not counted", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  for (let index = 0; index < 10; index++) await throttle.attempt(stranger("ada@example.com", "10.0.0.1"));
  for (let index = 0; index < 1_000; index++) {
    await expect(throttle.attempt(stranger("ada@example.com", "10.0.0.1"))).rejects.toMatchObject(refusal(30));
  }
  await throttle.attempt(stranger("grace@example.com", "10.0.0.1"));
  clock.pass(30_000);
  await throttle.attempt(stranger("ada@example.com", "10.0.0.1"));
});

test("a success is given back, so that signing in often is free, and so is one after failures", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  const one = stranger("ada@example.com", "10.0.0.1");
  for (let index = 0; index < 1_000; index++) await (await throttle.attempt(one))();
  for (let index = 0; index < 10; index++) await throttle.attempt(one);
  clock.pass(30_000);
  for (let index = 0; index < 10; index++) await (await throttle.attempt(one))();
  await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(60));
});

test("many at once are counted before their outcome is known", async () => {
  const throttle = throttleAt();
  const all = Array.from({ length: 1_000 }, () => throttle.attempt(stranger("ada@example.com", "10.0.0.1")));
  const outcomes = await Promise.allSettled(all);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
});

test("a clock that is set back by hours keeps nobody waiting", async () => {
  const clock = testClock();
  const throttle = throttleAt(clock);
  const one = known("ada@example.com", "10.0.0.1");
  for (let index = 0; index < 10; index++) await throttle.attempt(one);
  clock.pass(-7_200_000);
  for (let index = 0; index < 10; index++) await throttle.attempt(one);
  await expect(throttle.attempt(one)).rejects.toMatchObject(refusal(30));
});

const ACCOUNTS = scaled({ whole: 100_000, part: 20_000 });
const ACCOUNTS_MB = scaled({ whole: 16, part: 2 });

test(`${ACCOUNTS} accounts more than are remembered, from as many addresses, take ${ACCOUNTS_MB} MB at most, and the newest is remembered`, async () => {
  const throttle = throttleAt();
  const fail = (index: number): Promise<unknown> =>
    throttle.attempt(
      stranger(`${"x".repeat(200)}${index}@example.com`, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`),
    );
  // More than are remembered: from here on each new one makes an old one go.
  const known = REMEMBERED + 100;
  for (let index = 0; index < known; index++) await fail(index);
  const before = heapUsed();
  const newest = known + ACCOUNTS - 1;
  for (let index = known; index <= newest; index++) await fail(index);
  expect(heapUsed() - before).toBeLessThan(ACCOUNTS_MB * 1024 * 1024);
  for (let again = 0; again < 9; again++) await fail(newest);
  await expect(fail(newest)).rejects.toMatchObject(refusal(30));
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
