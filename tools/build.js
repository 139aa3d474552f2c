// Builds what is not built yet or was built from other sources.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, Stop, run } from "./launch.js";
import { withLock } from "./lock.js";

/** @typedef {{sources: string[], out: string, result: string, tool: string, command: (out: string) => string[]}} Part */

const VITE = "node_modules/vite/bin/vite.js";

/** @type {Record<"server" | "web", Part>} */
const PARTS = {
  server: {
    sources: ["server/src", "tools/bundle.js", "server/package.json", "package-lock.json"],
    out: "server/dist",
    result: "main.js",
    tool: "rolldown",
    command: (out) => ["tools/bundle.js", out],
  },
  web: {
    sources: [
      "web/src",
      "web/public",
      "web/index.html",
      "web/vite.config.ts",
      "web/language.ts",
      // The editor offers what the language has.
      "server/src/definition",
      "server/package.json",
      "package-lock.json",
    ],
    out: "web/dist",
    result: "index.html",
    tool: "vite",
    command: (out) => [VITE, "build", "web", "--logLevel", "warn", "--emptyOutDir", "--outDir", out],
  },
};
const STAMP = ".built-from";

/**
 * The inputs of a build, as text: path, size and time of every source. Compared for equality, so that an older file
 * put back counts as a change too. 300 files cost 5 ms.
 * @param {string[]} sources @param {string} [root]
 */
export function fingerprint(sources, root = ROOT) {
  /** @type {string[]} */
  const lines = [];
  const visit = (/** @type {string} */ path) => {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (!stat.isDirectory()) lines.push(`${path} ${stat.size} ${stat.mtimeMs}`);
    else for (const name of readdirSync(join(root, path))) if (!isTest(name)) visit(`${path}/${name}`);
  };
  sources.forEach(visit);
  return lines.toSorted().join("\n");
}

const isTest = (/** @type {string} */ name) => /\.(test|testsuite|fixture)\.ts$/.test(name);

/** @typedef {keyof typeof PARTS} Name */

/**
 * @param {Name[]} names
 * @param {boolean} [hasTools] without the build's tools (`npm ci --omit=dev`) what is there is what runs
 */
export const isBuilt = (names, hasTools = existsSync(join(ROOT, "node_modules", "rolldown"))) =>
  names.every((name) => isPartBuilt(PARTS[name], hasTools));

/** @param {Part} part @param {boolean} hasTools */
function isPartBuilt({ sources, out, result }, hasTools) {
  const folder = join(ROOT, out);
  if (!existsSync(join(folder, result))) return false;
  if (!hasTools) return true;
  return existsSync(join(folder, STAMP)) && readFileSync(join(folder, STAMP), "utf8") === fingerprint(sources);
}

/** @param {Name[]} names @param {string} node @param {(what: string) => void} tell */
export async function ensureBuilt(names, node, tell) {
  const missing = () => names.filter((name) => !isBuilt([name]));
  if (missing().length === 0) return;
  await withLock(async (holds) => {
    const todo = missing();
    if (todo.length > 0) tell(`building ${todo.join(" and ")}`);
    // All to their end before the lock goes back, also when one fails.
    const built = await Promise.allSettled(todo.map((name) => build(name, node, holds)));
    for (const one of built) if (one.status === "rejected") throw one.reason;
  });
}

/**
 * Builds beside and renames, so that a failed or killed build leaves the last one whole.
 * @param {Name} name @param {string} node @param {import("./lock.js").Holds} onStart
 */
async function build(name, node, onStart) {
  const { sources, out, tool, command } = PARTS[name];
  if (!existsSync(join(ROOT, "node_modules", tool)))
    throw new Stop(`${name} is not built and ${tool} is not installed: run \`npm ci\` without --omit`);
  const stamp = fingerprint(sources);
  const fresh = join(ROOT, dirname(out), ".dist-new");
  const old = join(ROOT, dirname(out), ".dist-old");
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
  const code = await run(node, command(fresh), { cwd: ROOT, stdio: ["ignore", 2, 2], onStart });
  if (code !== 0) throw new Stop(`building ${name} failed (exit code ${code}); what ${tool} says stands above`);
  mkdirSync(fresh, { recursive: true });
  writeFileSync(join(fresh, STAMP), stamp);
  if (existsSync(join(ROOT, out))) renameSync(join(ROOT, out), old);
  renameSync(fresh, join(ROOT, out));
  rmSync(old, { recursive: true, force: true });
}
