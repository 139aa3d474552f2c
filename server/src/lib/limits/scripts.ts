/** Scripts (`run: script`). */
import type { Limit } from "./limit.ts";

const TIME_TEST = "server/src/execution/tasks/script.test.ts";
const SCRIPTS_TEST = "server/src/scripts/hostile-scripts.test.ts";

export const SCRIPTS = {
  scriptCharacters: {
    value: 64_000,
    bounds: "the code of a script",
    test: [SCRIPTS_TEST, "LIMITS.scriptCharacters"],
  },
  scriptArguments: { value: 50, bounds: "arguments of a script", test: [SCRIPTS_TEST, "LIMITS.scriptArguments"] },
  scriptsPerDefinition: {
    value: 200,
    bounds: "different scripts of a definition",
    test: [SCRIPTS_TEST, "LIMITS.scriptsPerDefinition"],
  },
  scriptMs: {
    value: 250,
    bounds: "processor time of a script whose task has no timeout",
    beyond: "it is stopped, and the step fails with `timeout`",
    test: [TIME_TEST, "LIMITS.scriptMs without a timeout"],
  },
  scriptMaxMs: {
    value: 10_000,
    bounds: "processor time of any script, whatever its task's timeout says",
    beyond: "it is stopped, and the step fails with `timeout`",
    test: [TIME_TEST, "LIMITS.scriptMaxMs at its edge"],
  },
  scriptMemoryBytes: {
    value: 64 * 1024 * 1024,
    bounds: "memory of a script",
    beyond: "it is stopped, and the step fails with `limit`",
    test: [SCRIPTS_TEST, "LIMITS.scriptMemoryBytes"],
  },
  scriptStackBytes: {
    value: 256 * 1024,
    bounds: "stack of a script, about 1,000 calls within calls",
    beyond: "it throws a RangeError",
    test: [SCRIPTS_TEST, "LIMITS.scriptStackBytes"],
  },
  scriptLogLines: {
    value: 500,
    bounds: "lines that a script writes with `console.log` and that its step keeps",
    beyond: "the rest is cut",
    test: [SCRIPTS_TEST, "LIMITS.scriptLogLines"],
  },
  scriptLogBytes: {
    value: 16 * 1024,
    bounds: "bytes of these lines",
    beyond: "the rest is cut",
    test: [SCRIPTS_TEST, "LIMITS.scriptLogBytes"],
  },
} satisfies Record<string, Limit>;
