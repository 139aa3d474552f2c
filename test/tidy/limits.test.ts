import { expect, test } from "vitest";
import { LIMITS } from "../../server/src/lib/limits.ts";
import { EDGES } from "./limits.ts";
import { textOf } from "./source.ts";

const ADD =
  'each limit has a test at its edge: as many as may be pass, and one more is refused with a sentence that says how many may be. Add it to EDGES in test/tidy/limits.ts: `name: here("name")` with a row in test/limits.test.ts, `name: refused("test/file.test.ts", "words of the title")`, or `name: shown("test/file.test.ts", "words of the title", "what happens instead")` where nothing is refused';

test("every limit has a row", () => {
  expect(
    Object.keys(LIMITS).filter((name) => !Object.hasOwn(EDGES, name)),
    ADD,
  ).toEqual([]);
  expect(
    Object.keys(EDGES).filter((name) => !Object.hasOwn(LIMITS, name)),
    "rows without a limit",
  ).toEqual([]);
});

test("every row names a test that there is", () => {
  const isMissing = ([name, { file, title }]: [string, { file: string; title: string }]): boolean => {
    const text = textOf(file);
    return !text.includes(title === name ? `    ${name}: ` : title);
  };
  const missing = Object.entries(EDGES).filter(isMissing);
  expect(missing, "the file has no such title: it was renamed, or its test is gone").toEqual([]);
});
