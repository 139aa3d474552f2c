import { expect, test } from "vitest";
import { Roll } from "./roll.ts";

const filled = () => {
  const roll = new Roll<{ name: string; place: number }>();
  const items = ["a", "b", "c", "d"].map((name) => ({ name, place: -1 }));
  for (const item of items) roll.add(item);
  return {
    roll,
    items,
    names: () =>
      [...roll]
        .map(({ name }) => name)
        .toSorted()
        .join(""),
  };
};

test("a member is listed until it leaves, whatever the order", () => {
  const { roll, items, names } = filled();
  const [a, b, c, d] = items;
  for (const [item, left] of [
    [b, "acd"],
    [d, "ac"],
    [a, "c"],
    [c, ""],
  ] as const) {
    roll.delete(item!);
    expect(names()).toBe(left);
  }
});

test("leaving twice, or without having joined, does nothing", () => {
  const { roll, items, names } = filled();
  roll.delete(items[0]!);
  roll.delete(items[0]!);
  roll.delete({ name: "e", place: -1 });
  roll.delete({ name: "e", place: 1 });
  expect(names()).toBe("bcd");
});

test("the item under inspection may be removed", () => {
  const { roll, names } = filled();
  const seen = [];
  for (const item of roll) {
    seen.push(item.name);
    roll.delete(item);
  }
  expect(seen.toSorted()).toEqual(["a", "b", "c", "d"]);
  expect(names()).toBe("");
});
