// Says which packages of package-lock.json a command needs, and whether npm's record of node_modules has them.
import { posix } from "node:path";

/** @typedef {{version?: string, integrity?: string, link?: boolean, resolved?: string, dev?: boolean, optional?: boolean, devOptional?: boolean, os?: string | string[], cpu?: string | string[], workspaces?: string[]} & Partial<Record<Kind, Record<string, string>>>} Entry */
/** @typedef {{packages: Record<string, Entry>}} Lock */
/** @typedef {"dependencies" | "optionalDependencies" | "peerDependencies" | "devDependencies"} Kind */

/** Workspaces that building and running do not need. All others are installed for every command. */
export const LATER = {
  /** Tools of checks, tests, benchmarks and mutants: 240 MB. */
  tests: ["tools/tests", "test/clients"],
  /** For a machine whose own Node is too old: 220 MB. */
  node: ["tools/node"],
};
/** @typedef {keyof typeof LATER} Group */

/** @param {Lock} lock @param {Group[]} groups */
export function workspacesOf(lock, groups) {
  const later = Object.values(LATER).flat();
  const wanted = groups.flatMap((group) => LATER[group]);
  const all = lock.packages[""]?.workspaces ?? [];
  return all.filter((path) => !later.includes(path) || wanted.includes(path));
}

/**
 * Paths in the lock of all packages that the root and these workspaces need.
 * @param {Lock} lock @param {string[]} workspaces @param {boolean} [withDev]
 */
export function neededBy({ packages }, workspaces, withDev = true) {
  const own = ["", ...workspaces];
  const links = Object.keys(packages).filter(
    (path) => packages[path]?.link && own.includes(packages[path].resolved ?? ""),
  );
  const needed = new Set(links);
  const visit = (/** @type {string} */ from, /** @type {Kind[]} */ kinds) => {
    for (const name of kinds.flatMap((kind) => Object.keys(packages[from]?.[kind] ?? {}))) {
      const path = found(packages, from, name);
      if (path === undefined || needed.has(path)) continue;
      needed.add(path);
      visit(path, ["dependencies", "optionalDependencies", "peerDependencies"]);
    }
  };
  for (const path of own)
    visit(path, [
      "dependencies",
      "optionalDependencies",
      ...(withDev ? [/** @type {const} */ ("devDependencies")] : []),
    ]);
  return [...needed];
}

/** Looks in each folder above, as Node does. @param {Lock["packages"]} packages @param {string} from @param {string} name */
function found(packages, from, name) {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, "node_modules", name);
    if (path in packages) return path;
    if (folder === "" || folder === ".") return undefined;
  }
}

/** Packages for other platforms are in the lock too. @param {Entry} entry */
export const isForHere = ({ os = process.platform, cpu = process.arch }) =>
  [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch);

/**
 * Whether npm's own record of node_modules lists only packages of this lock. It compares contents, not times: `git checkout` touches
 * the lock without changing it, and an interrupted install leaves no record.
 * @param {Lock} lock @param {Lock | undefined} installed @returns {installed is Lock}
 */
export function isOfLock(lock, installed) {
  if (installed === undefined) return false;
  return Object.entries(installed.packages).every(([path, entry]) => {
    const wanted = lock.packages[path];
    return wanted !== undefined && wanted.version === entry.version && wanted.integrity === entry.integrity;
  });
}

/**
 * Paths of required packages that are not installed. Packages for other platforms may be missing, and so may optional ones except a
 * Node. All development packages may be missing together (`npm ci --omit=dev`) if no tests are asked for.
 * @param {Lock} lock @param {Lock | undefined} installed @param {Group[]} groups
 */
export function missing(lock, installed, groups) {
  const here = installed?.packages ?? {};
  const withDev = groups.includes("tests") || !installed || Object.values(here).some(({ dev }) => dev);
  const nodes = (groups.includes("node") ? LATER.node : []).flatMap((path) =>
    Object.keys(lock.packages[path]?.optionalDependencies ?? {}).map((name) => found(lock.packages, path, name)),
  );
  return neededBy(lock, workspacesOf(lock, groups), withDev).filter((path) => {
    const { optional, devOptional, ...entry } = lock.packages[path] ?? {};
    const mayMiss = !isForHere(entry) || ((optional || devOptional) && !nodes.includes(path));
    return !(path in here) && !mayMiss;
  });
}

/** @param {Lock} lock @param {Lock | undefined} installed @param {Group[]} groups */
export const isInstalled = (lock, installed, groups) =>
  isOfLock(lock, installed) && missing(lock, installed, groups).length === 0;

/** Groups that are installed and so have to stay. @param {Lock | undefined} installed */
export function groupsIn(installed) {
  const links = Object.entries(installed?.packages ?? {}).flatMap(([, { link, resolved }]) => (link ? [resolved] : []));
  return /** @type {Group[]} */ (Object.keys(LATER)).filter((group) =>
    LATER[group].some((path) => links.includes(path)),
  );
}
