import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesBelow, ROOT, textOf } from "./source.ts";

/** Documents name files from the root, or within the server, the UI or the tests. */
const BASES = ["", "server/src", "web/src", "test"];

/** Results of a build, and measurements of a time when it was there. */
const ELSEWHERE = new Set(["server/dist/main.js", "cli/main.js", "test/hostile/runs.test.ts"]);

const pages = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "bench/README.md"].concat(
  filesBelow("docs").filter((path) => path.endsWith(".md")),
);

const filesNamedIn = (text: string): string[] =>
  [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|tsx|js|sh))[`:]/g)].map(([, name]) => name!);

const isThere = (name: string): boolean => BASES.some((base) => existsSync(join(ROOT, base, name)));

test("a page names files that are there: name the file as it is called now", () => {
  expect(filesNamedIn("see `runs/start-run.ts` and `a/b.test.ts:3`")).toEqual(["runs/start-run.ts", "a/b.test.ts"]);
  expect(isThere("runs/begin-run.ts")).toBe(false);
  const gone = pages.flatMap((page) =>
    filesNamedIn(textOf(page))
      .filter((name) => !ELSEWHERE.has(name) && !isThere(name))
      .map((name) => `${page}: ${name}`),
  );
  expect(gone).toEqual([]);
});

const numberOf = (text: string): number => Number(/\d+/.exec(text)?.[0]);

test("a decision has a number of its own, the same in its file's name and its title", () => {
  const decisions = filesBelow("docs/decisions");
  const numbers = decisions.map((path) => numberOf(path));
  expect(new Set(numbers).size, "two decisions have one number: give the younger one the next").toBe(numbers.length);
  for (const path of decisions) expect(textOf(path), path).toMatch(new RegExp(`^# ${numberOf(path)}\\. `));
});
