import { defineConfig } from "vitest/config";

// graphql 17 has a `development` export that Vite takes and Node does not: two realms in one process.
const ssr = { resolve: { conditions: ["node", "module-sync"] } };

/** Rules of the house and of the workspace: no server, so they run with the unit tests. */
const HOUSE = ["test/tidy/*.test.ts", "test/install-size.test.ts"];

/** Files that mostly wait: for a takeover, a pause after a crash, a server that starts again. So more of them run at once. */
const PATIENT = [
  "test/faults/{bad-database,crashing-run,kill-database,kill-executor,lost-notices,revocation,takeover,two-servers,watchdog}.test.ts",
  "test/slow-clients.test.ts",
  "test/two-executors.test.ts",
];

/** What differs most where the PostgreSQL is the operator's: other sessions, no kill of ours, TCP between us. Three minutes. */
const TELLING = ["test/faults/cancel.test.ts", "test/faults/invariants.test.ts", "test/graphql-errors.test.ts"];

/** Projects of one group run together and must have the same number of workers. */
const WAITING = { groupOrder: 3, maxWorkers: 4 };

/** The product's tests with a `DATABASE_URL`: `npm test` runs the most telling, `npm run test:url` all (tools/commands.js). */
const onUrl = (files: string[], { groupOrder, maxWorkers }: typeof WAITING) => ({
  ssr,
  test: {
    name: "url",
    sequence: { groupOrder },
    include: files,
    exclude: ["**/node_modules/**", ...HOUSE, "test/hostile/**"],
    globalSetup: ["test/operators-postgres.ts"],
    env: { TEST_DATABASE: "url" },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers,
  },
});
const URL_FILES: Record<string, string[]> = { telling: TELLING, all: ["test/**/*.test.ts"] };
const asked = process.env["TEST_URL"] ?? "";
const urlFiles = URL_FILES[asked];
// The three telling files go beside those that wait; all of them are as many as the product's own.
const urlGroup = asked === "telling" ? WAITING : { groupOrder: 2, maxWorkers: 2 };

export default defineConfig({
  test: {
    projects: [
      ...(urlFiles ? [onUrl(urlFiles, urlGroup)] : []),
      {
        ssr,
        test: {
          name: "unit",
          sequence: { groupOrder: 0 },
          include: ["server/src/**/*.test.ts", "web/src/**/*.test.ts", "tools/**/*.test.ts", ...HOUSE],
          exclude: ["**/*.db.test.ts", "**/dist/**"],
          // Seconds alone; what promises a time asks for processor time itself.
          testTimeout: 60_000,
        },
      },
      {
        ssr,
        test: {
          name: "product",
          sequence: { groupOrder: 1 },
          include: ["server/src/**/*.db.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...HOUSE, ...PATIENT],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Each file starts servers and databases of its own; more at once than this measures the machine.
          maxWorkers: 2,
        },
      },
      {
        ssr,
        test: {
          name: "patient",
          sequence: { groupOrder: WAITING.groupOrder },
          include: PATIENT,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: WAITING.maxWorkers,
        },
      },
    ],
  },
});
