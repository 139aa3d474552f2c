import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LIMITS } from "./limits.ts";

test("docs/limits.md has every limit with its value", () => {
  const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  // The plans before it have a table of their own.
  const rows = page.slice(page.indexOf("## Everything else")).matchAll(/^\| `(\w+)` \| (\d+) \|/gm);
  expect(Object.fromEntries(Array.from(rows, ([, name, value]) => [name, Number(value)]))).toEqual(LIMITS);
});
