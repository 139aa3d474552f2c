/** Which `$variables` an expression knows, by its place (DSL, "Runtime expression arguments"). */
import type { Json } from "../lib/json.ts";
import { isObject } from "../lib/json.ts";
import { hint } from "./did-you-mean.ts";
import { valueAt, type Path } from "./problem.ts";

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

/** More than a hint ever looks at. */
const MOST_NEAR = 501;

const WITHHELD = new Map([
  [
    "secrets",
    "$secrets can stand in authentication only, and needs the store of secrets, which is not yet part of this release",
  ],
  ["authorization", "$authorization is not given: a credential must not get into data"],
]);

/** Why the expression at `path` may not refer to `$name`, or undefined. */
export function unknownVariable(name: string, known: ReadonlySet<string>): string | undefined {
  if (known.has(name)) return undefined;
  const names = known
    .values()
    .take(MOST_NEAR)
    .map((one) => `$${one}`)
    .toArray();
  return WITHHELD.get(name) ?? `$${name} is not known here${hint(`$${name}`, names)}`;
}

/** `declared`: all variables of the document, which a policy under `use` may mean. */
export function scopeAt(root: Json, path: Path, declared: ReadonlySet<string>): Set<string> {
  if (path[0] === "use") return scopeOfUse(declared);
  const known = new Set(["workflow", "runtime"]);
  if (path[0] === "output") known.add("context");
  if (path[0] === "do") inTask(root, path, known);
  return known;
}

const scopesOfUse = new WeakMap<ReadonlySet<string>, Set<string>>();

/** The same for all policies of a document: made for each, thousands of them would each go through thousands of names. */
function scopeOfUse(declared: ReadonlySet<string>): Set<string> {
  const known = scopesOfUse.get(declared) ?? new Set(["workflow", "runtime", "context", "input", "task", ...declared]);
  scopesOfUse.set(declared, known);
  return known;
}

/** Where a list of tasks stands two keys below its task. */
const LISTS = new Set(["catch do", "with do", "fork branches"]);

const isEach = (task: Json | undefined): boolean =>
  isObject(task) && typeof task["call"] === "string" && task["call"].startsWith("each:");

function inTask(root: Json, path: Path, known: Set<string>): void {
  known.add("context").add("task");
  let rest = path;
  let at = 0;
  // Each round is one task: [list key, index, name, …].
  for (;;) {
    at += 3;
    rest = path.slice(at);
    const task = valueAt(root, path.slice(0, at));
    if (rest[0] === "catch") known.add(nameUnder(task, "catch", "as", "error"));
    if (isObject(task) && "for" in task && (rest[0] === "do" || rest[0] === "while")) {
      known.add(nameUnder(task, "for", "each", "item")).add(nameUnder(task, "for", "at", "index"));
    }
    if (isEach(task) && rest[0] === "with" && rest[1] === "do") {
      known.add(nameUnder(task, "with", "item", "item")).add("index");
    }
    if (LISTS.has(`${rest[0]} ${rest[1]}`)) at += 1;
    else if (rest[0] !== "do" && rest[0] !== "try") break;
  }
  if (rest[0] !== "input") known.add("input");
  if (rest[0] === "export") known.add("output");
}

function nameUnder(task: Json | undefined, key: string, name: string, otherwise: string): string {
  const found = task === undefined ? undefined : valueAt(task, [key, name]);
  return typeof found === "string" ? found : otherwise;
}
