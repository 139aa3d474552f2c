/** The pictures of docs/ui.md (made by test/ui/screens.test.ts). */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textOf } from "./source.ts";

const FOLDER = join(import.meta.dirname, "../../docs/screens");
const MAX_BYTES = 3_000_000;

const named = ["docs/ui.md", "README.md"].flatMap((path) =>
  [...textOf(path).matchAll(/screens\/([\w-]+\.png)/g)].map(([, name]) => name!),
);
const kept = readdirSync(FOLDER);

test("every picture that the docs name is there, and no other: make them with SCREENS=docs/screens npm test -- test/ui/screens.test.ts", () => {
  expect([...new Set(named)].toSorted()).toEqual(kept.toSorted());
});

test("the pictures are small: each clone has them", () => {
  expect(kept.reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0)).toBeLessThan(MAX_BYTES);
});
