import { expect, test } from "vitest";
import { newId } from "../../lib/ids.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { Database, Row } from "../../storage/database.ts";
import { hashApiKey, hashBytes } from "../api-key.ts";
import { KnownKeys } from "./known-keys.ts";

/** Answers each statement when told to. */
function slowDatabase() {
  const asked: { hashes: Buffer[]; answer: (rows: Row[] | Error) => void }[] = [];
  const query = (_: string, [hashes]: [Buffer[]]): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      asked.push({ hashes, answer: (rows) => (rows instanceof Error ? reject(rows) : resolve(rows)) });
    });
  return { asked, database: { query } as unknown as Database };
}

const hashOf = (index: number): Buffer => hashBytes(hashApiKey(String(index)));

test("one statement at a time, for all that wait, and each gets its own", async () => {
  const { asked, database } = slowDatabase();
  const keys = new KnownKeys(database);
  const answers = Array.from({ length: 600 }, (_, index) => keys.find(String(index), `192.0.2.${index % 2}`));
  expect(asked.map(({ hashes }) => hashes.length)).toEqual([1]);
  const [organizationId, keyId] = [newId<"organization">(), newId<"apiKey">()];
  asked[0]!.answer([]);
  await expect.poll(() => asked.length).toBe(2);
  asked[1]!.answer([{ secret_hash: hashOf(7), organization_id: organizationId, id: keyId }]);
  await expect.poll(() => asked.length).toBe(3);
  asked[2]!.answer([]);
  await expect.poll(() => asked.length).toBe(4);
  asked[3]!.answer([]);
  const found = await Promise.all(answers);
  expect(found.filter((one) => one !== undefined)).toHaveLength(1);
  expect(found[7]).toEqual({ organizationId, keyId });
  expect([keys.recall("7"), keys.recall("8"), await keys.find("7", "192.0.2.1")]).toEqual([
    found[7],
    undefined,
    found[7],
  ]);
  expect(asked.map(({ hashes }) => hashes.length)).toEqual([1, 256, 256, 87]);
});

const REFUSED =
  "UNAVAILABLE too many API keys are waiting to be looked up (at most 1024, 512 per address): try again in a moment";

/** The outcome of each, in their order, when all of them have come before the first of `statements` more is answered. */
async function outcomesOf(addresses: string[], statements: number) {
  const { asked, database } = slowDatabase();
  const keys = new KnownKeys(database);
  const outcomes = addresses.map((address, index) =>
    keys.find(String(index), address).then(
      () => "answered",
      (error: Error & { code?: string }) => `${error.code ?? "-"} ${error.message}`,
    ),
  );
  asked[0]!.answer(new Error("broken"));
  for (let statement = 1; statement <= statements; statement++) {
    await expect.poll(() => asked.length).toBeGreaterThan(statement);
    asked[statement]!.answer([]);
  }
  return { all: await Promise.all(outcomes), asked };
}

const countsOf = (outcomes: string[]): Record<string, number> =>
  Object.fromEntries(Object.entries(Object.groupBy(outcomes, (one) => one)).map(([name, all]) => [name, all!.length]));

test("the maximum of waiting keys is looked up, one more is refused, and a failed statement fails only its own", async () => {
  const two = Array.from({ length: 1 + LIMITS.keysWaiting }, (_, index) => `192.0.2.${index % 2}`);
  expect(countsOf((await outcomesOf(two, 4)).all)).toEqual({ "- broken": 1, answered: 1_024 });
  // The last one of the address with most gives way to another address.
  const { all } = await outcomesOf([...two, "192.0.2.2"], 4);
  expect([all.at(-1), countsOf(all)]).toEqual(["answered", { "- broken": 1, answered: 1_024, [REFUSED]: 1 }]);
});

test("of one address as many wait as may, and one more is refused; another's goes with the next statement", async () => {
  const flood = Array.from({ length: 1 + LIMITS.keysWaitingPerAddress }, () => "2001:db8::1");
  expect(countsOf((await outcomesOf(flood, 2)).all)).toEqual({ "- broken": 1, answered: 512 });
  const { all, asked } = await outcomesOf([...flood, "2001:db8::2", "192.0.2.1"], 3);
  expect(all.slice(-2)).toEqual([REFUSED, "answered"]);
  expect(asked[1]!.hashes.findIndex((hash) => hash.equals(hashOf(all.length - 1)))).toBe(1);
});
