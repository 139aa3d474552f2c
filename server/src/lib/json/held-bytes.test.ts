import { expect, test } from "vitest";
import { heldBytes } from "./held-bytes.ts";
import { leastMs } from "../processor-time.testsuite.ts";

const list = (item: string, length = 1_000_000): string =>
  `[${Array(Math.floor(length / (item.length + 1)))
    .fill(item)
    .join(",")}]`;

/** Measured bytes of memory per character of the text, not counting the text itself. */
test.each([
  ["a long text", JSON.stringify("x".repeat(1_000_000)), 1],
  ["a long text beyond Latin-1", JSON.stringify("☃".repeat(1_000_000)), 2],
  ["numbers", list("0"), 4],
  ["numbers of many digits", list("820982911946154508"), 4.2],
  ["numbers of a hundred digits", list("7".repeat(100)), 1.6],
  ["objects of one field", list('{"a":1}'), 5],
  ["empty lists", list("[]"), 13.4],
  ["lists of one", list("[0]"), 16],
  ["empty objects", list("{}"), 21.4],
  ["records", list('{"id":12345,"name":"name 12345","email":"user12345@example.org","active":true}'), 1.8],
])("%s are counted with at least the memory that they take, and their text once more", (_, text, factor) => {
  expect(heldBytes(text)).toBeGreaterThan((factor * 0.9 + 1) * text.length);
  expect(heldBytes(text)).toBeLessThan((factor * 3 + 2) * text.length);
});

test("a large text is looked at in places: what it costs does not grow with it", () => {
  const text = list("{}", 100_000_000);
  expect(leastMs(50, () => heldBytes(text))).toBeLessThan(50);
  expect(heldBytes(text)).toBeCloseTo((heldBytes(list("{}")) / 1_000_000) * text.length, -7);
});
