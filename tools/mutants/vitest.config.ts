import { defineConfig } from "vitest/config";

/** The unit tests of the pure rooms that need no thread of jq and measure no time: some milliseconds for each mutant. */
export default defineConfig({
  ssr: { resolve: { conditions: ["node", "module-sync"] } },
  test: {
    include: [
      "tools/mutants/*.mutants.ts",
      "server/src/expressions/native/{charges,native,values}.test.ts",
      "server/src/lib/json/weigh.test.ts",
      "server/src/lib/calendar.test.ts",
      "server/src/definition/form/{check-input,form}.test.ts",
      "server/src/definition/rules/{durations,form-rules}.test.ts",
      "server/src/graphql/documents/{cost,size}.test.ts",
      "server/src/fairness/slots.test.ts",
      "server/src/execution/{back-off,run/run}.test.ts",
    ],
    testTimeout: 60_000,
  },
});
