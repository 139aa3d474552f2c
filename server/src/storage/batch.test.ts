import { describe, expect, test } from "vitest";
import type { OrganizationId } from "../lib/ids.ts";
import { LIMITS } from "../lib/limits.ts";
import { Batch, type WriteLane } from "./batch.ts";

type Item = { id: string; bytes?: number; of?: string };
type Write = { ids: string[]; lane: WriteLane; answer: (error?: unknown) => void };

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** A write waits for three turns at most. */
async function nextWrite(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await nextTurn();
}

/** A write that the test answers, in any order. */
function held(): { writes: Write[]; batch: Batch<Item, string> } {
  const writes: Write[] = [];
  const batch = new Batch<Item, string>({
    id: (item) => item.id,
    organizationId: (item) => (item.of ?? "one") as OrganizationId,
    bytes: (item) => item.bytes ?? 1,
    write: (items, lane) =>
      new Promise((resolve, reject) => {
        const answer = (error?: unknown): void =>
          error ? reject(error) : resolve(items.map((item) => `wrote ${item.id}`));
        writes.push({ ids: items.map((item) => item.id), lane, answer });
      }),
  });
  return { writes, batch };
}

/** A write that answers by itself; `fails` says with which error, if any. */
function immediate(fails: (ids: string[], call: number) => unknown): { calls: string[][]; batch: Batch<Item, string> } {
  const calls: string[][] = [];
  const batch = new Batch<Item, string>({
    id: (item) => item.id,
    organizationId: (item) => (item.of ?? "one") as OrganizationId,
    bytes: () => 1,
    write: async (items) => {
      const ids = items.map((item) => item.id);
      const error = fails(ids, calls.push(ids));
      if (error) throw error;
      return ids.map((id) => `wrote ${id}`);
    },
  });
  return { calls, batch };
}

const pgError = (code: string): Error => Object.assign(new Error(`code ${code}`), { code });

describe("what is written together", () => {
  test("everything of one tick, sorted by id, each with its own result", async () => {
    const { writes, batch } = held();
    const results = ["b", "c", "a"].map((id) => batch.add({ id }));
    expect(writes).toEqual([]);
    await nextWrite();
    expect(writes.map((write) => write.ids)).toEqual([["a", "b", "c"]]);
    writes[0]!.answer();
    expect(await Promise.all(results)).toEqual(["wrote b", "wrote c", "wrote a"]);
  });

  test("what further turns of the event loop bring, while each brings something, for three turns; of one alone none", async () => {
    const { writes, batch } = held();
    void batch.add({ id: "alone" });
    await nextTurn();
    expect(writes.map(({ ids }) => ids)).toEqual([["alone"]]);
    writes[0]!.answer();
    await nextWrite();
    for (const ids of ["ab", "c", "d", "e"]) {
      for (const id of ids) void batch.add({ id });
      await nextTurn();
    }
    expect(writes.slice(1).map(({ ids }) => ids.join(""))).toEqual(["abcd"]);
  });

  test("while one is in flight a further one is begun for four, two are in flight at most", async () => {
    const { writes, batch } = held();
    const results: Promise<string>[] = [];
    const add = async (ids: string): Promise<void> => {
      for (const id of ids) results.push(batch.add({ id }));
      await nextWrite();
    };
    for (const ids of ["a", "bc", "d", "e", "fghi", "n"]) await add(ids);
    expect(writes.map(({ ids }) => ids.join(""))).toEqual(["a", "bcde"]);
    writes[1]!.answer();
    await results[1];
    await nextWrite();
    expect(writes[2]!.ids.join("")).toBe("fghin");
    for (const write of writes) write.answer();
    expect(await Promise.all(results)).toEqual(Array.from("abcdefghin", (id) => `wrote ${id}`));
  });

  test(`at most ${LIMITS.batchRows} rows`, async () => {
    const { calls, batch } = immediate(() => undefined);
    const ids = Array.from({ length: LIMITS.batchRows * 2 + 1 }, (_, index) => String(index).padStart(4, "0"));
    await Promise.all(ids.map((id) => batch.add({ id })));
    expect(calls.map((call) => call.length)).toEqual([LIMITS.batchRows, LIMITS.batchRows, 1]);
    expect(calls.flat()).toEqual(ids);
  });

  test(`at most ${LIMITS.batchBytes} bytes`, async () => {
    const { writes, batch } = held();
    const bytes = LIMITS.largeWriteBytes;
    const results = Array.from({ length: 17 }, (_, index) => batch.add({ id: `${10 + index}`, bytes }));
    await nextWrite();
    expect(writes.map(({ ids }) => ids.length)).toEqual([LIMITS.batchBytes / bytes]);
    writes[0]!.answer();
    await nextWrite();
    await nextWrite();
    expect(writes[1]!.ids).toEqual(["26"]);
    writes[1]!.answer();
    await Promise.all(results);
  });
});

