import { defineConfig } from "vitest/config";

// graphql 17 has a `development` export that Vite takes and Node does not: two realms in one process.
const ssr = { resolve: { conditions: ["node", "module-sync"] } };

/** Rules of the house and of the workspace: no server, so they run with the unit tests. */
const HOUSE = ["test/tidy/*.test.ts", "test/install-size.test.ts"];

export default defineConfig({
  test: {
    projects: [
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
