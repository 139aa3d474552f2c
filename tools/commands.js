// The commands of package.json and of `npx autograph`, with what each needs before it can run.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, isBuilt } from "./build.js";
import { checkAll, checkStatic } from "./check.js";
import { ensureInstalled, isReady } from "./install.js";
import { ROOT, Stop, become, environment, failureCode, findNode, run, say } from "./launch.js";
import { refuseTakenPort } from "./port.js";

/**
 * Measured after 20,000 runs, server and PostgreSQL together: 320 MB without, 211 MB with these. Half of both saves another
 * 15 MB and costs 15 % more CPU a run (bench/README.md).
 */
const SERVER_FLAGS = ["--max-semi-space-size=16", "--heap-growing-percent=60"];
/**
 * Where Node keeps what it compiled; it does without where it may not write. A start takes an eighth less processor time with it
 * (docs/decisions/0034-built-as-few-files.md).
 */
const COMPILED = "node_modules/.cache/autograph-compiled";
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

/**
 * A command with `needs: "run"` installs no packages of tests. `builds` are built before it; `begins` is said after an install or a
 * build, which take a moment.
 * @typedef {(node: string, args: string[]) => Promise<unknown>} Run
 * @typedef {{run: Run, needs?: "run", builds?: (args: string[]) => Name[], begins?: (args: string[]) => string | undefined}} Command
 * @typedef {import("./build.js").Name} Name
 */

/** @returns {Name[]} */
const both = () => ["server", "web"];
/** @returns {Name[]} */
const server = () => ["server"];

/** Any argument beside `--json` is the command line's: help, or a mistake. @param {string[]} args */
const serves = (args) => args.every((arg) => arg === "--json");

/**
 * The server and the supervisor before it, in this process's place.
 * @type {Command}
 */
const start = {
  needs: "run",
  builds: (args) => (serves(args) ? both() : server()),
  begins: (args) => (serves(args) ? "starting" : undefined),
  async run(node, args) {
    if (!serves(args)) await commandLine(node, ["start", ...args]);
    process.env.UV_THREADPOOL_SIZE ??= POOL_THREADS;
    process.env.NODE_COMPILE_CACHE ??= at(COMPILED);
    await become(node, [...serverFlags(node), at("server/dist/main.js"), ...args], { guarded: true });
  },
};

/** @param {string} node @param {string[]} args */
const commandLine = (node, args) => become(node, [at("server/dist/cli/main.js"), ...args]);

/** @param {string} node @param {string[]} args */
const vitest = (node, args) => become(node, [at("node_modules/vitest/vitest.mjs"), "run", ...args]);

/** @type {Record<string, Command>} */
const COMMANDS = {
  start,
  cli: { needs: "run", builds: server, run: commandLine },
  demo: { needs: "run", builds: both, run: (node, args) => commandLine(node, ["demo", ...args]) },
  build: { needs: "run", builds: both, run: async () => {} },
  check: {
    async run(node) {
      if (!(await checkAll(node))) failed();
    },
  },
  /** Arguments go to vitest, and then only it runs: `npm test -- --project "unit*" server/src/lib`. */
  test: {
    builds: (args) => (/--project[ =]unit\b/.test(args.join(" ")) ? [] : both()),
    async run(node, args) {
      if (args.length === 0) {
        if (!(await checkStatic(node))) failed();
        process.env.TEST_URL = "telling";
      }
      await vitest(node, args);
    },
  },
  /** The product's tests once more, on a PostgreSQL that is not ours. Arguments go to vitest. */
  "test:url": {
    builds: both,
    async run(node, args) {
      process.env.TEST_URL = "all";
      await vitest(node, ["--project", "url", ...args]);
    },
  },
  /**
   * Runs the whole of what `npm test` runs a part of, random work on an operator's PostgreSQL, and what needs the machine to itself. `--write` keeps the times of all of it in
   * bench/ (bench/test-long.ts); other arguments go to vitest.
   */
  "test:long": {
    builds: both,
    async run(node, args) {
      const rest = args.filter((arg) => arg !== "--write");
      const isWritten = rest.length < args.length;
      if (isWritten && rest.length > 0)
        throw new Stop("--write keeps the times of all long tests: leave out the other arguments");
      process.env.TEST_LONG = isWritten ? "write" : "yes";
      process.env.TEST_URL = "random";
      await vitest(node, ["--project", "url", "--project", "long", "--project", "whole", ...rest]);
    },
  },
  bench: { builds: both, run: (node, args) => become(node, [at("bench/bench.ts"), ...args]) },
  soak: {
    builds: both,
    async run(node, args) {
      const kind = ["hostile", "clocks"].find((name) => args.includes(`--${name}`));
      await become(node, [at(kind ? `bench/soak-${kind}.ts` : "bench/soak.ts"), ...args]);
    },
  },
  /** Files to change, else those of tools/mutants/stryker.json: one after the other, so that each asks only its own tests. */
  mutants: {
    async run(node, args) {
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
  },
  exec: {
    async run(node, [file, ...args]) {
      if (file === undefined) throw new Stop("exec needs a program");
      if (file === "node") return become(node, args);
      process.exit(await run(file, args, { env: environment(node) }));
    },
  },
};

/**
 * Installs and builds what the command lacks, and says so, with how far it is.
 * @param {Command} command @param {string[]} args @returns the Node to run it
 */
async function prepare({ needs, builds, begins }, args) {
  /** @type {import("./packages.js").Group[]} */
  const groups = needs === "run" ? [] : ["tests"];
  const names = builds?.(args) ?? [];
  const beginning = begins?.(args);
  const installs = !isReady(groups);
  const steps = [...(installs ? ["install"] : []), ...(isBuilt(names, installs || undefined) ? [] : ["build"])];
  if (steps.length === 0) return findNode();
  if (beginning !== undefined) {
    steps.push("begin");
    await refuseTakenPort();
  }
  const teller = (/** @type {string} */ step) => (/** @type {string} */ what) =>
    say(`${what} (${steps.indexOf(step) + 1} of ${steps.length}) …`);
  await ensureInstalled(groups, teller("install"));
  const node = findNode();
  await ensureBuilt(names, node, teller("build"));
  if (beginning !== undefined) teller("begin")(beginning);
  return node;
}

/** @param {string[]} all the command's name and its own arguments */
export async function main([name = "", ...args]) {
  // `npx autograph start` is what `npm start` is.
  if (name === "cli" && args[0] === "start") return main(args);
  const command = COMMANDS[name];
  // Nobody reads any more (`npm start | tee log` and Ctrl-C): what this process stands before must end in its own way.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    if (command === undefined) throw new Stop(`no command "${name}"; there are ${Object.keys(COMMANDS).join(", ")}`);
    await command.run(await prepare(command, args), args);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    say(error.message);
    failed();
  }
}
