import { expect, test } from "vitest";
import { hint, nearest } from "./did-you-mean.ts";

test.each([
  ["titel", ["title", "tags"], "title"],
  ["endpont", ["method", "endpoint"], "endpoint"],
  ["GETT", ["GET", "PUT"], "GET"],
  ["Summary", ["summary"], "summary"],
  ["x", ["y"], undefined],
  ["colour", ["method"], undefined],
  ["a".repeat(100), ["a".repeat(101)], undefined],
])("%s", (word, known, near) => expect(nearest(word, known)).toBe(near));

test("without a near word the known ones are told, if they are few", () => {
  expect(hint("colour", ["title", "tags", "tags"])).toBe("; known here: title, tags");
  expect(hint("colour", [])).toBe("");
  expect(
    hint(
      "colour",
      Array.from({ length: 20 }, (_, index) => `key${index}`),
    ),
  ).toBe("");
});
