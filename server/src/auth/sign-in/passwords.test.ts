import { parseOptions } from "@node-rs/argon2";
import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { createPasswords } from "./passwords.ts";

const somebody = { group: "10.0.0.1", isKnown: false };

test("argon2id, 19 MiB, two passes, one lane, a salt of its own", async () => {
  const passwords = createPasswords();
  const [one, two] = await Promise.all([passwords.hash("correct horse"), passwords.hash("correct horse")]);
  expect(one).not.toBe(two);
  expect(one).toMatch(/^\$argon2id\$/);
  expect(parseOptions(one)).toMatchObject({ memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 });
});

test("only the password itself, in either Unicode form, fits", async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash("caf\u00e9 au lait");
  const stored = async (): Promise<string> => hash;
  expect(await passwords.verify(somebody, stored, "cafe\u0301 au lait")).toBe(true);
  expect(await passwords.verify(somebody, stored, "caf\u00e9 au laiT")).toBe(false);
  expect(await passwords.verify(somebody, stored, "")).toBe(false);
  expect(await passwords.verify(somebody, async () => undefined, "caf\u00e9 au lait")).toBe(false);
});

test("an unknown user costs the same work as a wrong password", async () => {
  const passwords = createPasswords();
  const stored = await passwords.hash("correct horse");
  const times = { wrong: [] as number[], unknown: [] as number[] };
  for (let round = 0; round < 9; round++) {
    for (const [name, hash] of [
      ["wrong", stored],
      ["unknown", undefined],
    ] as const) {
      const start = process.cpuUsage();
      await passwords.verify(somebody, async () => hash, "battery staple");
      const { user, system } = process.cpuUsage(start);
      times[name].push(user + system);
    }
  }
  // The least of nine, in processor time of all threads: a busy machine only adds to what the work takes.
  const [unknown, wrong] = [Math.min(...times.unknown), Math.min(...times.wrong)];
  expect(unknown).toBeGreaterThan(wrong * 0.5);
  expect(unknown).toBeLessThan(wrong * 2);
});

test("of one address 64 may wait, and one more is refused with a sentence that says so", async () => {
  const passwords = createPasswords();
  const who = { group: "10.0.0.1", isKnown: false };
  const begun = Promise.withResolvers<undefined>();
  const find = async (): Promise<undefined> => {
    await begun.promise;
    throw new Error("its turn came");
  };
  const most = LIMITS.passwordsAtOnce + LIMITS.passwordsWaitingPerAddress;
  const tries = Array.from({ length: most + 1 }, () => passwords.verify(who, find, "x").catch(String));
  expect(await tries.at(-1)).toMatch(/\(at most 128 may wait, 64 per address\): try again in 2 s$/);
  begun.resolve(undefined);
  expect(new Set(await Promise.all(tries.slice(0, most)))).toEqual(new Set(["Error: its turn came"]));
});

test("a flood of strangers has two threads and 128 places, what is beyond is refused at once, and who is known goes first", async () => {
  const passwords = createPasswords();
  const known = await passwords.hash("correct horse");
  const order: string[] = [];
  const begun: string[] = [];
  const stored = async (): Promise<string> => {
    begun.push("owner");
    return known;
  };
  let tried = 0;
  let most = 0;
  /** The first cost the work, which is what the owner's would wait for. */
  const nobody = async (): Promise<undefined> => {
    begun.push("stranger");
    most = Math.max(most, ++tried);
    if (begun.length > 10) throw Object.assign(new Error("its turn came"), { code: "tried" });
  };
  const flood = Array.from({ length: 2_000 }, (_, index) =>
    passwords
      .verify({ group: `10.0.${index >> 8}.${index & 255}`, isKnown: false }, nobody, "battery staple")
      .finally(() => tried--)
      .then(() => order.push("tried"))
      .catch((error: { code: string }) => order.push(error.code)),
  );
  const owner = passwords.verify({ group: "ada", isKnown: true }, stored, "correct horse");
  expect(await owner).toBe(true);
  await Promise.all(flood);
  expect(most).toBeLessThanOrEqual(2);
  expect(order.filter((one) => one === "tried")).toHaveLength(130);
  expect(order.slice(0, 1_870).every((one) => one === "RATE_LIMITED")).toBe(true);
  expect(begun.indexOf("owner")).toBeLessThanOrEqual(LIMITS.passwordsAtOnce);
});
