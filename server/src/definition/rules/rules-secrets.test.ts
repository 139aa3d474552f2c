import { expect, test } from "vitest";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import type { CompiledExpression } from "../../expressions/template.ts";
import type { Lint } from "./lint.ts";
import { listedSecrets, secretProblems } from "./rules-secrets.ts";

test("thousands of names among thousands of listed ones take a look each", () => {
  const names = Array.from({ length: 9_000 }, (_, at) => `s${at}`);
  const root = { use: { secrets: names } };
  const expression = { secrets: new Set(names) } as unknown as CompiledExpression;
  const look = (): string[] => [
    ...secretProblems(expression, { root, secrets: listedSecrets(root) } as unknown as Lint),
  ];
  expect(look()).toEqual([]);
  expect(leastMs(50, look)).toBeLessThan(50);
});
