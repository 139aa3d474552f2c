import { defineConfig } from "vitest/config";

/** The unit tests of the pure rooms that need no thread of jq and measure no time: some milliseconds for each mutant. */
export default defineConfig({
  ssr: { resolve: { conditions: ["node", "module-sync"] } },
  test: {
    include: [
      "tools/mutants/*.mutants.ts",
      "server/src/expressions/{charges,native,values,weigh}.test.ts",
      "server/src/definition/{calendar,check-input,form,form-rules}.test.ts",
      "server/src/graphql/{cost,size}.test.ts",
      "server/src/definition/rules/durations.test.ts",
      "server/src/fairness/slots.test.ts",
      "server/src/execution/{back-off,run}.test.ts",
    ],
    testTimeout: 60_000,
  },
});
