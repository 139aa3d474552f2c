// Installs what package-lock.json names when node_modules does not hold it.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT, Stop, run, say } from "./launch.js";
import { withLock } from "./lock.js";

/** @typedef {{version?: string, integrity?: string, link?: boolean, dev?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean}} Entry */
/** @typedef {{packages: Record<string, Entry>}} Lock */

/**
 * Does npm's own record of node_modules match the lock? Contents are compared, not times: `git checkout` touches the
 * lock without changing it, and an interrupted install leaves no record. Packages for other platforms may be missing,
 * and all development packages together (`npm ci --omit=dev`). Reading both costs 3 ms.
 * @param {Lock} lock @param {Lock | undefined} installed
 */
export function isInstalled(lock, installed) {
  if (installed === undefined) return false;
  const withoutDev = !Object.values(installed.packages).some((entry) => entry.dev);
  const mayMiss = (/** @type {Entry} */ entry) =>
    entry.optional === true || entry.devOptional === true || (withoutDev && entry.dev === true);
  const wanted = Object.entries(lock.packages).filter(([path]) => path.includes("node_modules/"));
  return (
    wanted.every(([path, entry]) => {
      const found = installed.packages[path];
      if (found === undefined) return mayMiss(entry);
      return found.version === entry.version && found.integrity === entry.integrity;
    }) && Object.keys(installed.packages).every((path) => path in lock.packages)
  );
}

/** @param {string} file @returns {Lock | undefined} */
function read(file) {
  try {
    return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
  } catch {
    return undefined;
  }
}

export async function ensureInstalled() {
  const lock = read("package-lock.json");
  if (lock === undefined) throw new Stop("package-lock.json is missing or no JSON: restore it from git");
  const ready = () => isInstalled(lock, read("node_modules/.package-lock.json"));
  if (ready()) return;
  await withLock(async (holds) => {
    if (!ready()) await install(holds);
  });
}

/** @param {import("./lock.js").Holds} holds */
async function install(holds) {
  say("installing the packages of package-lock.json (npm ci), half a minute");
  const npm = process.env.npm_execpath;
  const [file, ...first] = npm !== undefined && basename(npm) === "npm-cli.js" ? [process.execPath, npm] : ["npm"];
  // No package here needs an install script; the build needs the development packages, whatever NODE_ENV says.
  const flags = ["ci", "--include=dev", "--include=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
  const env = { ...process.env, npm_config_yes: "true" };
  const code = await run(file, [...first, ...flags], { cwd: ROOT, env, stdio: ["ignore", 2, 2], onStart: holds });
  if (code !== 0) throw new Stop(`npm ci failed (exit code ${code}); what it says stands above`);
}
