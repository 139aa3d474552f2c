import { expect, test } from "vitest";
import { leastMs } from "../lib/processor-time.testsuite.ts";
import { FairCache } from "./fair-cache.ts";
import { newId } from "../lib/ids.ts";

const organization = () => newId<"organization">();

test("who holds most displaces its own, the least recently used first, and nobody else's", () => {
  const cache = new FairCache<number>(100);
  const [quiet, busy] = [organization(), organization()];
  cache.set(quiet, "a", 1);
  cache.set(busy, "often", 2);
  for (let count = 0; count < 1_000; count++) {
    cache.set(busy, `${count}`, count);
    expect(cache.get(busy, "often")).toBe(2);
  }
  expect(cache.get(quiet, "a")).toBe(1);
  expect(cache.get(busy, "999")).toBe(999);
  // 98 of them beside the other two.
  expect([cache.get(busy, "901"), cache.get(busy, "902")]).toEqual([undefined, 902]);
  for (let count = 0; count < 49; count++) cache.set(quiet, `q${count}`, count);
  expect(cache.get(quiet, "a")).toBe(1);
  expect(cache.get(quiet, "q0")).toBe(0);
});

test("sizes count, a value that takes another's place gives its size back, and one that is too large is not kept", () => {
  const cache = new FairCache<string>(10, (text) => text.length);
  const [one, other] = [organization(), organization()];
  cache.set(one, "a", "xxxx");
  for (let time = 0; time < 5; time++) cache.set(other, "b", "yyyyyy");
  expect([cache.get(one, "a"), cache.get(other, "b")]).toEqual(["xxxx", "yyyyyy"]);
  cache.set(other, "c", "z");
  expect([cache.get(one, "a"), cache.get(other, "b"), cache.get(other, "c")]).toEqual(["xxxx", undefined, "z"]);
  cache.set(other, "large", "z".repeat(11));
  expect([cache.get(one, "a"), cache.get(other, "large")]).toEqual(["xxxx", undefined]);
  cache.delete(one, "a");
  cache.delete(one, "a");
  cache.set(other, "d", "z".repeat(10));
  expect(cache.get(other, "d")).toHaveLength(10);
});

test("what gives way is found at once, however many organizations have something", () => {
  const [most, drops] = [100_000, 1_000];
  const cache = new FairCache<number>(most);
  for (let count = 0; count < most; count++) cache.set(organization(), "a", count);
  const busy = organization();
  let count = 0;
  const drop = (): void => {
    for (const end = count + drops; count < end; count++) cache.set(busy, `${count}`, count);
  };
  // A few ms. Looking at each organization takes two seconds and more.
  expect(leastMs(500, drop)).toBeLessThan(500);
});

test("whatever goes is told of", () => {
  const gone: string[] = [];
  const cache = new FairCache<number>(2, undefined, (key) => gone.push(key));
  const one = organization();
  for (const key of ["a", "b", "c", "c"]) cache.set(one, key, 1);
  expect(gone).toEqual(["a"]);
  cache.delete(one, "none");
  cache.forget(one);
  expect(gone).toEqual(["a", "b", "c"]);
});

test("an organization's values are forgotten together, and make room", () => {
  const cache = new FairCache<number>(3);
  const [one, other] = [organization(), organization()];
  cache.set(one, "a", 1);
  cache.set(one, "b", 2);
  cache.set(other, "a", 3);
  cache.forget(one);
  cache.forget(one);
  expect([cache.get(one, "a"), cache.get(one, "b"), cache.get(other, "a")]).toEqual([undefined, undefined, 3]);
  for (const key of ["b", "c"]) cache.set(other, key, 4);
  expect(cache.get(other, "a")).toBe(3);
});
