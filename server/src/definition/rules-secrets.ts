/** Names of secrets: each that a definition uses stands under `use.secrets`, so that one sees which without looking further. */
import type { Json } from "../lib/json.ts";
import { hint } from "./did-you-mean.ts";
import type { CompiledExpression } from "./expressions/template.ts";
import type { Found, Lint } from "./lint.ts";
import { quote, valueAt } from "./problem.ts";

export function secretRule({ path, value }: Found, lint: Lint): void {
  const message = notListed(value as string, lint.root);
  if (message !== undefined) lint.report({ path, at: "value", message });
}

/** What is wrong with the `$secrets` of an expression that may use them. */
export function* secretProblems({ secrets = new Set(), allSecrets }: CompiledExpression, lint: Lint): Iterable<string> {
  // Data must not choose which secret is sent.
  if (allSecrets) yield 'a secret is named where it is used; write $secrets.NAME or $secrets["NAME"]';
  for (const name of secrets) {
    const message = notListed(name, lint.root);
    if (message !== undefined) yield message;
  }
}

function notListed(name: string, root: Json): string | undefined {
  const listed = valueAt(root, ["use", "secrets"]);
  const names = Array.isArray(listed) ? listed.filter((one) => typeof one === "string") : [];
  return names.includes(name)
    ? undefined
    : `the secret ${quote(name)} is not listed under use.secrets${hint(name, names)}`;
}
