import type { Duplex } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Strangers } from "./strangers.ts";

function crowd(all: number, perAddress: number) {
  const strangers = new Strangers({ all, perAddress });
  const closed: string[] = [];
  const open = (address: string, name: string, isProxy = false): Duplex => {
    const socket = { destroy: () => void closed.push(name) } as unknown as Duplex;
    strangers.add(address, socket, isProxy);
    return socket;
  };
  return { strangers, closed, open };
}

test("an address closes its own oldest for its next, and nobody else's", () => {
  const { closed, open } = crowd(100, 2);
  open("a", "a1");
  open("b", "b1");
  open("a", "a2");
  open("a", "a3");
  open("a", "a4");
  expect(closed).toEqual(["a1", "a2"]);
});

test("when there are too many in all, the address that has most gives way, also to one that is new", () => {
  const { strangers, closed, open } = crowd(4, 100);
  open("old", "old1");
  const first = open("many", "many1");
  open("many", "many2");
  open("some", "some1");
  open("new", "new1");
  expect(closed).toEqual(["many1"]);
  expect(strangers.has("many", first)).toBe(false);
  // Each has one: the one whose turn it is, and never the newest.
  open("newer", "newer1");
  expect(closed).toEqual(["many1", "old1"]);
});

test("addresses with one each give way in turn, the oldest first", () => {
  const { closed, open } = crowd(100, 10);
  for (let count = 0; count < 1_000; count++) open(`single${count}`, `${count}`);
  expect(closed).toEqual(Array.from({ length: 900 }, (_, index) => `${index}`));
});

test("what has left or became a caller's counts no longer", () => {
  const { strangers, closed, open } = crowd(3, 2);
  const [one, two] = [open("a", "a1"), open("a", "a2")];
  expect([strangers.delete("a", one), strangers.delete("a", one), strangers.has("a", two)]).toEqual([
    true,
    false,
    true,
  ]);
  open("a", "a3");
  open("b", "b1");
  expect(closed).toEqual([]);
  strangers.delete("a", two);
  open("b", "b2");
  open("c", "c1");
  expect(closed).toEqual(["b1"]);
});

test("a trusted proxy may have as many as all together", () => {
  const { closed, open } = crowd(3, 1);
  for (const name of ["p1", "p2", "p3"]) open("proxy", name, true);
  expect(closed).toEqual([]);
  open("a", "a1");
  expect(closed).toEqual(["p1"]);
});

test("10,000 addresses with one each, then 10,000 more of one: each costs the same", () => {
  const { closed, open } = crowd(10_000, 2_500);
  for (let count = 0; count < 10_000; count++) open(`single${count}`, `single${count}`);
  for (let count = 0; count < 10_000; count++) open("flood", `flood${count}`);
  // Until it has more than any other it takes the place of singles: of two.
  expect(closed.filter((name) => name.startsWith("single")).length).toBeLessThanOrEqual(2);
});

test("nothing is kept of addresses that left", () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const { strangers } = crowd(100, 100);
  const socket = {} as Duplex;
  const held = (): number => {
    gc();
    return process.memoryUsage().heapUsed;
  };
  const before = held();
  for (let count = 0; count < 100_000; count++) {
    strangers.add(`gone${count}`, socket, false);
    strangers.delete(`gone${count}`, socket);
  }
  const kept = held() - before;
  expect(strangers.size).toBe(0);
  expect(kept / 100_000).toBeLessThan(20);
});
