import { expect, test } from "vitest";
import { newId } from "../lib/ids.ts";
import type { Database, Row } from "../storage/database.ts";
import { createKeyLookUps } from "./api-key-look-ups.ts";

/** Answers each statement when told to. */
function slowDatabase() {
  const asked: { hashes: Buffer[]; answer: (rows: Row[] | Error) => void }[] = [];
  const query = (_: string, [hashes]: [Buffer[]]): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      asked.push({ hashes, answer: (rows) => (rows instanceof Error ? reject(rows) : resolve(rows)) });
    });
  return { asked, database: { query } as unknown as Database };
}

const hashOf = (index: number): Buffer => Buffer.from(String(index).padStart(32, "0"));

test("one statement at a time, for all that wait, and each gets its own", async () => {
  const { asked, database } = slowDatabase();
  const lookUp = createKeyLookUps(database);
  const answers = Array.from({ length: 600 }, (_, index) => lookUp(hashOf(index)));
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
  expect(asked.map(({ hashes }) => hashes.length)).toEqual([1, 256, 256, 87]);
});

test("more than may wait are refused, and a statement that fails fails for those in it", async () => {
  const { asked, database } = slowDatabase();
  const lookUp = createKeyLookUps(database);
  const outcomes = Array.from({ length: 1_200 }, (_, index) =>
    lookUp(hashOf(index)).then(
      () => "answered",
      (error: Error & { code?: string }) => `${error.code ?? "-"} ${error.message}`,
    ),
  );
  asked[0]!.answer(new Error("broken"));
  for (let statement = 1; statement <= 4; statement++) {
    await expect.poll(() => asked.length).toBeGreaterThan(statement);
    asked[statement]!.answer([]);
  }
  const counts = Object.groupBy(await Promise.all(outcomes), (outcome) => outcome);
  expect(Object.entries(counts).map(([name, all]) => [name, all!.length])).toEqual([
    ["- broken", 1],
    ["answered", 1_024],
    ["UNAVAILABLE 1024 API keys wait to be looked up already: try again in a moment", 175],
  ]);
});
