// The checks that need no database: format, lint, types, and unit tests, all at once.
import { join } from "node:path";
import { ROOT, environment, run } from "./launch.js";

/** @typedef {{name: string, tool: string, args: string[], env?: NodeJS.ProcessEnv}} Check */

/**
 * The linter's types are Go: in a program of half a minute their garbage collection takes a fifth of the processor time and saves an eighth of the
 * memory (23 and 29 s, 2.5 and 2.1 GB). Above 3 GB it collects all the same.
 */
const SELDOM_COLLECTED = { GOGC: "off", GOMEMLIMIT: "3GiB" };

/** @type {Check[]} */
const STATIC = [
  { name: "format", tool: "oxfmt", args: ["--check"] },
  // Without `--type-check`: a rule and the type check of the same file see each other's half-made types, so that one run in four
  // found errors that are none (oxc-project/tsgolint#1141).
  { name: "lint", tool: "oxlint", args: ["--type-aware"], env: SELDOM_COLLECTED },
  { name: "types", tool: "tsc", args: ["-p", "."] },
  // Once more without the browser's types.
  { name: "server", tool: "tsc", args: ["-p", "server"] },
];
/** @type {Check} */
const UNITS = { name: "units", tool: "vitest", args: ["run", "--project", "unit*"] };

const bin = (/** @type {string} */ tool) => join(ROOT, "node_modules", ".bin", tool);

/**
 * One check; its output is kept and shown in one piece, only when it failed. Answers whether it passed.
 * @param {string} node @param {Check} check
 */
async function passes(node, { name, tool, args, env }) {
  const started = performance.now();
  let output = "";
  const code = await run(node, [bin(tool), ...args], {
    cwd: ROOT,
    env: { ...environment(node), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    onStart: (child) => {
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
    },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(
    `${code === 0 ? "" : `${output}\n`}${name.padEnd(7)} ${code === 0 ? "passed" : "FAILED"} ${seconds} s\n`,
  );
  return code === 0;
}

/** Format, lint and types. @param {string} node */
export const checkStatic = async (node) =>
  (await Promise.all(STATIC.map((check) => passes(node, check)))).every(Boolean);

/** The same and the unit tests. @param {string} node */
export const checkAll = async (node) =>
  (await Promise.all([...STATIC, UNITS].map((check) => passes(node, check)))).every(Boolean);
