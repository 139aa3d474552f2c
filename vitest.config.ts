import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import { COMPILED } from "./test/compile-cache.ts";
import { ALONE, MEASURES } from "./test/measures.ts";

// graphql 17 has a `development` export that Vite takes and Node does not: two realms in one process.
const ssr = { resolve: { conditions: ["node", "module-sync"] } };

/** Rules of the house and of the workspace: no server, so they run with the unit tests. */
const HOUSE = ["test/tidy/*.test.ts", "test/install-size.test.ts"];

/** Tests of the sources that need neither database nor server. */
const UNITS = {
  include: ["server/src/**/*.test.ts", "web/src/**/*.test.ts", "tools/**/*.test.ts", ...HOUSE],
  exclude: ["**/*.db.test.ts", "**/{dist,node_modules}/**"],
};
/**
 * One file's garbage would count as the next one's, so a file that measures its heap gets a process of its own. Those that measure
 * processor time share theirs with each other, where V8 has compiled little else; all others share the rest. Another process costs
 * 0.2 s of processor time.
 */
const unitsThat = (pattern: RegExp): string[] =>
  globSync(UNITS.include, { exclude: UNITS.exclude }).filter((file) => pattern.test(readFileSync(file, "utf8")));
const NEED_A_PROCESS = unitsThat(ALONE);
const MEASURED = unitsThat(MEASURES).filter((file) => !NEED_A_PROCESS.includes(file));

/** What the tests start, each in one file (see there); and what Node compiled of it is kept. */
const BUNDLE = "test/bundle.ts";
/** Where a worker's shared server and PostgreSQL are (see there). Workers keep what they loaded, so that both serve all their files. */
const SHARING = { isolate: false, globalSetup: [BUNDLE, "test/run-folder.ts"] };
const STARTING = { NODE_COMPILE_CACHE: COMPILED };

/** What differs most where the PostgreSQL is the operator's: other sessions, no kill of ours, TCP between us. */
const TELLING = ["test/faults/cancel.test.ts", "test/graphql-errors.test.ts"];
/** Random work with kills, which `npm test` does on our own PostgreSQL alone. */
const RANDOM = ["test/faults/invariants.test.ts"];

/** A deadline for what hangs, also on a machine ten times as slow: what promises a time measures it itself. */
const PATIENCE = { testTimeout: 300_000, hookTimeout: 300_000, expect: { poll: { timeout: 240_000 } } };

/**
 * Projects of one group run together and must have the same number of workers. A file of the product keeps half a core busy, since it
 * waits for commits, pauses and processes that start: four kept 1.75 of two cores busy, so there is a fifth.
 */
const TOGETHER = { groupOrder: 1, maxWorkers: 5 };
/** All of the product's once more, after everything else. */
const ONCE_MORE = { groupOrder: 2, maxWorkers: 4 };
/** `npm run test:long`: a file that stops and starts servers over and over keeps half a core busy, too. */
const WHOLE = { groupOrder: 5, maxWorkers: 3 };

/**
 * The product's tests with a `DATABASE_URL`: `npm test` runs the most telling, `npm run test:long` the random ones, and
 * `npm run test:url` all (tools/commands.js).
 */
const onUrl = (files: string[], { groupOrder, maxWorkers }: typeof TOGETHER) => ({
  ssr,
  test: {
    name: "url",
    sequence: { groupOrder },
    include: files,
    exclude: ["**/node_modules/**", ...HOUSE, ...LONG_FILES, "test/hostile/**"],
    ...SHARING,
    globalSetup: [...SHARING.globalSetup, "test/operators-postgres.ts"],
    env: { ...STARTING, TEST_DATABASE: "url" },
    ...PATIENCE,
    maxWorkers,
  },
});
/** They take minutes and run alone, since they measure times. `npm run test:long` runs them. */
const LONG_FILES = ["test/long/*.test.ts"];

/** Two workers, as there is no waiting: vitest would take one on two cores. Seconds alone, and what promises a time asks for processor time itself. */
const unitProject = (files: { name: string; include?: string[]; exclude?: string[]; isolate: boolean }) => ({
  ssr,
  test: { ...UNITS, ...files, sequence: { groupOrder: 0 }, maxWorkers: 2, ...PATIENCE },
});

