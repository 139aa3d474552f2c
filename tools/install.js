// Installs the packages of package-lock.json that the command needs and node_modules does not hold.
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT, Stop, needsPackagedNode, run } from "./launch.js";
import { withLock } from "./lock.js";
import { groupsIn, isInstalled, isOfLock, missing, workspacesOf } from "./packages.js";

/** @typedef {import("./packages.js").Lock} Lock */
/** @typedef {import("./packages.js").Group} Group */
/** @typedef {{lock: Lock, installed: Lock | undefined, groups: Group[]}} State */

/** @param {string} file @returns {Lock | undefined} */
function read(file) {
  try {
    return JSON.parse(readFileSync(join(ROOT, file), "utf8"));
  } catch {
    return undefined;
  }
}

/** Reads what is installed and what is wanted, in 3 ms. @param {Group[]} wanted @returns {State} */
function look(wanted) {
  const lock = read("package-lock.json");
  if (lock === undefined) throw new Stop("package-lock.json is missing or no JSON: restore it from git");
  return {
    lock,
    installed: read("node_modules/.package-lock.json"),
    groups: needsPackagedNode() ? [...wanted, "node"] : wanted,
  };
}

/** @param {State} state */
const fits = ({ lock, installed, groups }) => isInstalled(lock, installed, groups);

/** Is everything there? @param {Group[]} groups beside what building and running need */
export const isReady = (groups) => fits(look(groups));

/** @param {Group[]} groups @param {(what: string) => void} tell */
export async function ensureInstalled(groups, tell) {
  if (isReady(groups)) return;
  await withLock(async (holds) => {
    const state = look(groups);
    if (fits(state)) return;
    await install(state, tell, holds);
    if (isReady(groups)) return;
    throw new Stop(
      "npm installed something else than package-lock.json names: restore it and each package.json from git",
    );
  });
}

/**
 * `npm ci` empties node_modules first. Packages that are missing in one of this lock are added instead, so that a server that runs
 * from it keeps its files.
 * @param {State} state @param {(what: string) => void} tell @param {import("./lock.js").Holds} holds
 */
async function install({ lock, installed, groups }, tell, holds) {
  const adds = isOfLock(lock, installed);
  const all = [...new Set([...groups, ...groupsIn(installed)])];
  const count = missing(lock, adds ? installed : undefined, all).length;
  tell(`installing ${count} ${count === 1 ? "package" : "packages"}`);
  const npm = process.env.npm_execpath;
  const [file, ...first] = npm !== undefined && basename(npm) === "npm-cli.js" ? [process.execPath, npm] : ["npm"];
  const command = adds ? ["install", "--no-save"] : ["ci"];
  const workspaces = workspacesOf(lock, all).flatMap((path) => ["--workspace", path]);
  // No package here needs an install script; the build needs the development packages, whatever NODE_ENV says.
  const flags = [
    "--include-workspace-root",
    "--include=dev",
    "--include=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  const env = { ...process.env, npm_config_yes: "true" };
  const args = [...first, ...command, ...workspaces, ...flags];
  const code = await run(file, args, { cwd: ROOT, env, stdio: ["ignore", 2, 2], onStart: holds });
  if (code !== 0) throw new Stop(`npm ${command.join(" ")} failed (exit code ${code}); what it says stands above`);
}
