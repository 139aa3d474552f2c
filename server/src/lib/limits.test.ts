import { expect, test } from "vitest";
import { LIMITS, TABLES } from "./limits.ts";

test("no two tables have a limit of the same name", () => {
  const names = TABLES.flatMap(({ limits }) => Object.keys(limits));
  expect(names.toSorted()).toEqual(Object.keys(LIMITS).toSorted());
});
