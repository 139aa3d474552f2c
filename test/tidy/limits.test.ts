import { expect, test } from "vitest";
import { TABLES } from "../../server/src/lib/limits.ts";
import type { EdgeTest } from "../../server/src/lib/limits/limit.ts";
import { textOf } from "./source.ts";

const MISSING =
  'each limit names the test at its edge: the limit itself passes, and one more is refused with an error that says the limit, or what `beyond` says happens. `test: BY_NAME` is a row in test/limits.test.ts, `test: ["test/file.test.ts", "words of the title"]` any other test. The file has no such words: the test was renamed, or it is gone';

const isMissing = ([name, { test: edge }]: [string, { test: EdgeTest }]): boolean => {
  const [file, words = `    ${name}: `] = edge;
  return !textOf(file).includes(words);
};

test("no two tables have a limit of one name: the second would replace the first", () => {
  const names = TABLES.flatMap((table) => Object.keys(table.limits));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("every limit names a test that there is", () => {
  const limits = TABLES.flatMap((table) => Object.entries<{ test: EdgeTest }>(table.limits));
  expect(limits.filter(isMissing), MISSING).toEqual([]);
});