/** `npm run test:long`: these alone, and then the whole of each file of which `npm test` runs a part (test/scale.ts). */
const longProjects = () => {
  const hasParts = (file: string): boolean => /scaled(<.*>)?\(\{|leftToLong/.test(readFileSync(file, "utf8"));
  const files = globSync(["test/**/*.test.ts", "server/src/**/*.test.ts"], { exclude: ["test/tidy/**"] });
  const whole = files.filter(hasParts);
  const project = (name: string, include: string[], groupOrder: number, maxWorkers: number, env = {}) => ({
    ssr,
    test: {
      name,
      include,
      sequence: { groupOrder },
      ...SHARING,
      env: { ...STARTING, ...env },
      ...PATIENCE,
      // A random trial is one test: four minutes on a quiet machine, and two others run beside it.
      testTimeout: 4 * PATIENCE.testTimeout,
      maxWorkers,
    },
  });
  return [
    project("long", LONG_FILES, 4, 1),
    project("whole", whole, WHOLE.groupOrder, WHOLE.maxWorkers, { TEST_SCALE: "whole" }),
  ];
};

/** By `TEST_URL`, as tools/commands.js sets it: the files, and with which others they run. */
const ON_URL: Record<string, [files: string[], group: typeof TOGETHER]> = {
  telling: [TELLING, TOGETHER],
  random: [RANDOM, WHOLE],
  all: [["test/**/*.test.ts"], ONCE_MORE],
};
const onUrlAsked = ON_URL[process.env["TEST_URL"] ?? ""];

/**
 * What takes longest where vitest knows nothing of former runs, the longest first: begun last, one of them would run alone at the end.
 * Some of them mostly wait and some keep a core busy, so that they share the cores well.
 */
const LONGEST = `faults/stop hostile/requests hostile/runs faults/five-clocks faults/kill-server faults/kill-database
  postgres/embedded.db demo main faults/bad-database llm language-calls readme overload engine/embedded.db ui/agent firings faults/waits
  ui/lists reach postgres/embedded-folder.db docs slow-clients hostile-queries runs-overload ui/settings two-executors ui/second-thoughts
  triggers/triggers.db lasting faults/takeover faults/full-disk naughty faults/two-servers events hostile-names neighbours sessions/sign-in.db
  access postgres/password.db ui/screens ui/live ui/rough ui/entrance faults/lost-notices start postgres/audit-owner.db runs/rest.db inbound
  sign-in-flood subscriptions operations-runs storage/open-storage.db many-subscriptions`.split(/\s+/);

class LongFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]): ReturnType<BaseSequencer["sort"]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's own, which answers another list
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: (typeof sorted)[number]): number => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return index === -1 ? LONGEST.length : index;
    };
    // A worker goes on with files of its own project alone: the few on a `DATABASE_URL` come first, and leave no worker idle at the end.
    const isUrl = ({ project }: (typeof sorted)[number]): number => Number(project.name === "url");
    return sorted.toSorted((a, b) => isUrl(b) - isUrl(a) || rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    // What the workers shared ends first, also on a slow machine.
    teardownTimeout: 120_000,
    ...(process.env["TEST_LONG"] === "write" && { reporters: ["default", "./bench/test-long.ts"] }),
    projects: [
      ...(onUrlAsked ? [onUrl(...onUrlAsked)] : []),
      ...(process.env["TEST_LONG"] ? longProjects() : []),
      unitProject({ name: "unit", exclude: [...UNITS.exclude, ...MEASURED, ...NEED_A_PROCESS], isolate: false }),
      unitProject({ name: "unit-measured", include: MEASURED, isolate: false }),
      unitProject({ name: "unit-alone", include: NEED_A_PROCESS, isolate: true }),
      {
        ssr,
        test: {
          name: "product",
          sequence: { groupOrder: TOGETHER.groupOrder },
          include: ["server/src/**/*.db.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...HOUSE, ...LONG_FILES],
          ...SHARING,
          env: STARTING,
          ...PATIENCE,
          maxWorkers: TOGETHER.maxWorkers,
        },
      },
    ],
  },
});
