/** The message about a variable that an expression does not know. */
import { hint } from "../../lib/did-you-mean.ts";

/** Names that no `for` or `catch` may take. */
export const GIVEN: ReadonlySet<string> = new Set([
  "context",
  "input",
  "output",
  "secrets",
  "authorization",
  "task",
  "workflow",
  "runtime",
  "ENV",
]);

/** One more than a hint compares. */
const MAX_NEAR = 501;

const WITHHELD = new Map([
  [
    "secrets",
    "$secrets can stand only in the endpoint, headers, query, body and authentication of a call: a credential must not get into data",
  ],
  ["authorization", "$authorization is not given: a credential must not get into data"],
]);

/** Why an expression that knows these may not refer to `$name`, or undefined. */
export function unknownVariable(name: string, known: ReadonlySet<string>): string | undefined {
  if (known.has(name)) return undefined;
  const names = known
    .values()
    .take(MAX_NEAR)
    .map((one) => `$${one}`)
    .toArray();
  return WITHHELD.get(name) ?? `$${name} is not known here${hint(`$${name}`, names)}`;
}
