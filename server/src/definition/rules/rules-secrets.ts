/** Rules for names of secrets: `use.secrets` must list each one that the definition uses. */
import type { Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { hint } from "../../lib/did-you-mean.ts";
import type { CompiledExpression } from "../../expressions/template.ts";
import type { Found, Lint } from "./lint.ts";
import { quote, valueAt } from "../text/problem.ts";

export function secretRule({ path, value }: Found, lint: Lint): void {
  const message = notListed(value as string, lint);
  if (message !== undefined) lint.report({ path, at: "value", message });
}

/** The problem with the `$secrets` of an expression that may use them. */
export function* secretProblems(expression: CompiledExpression, lint: Lint): Iterable<string> {
  const { secrets = new Set(), allSecrets, altersSecrets } = expression;
  // Data must not choose which secret is sent.
  if (allSecrets) yield 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]';
  for (const name of secrets) {
    const message = notListed(name, lint);
    if (message !== undefined) yield message;
  }
  // Their results are looked for in the answers of their calls.
  if (altersSecrets && ++lint.altersSecrets === LIMITS.secretExpressions + 1) yield TOO_MANY;
}

const TOO_MANY = `at most ${LIMITS.secretExpressions} expressions of a definition may do more with a secret than pass it on; write $secrets.NAME alone, or within a text`;

/** A document may list thousands, and use each of them thousands of times. */
export function listedSecrets(root: Json): ReadonlySet<string> {
  const listed = valueAt(root, ["use", "secrets"]);
  return new Set(Array.isArray(listed) ? listed.filter((one) => typeof one === "string") : []);
}

function notListed(name: string, { secrets }: Lint): string | undefined {
  return secrets.has(name)
    ? undefined
    : `the secret ${quote(name)} is not listed under use.secrets${hint(name, secrets)}`;
}
