import { defineConfig } from "vitest/config";

// graphql 17 has a `development` export that Vite takes and Node does not: two realms in one process.
const ssr = { resolve: { conditions: ["node", "module-sync"] } };

/** Rules of the house and of the workspace: no server, so they run with the unit tests. */
const HOUSE = ["test/tidy/*.test.ts", "test/install-size.test.ts"];

/** What differs most where the PostgreSQL is the operator's: other sessions, no kill of ours, TCP between us. Three minutes. */
const TELLING = ["test/faults/cancel.test.ts", "test/faults/invariants.test.ts", "test/graphql-errors.test.ts"];

/** The product's tests with a `DATABASE_URL`: `npm test` runs the most telling, `npm run test:url` all (tools/commands.js). */
const onUrl = (files: string[]) => ({
  ssr,
  test: {
    name: "url",
    sequence: { groupOrder: 2 },
    include: files,
    exclude: [...HOUSE, "test/hostile/**"],
    globalSetup: ["test/operators-postgres.ts"],
    env: { TEST_DATABASE: "url" },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
const URL_FILES: Record<string, string[]> = { telling: TELLING, all: ["test/**/*.test.ts"] };
const urlFiles = URL_FILES[process.env["TEST_URL"] ?? ""];

export default defineConfig({
  test: {
    projects: [
      ...(urlFiles ? [onUrl(urlFiles)] : []),
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
          exclude: HOUSE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Each file starts servers and databases of its own; more at once than this measures the machine.
          maxWorkers: 2,
        },
      },
    ],
  },
});
