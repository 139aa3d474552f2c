import { describe, expect, test } from "vitest";
import { groupsIn, isInstalled, missing, neededBy, workspacesOf } from "./packages.js";

type Lock = Parameters<typeof neededBy>[0];
const elsewhere = { os: "plan9", optional: true };

/** Like ours: the server runs, the web is built, tests and a Node come later. */
const lock: Lock = {
  packages: {
    "": {
      version: "0.1.0",
      workspaces: ["server", "web", "tools/tests", "test/clients", "tools/node"],
      devDependencies: { tsc: "1.0.0" },
    },
    server: {
      version: "0.1.0",
      dependencies: { graphql: "17.1.0", hono: "4.0.0" },
      optionalDependencies: { pg9: "1.0.0", pgx: "1.0.0" },
    },
    web: { version: "0.1.0", devDependencies: { react: "19.0.0" } },
    "tools/tests": { version: "0.1.0", devDependencies: { vitest: "5.1.1" } },
    "test/clients": { version: "0.1.0", devDependencies: { graphql: "16.0.0", hono: "4.0.0" } },
    "tools/node": { version: "0.1.0", optionalDependencies: { node26: "26.0.0", node9: "26.0.0" } },
    "node_modules/autograph": { resolved: "server", link: true },
    "node_modules/tests": { resolved: "tools/tests", link: true },
    "node_modules/node": { resolved: "tools/node", link: true },
    "node_modules/graphql": { version: "17.1.0", integrity: "sha512-a" },
    "node_modules/hono": { version: "4.0.0", integrity: "sha512-b" },
    "node_modules/pg9": { version: "1.0.0", integrity: "sha512-c", ...elsewhere },
    "node_modules/pgx": { version: "1.0.0", integrity: "sha512-d", optional: true },
    "node_modules/tsc": {
      version: "1.0.0",
      integrity: "sha512-e",
      dev: true,
      optionalDependencies: { tscmusl: "1.0.0" },
    },
    "node_modules/tscmusl": { version: "1.0.0", integrity: "sha512-m", dev: true, optional: true },
    "node_modules/react": {
      version: "19.0.0",
      integrity: "sha512-f",
      dev: true,
      peerDependencies: { scheduler: "1.0.0", absent: "1.0.0" },
    },
    "node_modules/scheduler": { version: "1.0.0", integrity: "sha512-g", dev: true },
    "node_modules/vitest": { version: "5.1.1", integrity: "sha512-h", dev: true, dependencies: { expect: "5.1.1" } },
    "node_modules/vitest/node_modules/expect": { version: "5.1.1", integrity: "sha512-i", dev: true },
    "test/clients/node_modules/graphql": { version: "16.0.0", integrity: "sha512-j", dev: true },
    "node_modules/node26": { version: "26.0.0", integrity: "sha512-k", optional: true },
    "node_modules/node9": { version: "26.0.0", integrity: "sha512-l", ...elsewhere },
  },
};
const names = (paths: string[]): string[] => paths.map((path) => path.replace(/^node_modules\//, "")).toSorted();
const RUN = ["autograph", "graphql", "hono", "pg9", "pgx", "react", "scheduler", "tsc", "tscmusl"];
const TESTS = ["test/clients/node_modules/graphql", "tests", "vitest", "vitest/node_modules/expect"];

test("a command needs what the root and its workspaces depend on, found as Node finds it, and nothing else", () => {
  const needed = (groups: Parameters<typeof workspacesOf>[1]): string[] =>
    names(neededBy(lock, workspacesOf(lock, groups)));
  expect(needed([])).toEqual(RUN.toSorted());
  expect(needed(["tests"])).toEqual([...RUN, ...TESTS].toSorted());
  expect(needed(["node"])).toEqual([...RUN, "node", "node26", "node9"].toSorted());
});

describe("what npm recorded", () => {
  const all = Object.fromEntries(Object.entries(lock.packages).filter(([path]) => path !== ""));
  const without = (...gone: string[]): Lock => ({
    packages: Object.fromEntries(
      Object.entries(all).filter(([path]) => !gone.includes(path.replace(/^node_modules\//, ""))),
    ),
  });
  const changed = (name: string, entry: Lock["packages"][string]): Lock => ({
    packages: { ...all, [`node_modules/${name}`]: entry },
  });

  test("all of the lock is installed, for every command", () => {
    for (const groups of [[], ["tests"], ["tests", "node"]] as const)
      expect(isInstalled(lock, without(), [...groups])).toBe(true);
  });

  test("packages for other platforms may be missing, and optional ones, but for a Node that is needed", () => {
    expect(isInstalled(lock, without("pg9", "pgx", "tscmusl", "node9"), ["tests", "node"])).toBe(true);
    expect(isInstalled(lock, without("node26"), ["tests"])).toBe(true);
    expect(missing(lock, without("node26"), ["tests", "node"])).toEqual(["node_modules/node26"]);
  });

  test("the tests' packages may be missing until tests are asked for", () => {
    expect(isInstalled(lock, without(...TESTS), [])).toBe(true);
    expect(names(missing(lock, without(...TESTS), ["tests"]))).toEqual(TESTS.toSorted());
    expect(names(missing(lock, without("vitest/node_modules/expect"), ["tests"]))).toEqual([
      "vitest/node_modules/expect",
    ]);
  });

  test("all development packages may be missing together, one of them not, and none for tests", () => {
    const production = without("tsc", "tscmusl", "react", "scheduler", ...TESTS);
    expect(isInstalled(lock, production, [])).toBe(true);
    expect(isInstalled(lock, production, ["tests"])).toBe(false);
    expect(isInstalled(lock, without("react"), [])).toBe(false);
  });

  test("no record, a missing package, another version, another content, one too many: not installed", () => {
    expect(isInstalled(lock, undefined, [])).toBe(false);
    expect(isInstalled(lock, without("graphql"), [])).toBe(false);
    expect(isInstalled(lock, changed("graphql", { version: "17.0.0", integrity: "sha512-a" }), [])).toBe(false);
    expect(isInstalled(lock, changed("graphql", { version: "17.1.0", integrity: "sha512-z" }), [])).toBe(false);
    expect(isInstalled(lock, changed("left", { version: "1.0.0", integrity: "sha512-y" }), [])).toBe(false);
  });

  test("knows which groups there are something of, which an install keeps", () => {
    expect(groupsIn(without())).toEqual(["tests", "node"]);
    expect(groupsIn(without("tests"))).toEqual(["node"]);
    expect(groupsIn(undefined)).toEqual([]);
  });
});