describe("large items", () => {
  const LARGE = LIMITS.largeWriteBytes + 1;
  const HALF = LIMITS.batchBytes / 2;

  test(`beyond ${LIMITS.largeWriteBytes} bytes leave the lane of the small ones free, whichever came first`, async () => {
    for (const order of [
      ["large-1", "large-2", "small-1", "small-2"],
      ["small-1", "large-1", "large-2", "small-2"],
      ["small-1", "small-2", "large-1", "large-2"],
    ]) {
      const { writes, batch } = held();
      const results = order.map((id) =>
        batch.add({ id, of: "one", bytes: id.startsWith("large") ? LIMITS.batchBytes * 60 : LIMITS.largeWriteBytes }),
      );
      await nextWrite();
      expect(writes.map(({ ids, lane }) => [lane, ...ids])).toEqual([
        ["small", "small-1", "small-2"],
        ["large", "large-1"],
      ]);
      expect(batch.waiting).toBe(1);
      // The large one is still under way.
      writes[0]!.answer();
      results.push(batch.add({ id: "small-3", of: "one" }));
      await nextWrite();
      await nextWrite();
      expect(writes[2]!.ids).toEqual(["small-3"]);
      for (let next = 1; next < 4; next++) {
        writes[next]!.answer();
        await nextWrite();
        await nextWrite();
      }
      expect(writes.map(({ ids }) => ids.join(" "))).toEqual(["small-1 small-2", "large-1", "small-3", "large-2"]);
      await Promise.all(results);
    }
  });

  test(`of one organization are one in flight, of all ${LIMITS.largeWrites}: what one has in flight is one statement of bytes`, async () => {
    const { writes, batch } = held();
    const results = ["a", "b", "c"].flatMap((of) =>
      Array.from({ length: 4 }, (_, index) => batch.add({ id: `${of}${index}`, of, bytes: HALF })),
    );
    const inFlight = new Set<Write>();
    const most = { writes: 0, ofOne: 0 };
    for (let seen = 0; seen < 6;) {
      await nextWrite();
      await nextWrite();
      for (; seen < writes.length; seen++) inFlight.add(writes[seen]!);
      const of = Array.from(inFlight, ({ ids }) => ids[0]![0]!);
      most.writes = Math.max(most.writes, inFlight.size);
      most.ofOne = Math.max(most.ofOne, ...of.map((one) => of.filter((other) => other === one).length));
      for (const write of inFlight) expect(write.ids).toHaveLength(2);
      const [first] = inFlight;
      inFlight.delete(first!);
      first!.answer();
    }
    expect(most).toEqual({ writes: LIMITS.largeWrites, ofOne: 1 });
    for (const write of inFlight) write.answer();
    await Promise.all(results);
  });

  test("take turns by bytes: beside one of 60 MB another organization writes as much in small pieces", async () => {
    const { writes, batch } = held();
    const add = (of: string, index: number, bytes: number) => batch.add({ id: `${of}${index}`, of, bytes });
    const results = [add("x", 0, LARGE), add("y", 0, LARGE)];
    await nextWrite();
    // "x" stays under way, so one write is left for the two others: "a" has 60 times as much in each.
    for (let index = 0; index < 3; index++) results.push(add("a", index, 60 * LIMITS.batchBytes));
    for (let index = 0; index < 70; index++) results.push(add("b", index, LIMITS.batchBytes));
    for (let next = 1; next < writes.length; next++) {
      writes[next]!.answer();
      await nextWrite();
      await nextWrite();
    }
    writes[0]!.answer();
    const ids = writes.map(({ ids: [first] }) => first!).filter((id) => /[ab]/.test(id));
    expect(ids.indexOf("a0")).toBeLessThan(2);
    expect(ids.indexOf("a1")).toBeGreaterThan(55);
    await Promise.all(results);
  });

  test("that fail are repeated one by one, in their lane", async () => {
    const calls: string[] = [];
    const batch = new Batch<Item, string>({
      id: ({ id }) => id,
      organizationId: () => "one" as OrganizationId,
      bytes: ({ bytes }) => bytes ?? 1,
      write: async (items, lane) => {
        calls.push(`${lane} ${items.map(({ id }) => id).join(" ")}`);
        if (items.some(({ id }) => id === "bad")) throw pgError("23505");
        return items.map(({ id }) => `wrote ${id}`);
      },
    });
    const results = await Promise.allSettled(["a", "bad", "c"].map((id) => batch.add({ id, bytes: LARGE })));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(calls).toEqual(["large a bad c", "large a", "large bad", "large c"]);
    expect(await batch.add({ id: "d", bytes: LARGE })).toBe("wrote d");
  });
});

