import { expect, test } from "vitest";
import { linesIn, textOf } from "./filter-said.ts";

test("what the form says is the filter, and back", () => {
  const lines = [
    { field: "country", values: ["FR", "DE"] },
    { field: "kind", values: ["gift"] },
  ];
  expect(JSON.parse(textOf(lines))).toEqual({ country: ["FR", "DE"], kind: ["gift"] });
  expect(linesIn(textOf(lines))).toEqual(lines);
  expect(linesIn("")).toEqual([]);
});

test("a line that nobody has filled in is left out; one that is half filled in is refused by the server", () => {
  expect(textOf([{ field: "", values: [] }])).toBe("");
  expect(JSON.parse(textOf([{ field: "country", values: [] }]))).toEqual({ country: [] });
});

test.each(["{", "[]", '{"total": [1]}', '{"total": "one"}'])("%s is for JSON alone", (text) =>
  expect(linesIn(text)).toBeUndefined(),
);
