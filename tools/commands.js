// The commands of package.json and of `npx autograph`, with what each needs before it can run.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt } from "./build.js";
import { checkAll, checkStatic } from "./check.js";
import { ensureInstalled } from "./install.js";
import { ROOT, Stop, become, environment, failureCode, findNode, run, say } from "./launch.js";

/**
 * Measured after 20,000 runs, server and PostgreSQL together: 320 MB without, 211 MB with these. Half of both saves another
 * 15 MB and costs 15 % more CPU a run (bench/README.md).
 */
const SERVER_FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=60"];
/** Threads for files, hashes and look-ups of names, which have half of them (server/src/outbound/connect.ts). */
const POOL_THREADS = "16";
/** The second flag is V8's own and may go with a V8; these majors were tried, others are asked (40 ms). */
const TRIED_MAJORS = new Set([24, 25, 26]);

/** @param {string} node */
function serverFlags(node) {
  const known = node !== process.execPath || TRIED_MAJORS.has(Number.parseInt(process.versions.node, 10));
  if (known) return SERVER_FLAGS;
  return SERVER_FLAGS.filter((flag) => spawnSync(node, [flag, "--version"], { stdio: "ignore" }).status === 0);
}

const at = (/** @type {string} */ path) => join(ROOT, path);
const failed = () => process.exit(failureCode());

/** @typedef {(node: string, args: string[]) => Promise<unknown>} Command */

/**
 * The server and the supervisor before it, in this process's place. What is more than `--json` is the command line's: help, or a mistake.
 * @param {string} node @param {string[]} args
 */
async function start(node, args) {
  if (args.some((arg) => arg !== "--json")) await commandLine(node, ["start", ...args]);
  await ensureBuilt(["server", "web"], node);
  process.env.UV_THREADPOOL_SIZE ??= POOL_THREADS;
  await become(node, [...serverFlags(node), at("server/dist/main.js"), ...args], { guarded: true });
}

/** @param {string} node @param {string[]} args */
async function cli(node, args) {
  const [name, ...rest] = args;
  if (name === "start") await start(node, rest);
  await commandLine(node, args);
}

/** @param {string} node @param {string[]} args */
async function commandLine(node, args) {
  await ensureBuilt(["server"], node);
  await become(node, [at("server/dist/cli/main.js"), ...args]);
}

/** @type {Record<string, Command>} */
const COMMANDS = {
  start,
  cli,
  async demo(node, args) {
    await ensureBuilt(["server", "web"], node);
    await cli(node, ["demo", ...args]);
  },
  async build(node) {
    await ensureBuilt(["server", "web"], node);
  },
  async check(node) {
    if (!(await checkAll(node))) failed();
  },
  /** Arguments go to vitest, and then only it runs: `npm test -- --project unit server/src/lib`. */
  async test(node, args) {
    const needsServer = !/--project[ =]unit\b/.test(args.join(" "));
    if (needsServer) await ensureBuilt(["server", "web"], node);
    if (args.length === 0) {
      if (!(await checkStatic(node))) failed();
      process.env.TEST_URL = "telling";
    }
    await become(node, [at("node_modules/vitest/vitest.mjs"), "run", ...args]);
  },
  /** The product's tests once more, on a PostgreSQL that is not ours. Arguments go to vitest. */
  async "test:url"(node, args) {
    await ensureBuilt(["server", "web"], node);
    process.env.TEST_URL = "all";
    await become(node, [at("node_modules/vitest/vitest.mjs"), "run", "--project", "url", ...args]);
  },
  /**
   * Runs the whole of what `npm test` runs a part of, and what needs the machine to itself. `--write` keeps the times in bench/
   * (bench/test-long.ts); other arguments go to vitest.
   */
  async "test:long"(node, args) {
    await ensureBuilt(["server", "web"], node);
    const rest = args.filter((arg) => arg !== "--write");
    process.env.TEST_LONG = rest.length < args.length ? "write" : "yes";
    await become(node, [
      at("node_modules/vitest/vitest.mjs"),
      "run",
      "--project",
      "long",
      "--project",
      "whole",
      ...rest,
    ]);
  },
  async bench(node, args) {
    await ensureBuilt(["server", "web"], node);
    await become(node, [at("bench/bench.ts"), ...args]);
  },
  async soak(node, args) {
    await ensureBuilt(["server", "web"], node);
    const kind = ["hostile", "clocks"].find((name) => args.includes(`--${name}`));
    await become(node, [at(kind ? `bench/soak-${kind}.ts` : "bench/soak.ts"), ...args]);
  },
  /** Files to change, else those of tools/mutants/stryker.json: one after the other, so that each asks only its own tests. */
  async mutants(node, args) {
    const config = at("tools/mutants/stryker.json");
    const options = { env: environment(node) };
    if ((await run(node, [at("tools/mutants/record-answers.ts")], options)) !== 0)
      throw new Stop("jq's answers could not be recorded");
    for (const file of args.length > 0 ? args : JSON.parse(readFileSync(config, "utf8")).mutate) {
      const stryker = at("node_modules/@stryker-mutator/core/bin/stryker.js");
      const code = await run(node, [stryker, "run", config, "--mutate", file], options);
      if (code !== 0) process.exit(code);
    }
  },
  async exec(node, [file, ...args]) {
    if (file === undefined) throw new Stop("exec needs a program");
    if (file === "node") return become(node, args);
    process.exit(await run(file, args, { env: environment(node) }));
  },
};

/** @param {string[]} args the command's name and its own arguments */
export async function main([name = "", ...args]) {
  const command = COMMANDS[name];
  // Nobody reads any more (`npm start | tee log` and Ctrl-C): what this process stands before must end in its own way.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    if (command === undefined) throw new Stop(`no command "${name}"; there are ${Object.keys(COMMANDS).join(", ")}`);
    await ensureInstalled();
    await command(findNode(), args);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    say(error.message);
    failed();
  }
}