describe("organizations take turns", () => {
  test("behind 1,000 items of one another's are in the next write, as many of each", async () => {
    const { writes, batch } = held();
    const results = Array.from({ length: 1_000 }, (_, index) => batch.add({ id: `many-${index}`, of: "many" }));
    await nextWrite();
    for (const id of ["single-0", "single-1"]) results.push(batch.add({ id, of: "single" }));
    const few = Array.from({ length: 200 }, (_, index) => batch.add({ id: `some-${index}`, of: "some" }));
    for (let next = 0; next < writes.length; next++) {
      writes[next]!.answer();
      await nextWrite();
      await nextWrite();
    }
    const of = (write: Write): Record<string, number> =>
      Object.fromEntries(
        ["many", "single", "some"].map((name) => [name, write.ids.filter((id) => id.startsWith(name)).length]),
      );
    // The first two were under way.
    expect(writes.slice(2, 4).map(of)).toEqual([
      { many: 127, single: 2, some: 127 },
      { many: 183, single: 0, some: 73 },
    ]);
    expect(await Promise.all(results)).toHaveLength(1_002);
    expect(await Promise.all(few)).toHaveLength(200);
  });

  test("an item that finds no room any more is the first of the next write", async () => {
    const { writes, batch } = held();
    const big = LIMITS.largeWriteBytes;
    const add = (id: string, bytes: number) => batch.add({ id, bytes, of: id[0]! });
    const many = Array.from({ length: 9 }, (_, index) => `a${index}`);
    const others = Array.from({ length: 8 }, (_, index) => `b${index}`);
    const results = [...many, ...others].map((id) => add(id, big)).concat(add("b8", 1), add("c0", 1));
    await nextWrite();
    for (const next of [0, 1]) {
      writes[next]!.answer();
      await nextWrite();
      await nextWrite();
    }
    expect(writes.map(({ ids }) => ids)).toEqual([
      [...many.slice(0, 8), ...others.slice(0, 7), "c0"].toSorted(),
      ["a8", "b7", "b8"],
    ]);
    await Promise.all(results);
  });
});

describe("a failed write", () => {
  test("is repeated item by item: each caller gets its own error or result", async () => {
    const { calls, batch } = immediate((ids) => ids.includes("bad") && pgError("23505"));
    const results = await Promise.allSettled(["a", "bad", "c"].map((id) => batch.add({ id })));
    expect(results).toMatchObject([
      { status: "fulfilled", value: "wrote a" },
      { status: "rejected", reason: { code: "23505" } },
      { status: "fulfilled", value: "wrote c" },
    ]);
    expect(calls).toEqual([["a", "bad", "c"], ["a"], ["bad"], ["c"]]);
  });

  test("of a single item is not repeated", async () => {
    const { calls, batch } = immediate(() => pgError("23505"));
    await expect(batch.add({ id: "a" })).rejects.toMatchObject({ code: "23505" });
    expect(calls).toEqual([["a"]]);
  });

  test("by a deadlock is repeated, even for a single item, three times", async () => {
    const twice = immediate((_, call) => call <= 2 && pgError("40P01"));
    expect(await twice.batch.add({ id: "a" })).toBe("wrote a");
    expect(twice.calls).toHaveLength(3);
    const always = immediate(() => pgError("40P01"));
    await expect(always.batch.add({ id: "a" })).rejects.toMatchObject({ code: "40P01" });
    expect(always.calls).toHaveLength(4);
  });

  test("by a lost database fails all the rest at once: none waits for its own timeout", async () => {
    const { calls, batch } = immediate(() => pgError("57P01"));
    const results = await Promise.allSettled(["a", "b", "c"].map((id) => batch.add({ id })));
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(calls).toEqual([["a", "b", "c"], ["a"]]);
  });

  test("does not stop the ones after it", async () => {
    const { batch } = immediate((ids) => ids.includes("bad") && pgError("23505"));
    await expect(batch.add({ id: "bad" })).rejects.toThrow();
    await expect(batch.add({ id: "bad" })).rejects.toThrow();
    expect(await batch.add({ id: "good" })).toBe("wrote good");
  });
});
