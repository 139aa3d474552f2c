import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { fingerprint } from "./build.js";

const root = mkdtempSync(join(tmpdir(), "autograph-build-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const write = (name: string, text: string, seconds = 1_000_000): void => {
  writeFileSync(join(root, name), text);
  utimesSync(join(root, name), seconds, seconds);
};
const now = (): string => fingerprint(["src", "tsconfig.json", "missing"], root);

let before: string;
beforeEach(() => {
  rmSync(join(root, "src"), { recursive: true, force: true });
  mkdirSync(join(root, "src/runs"), { recursive: true });
  write("tsconfig.json", "{}");
  write("src/main.ts", "main");
  write("src/runs/run.ts", "run");
  before = now();
});

test("what did not change needs no build, nor what only tests say", () => {
  write("src/runs/run.test.ts", "test");
  write("src/runs/engine.testsuite.ts", "suite");
  expect(now()).toBe(before);
});

test.each([
  ["another content", () => write("src/runs/run.ts", "runs")],
  ["another time, an older one too", () => write("src/runs/run.ts", "run", 900_000)],
  ["another file", () => write("src/runs/start.ts", "start")],
  ["a file less", () => rmSync(join(root, "src/runs/run.ts"))],
  ["another setting", () => write("tsconfig.json", "{ }")],
])("%s needs a build", (_name, change) => {
  change();
  expect(now()).not.toBe(before);
});
