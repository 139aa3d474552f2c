/** Which `$variables` an expression may use, by its place (DSL, "Runtime expression arguments"). */
import type { Json, JsonObject } from "../lib/json/json.ts";
import { valueAt, type Path } from "./text/problem.ts";
import { EACH_ITEM, variableName } from "./tasks/kind.ts";
import { KINDS, kindOf } from "./tasks/kinds.ts";

/** `declared`: all variables of the document: a policy under `use` may refer to any of them. */
export function scopeAt(root: Json, path: Path, declared: ReadonlySet<string>): Set<string> {
  if (path[0] === "use" && path[1] !== "functions")
    return withSecrets(scopeOfUse(declared), path[1] === "authentications");
  const known = new Set(["workflow", "runtime"]);
  if (path[0] === "output") known.add("context");
  // A function is a task, at `/use/functions/name`: it sees its own variables, and none of those around its calls.
  if (path[0] === "do" || path[0] === "use") addInTask(root, path, known);
  return known;
}

const scopesWithSecrets = new WeakMap<Set<string>, Set<string>>();

function withSecrets(scope: Set<string>, has: boolean): Set<string> {
  if (!has) return scope;
  const known = scopesWithSecrets.get(scope) ?? new Set([...scope, "secrets"]);
  scopesWithSecrets.set(scope, known);
  return known;
}

const scopesOfUse = new WeakMap<ReadonlySet<string>, Set<string>>();

/** Shared by all policies of a document: with a set for each, thousands of policies would copy thousands of names each. */
function scopeOfUse(declared: ReadonlySet<string>): Set<string> {
  const known = scopesOfUse.get(declared) ?? new Set(["workflow", "runtime", "context", "input", "task", ...declared]);
  scopesOfUse.set(declared, known);
  return known;
}

function addInTask(root: Json, path: Path, known: Set<string>): void {
  known.add("context").add("task");
  // Each round of the loop is one task: [… its list, its index, its name, …].
  let rest = path.slice(3);
  for (let at = 3; ;) {
    const task = valueAt(root, path.slice(0, at));
    const kind = kindOf(task);
    if (kind === undefined) break;
    const { variables = [], blocks, secretsIn } = KINDS[kind];
    if (secretsIn?.some((part) => isBelow(rest, part))) known.add("secrets");
    for (const variable of variables) {
      if (variable.knownIn.some((part) => isBelow(rest, part))) known.add(variableName(task as JsonObject, variable));
    }
    const list = Object.values(blocks).find((inner) => inner.at && isBelow(rest, inner.at))?.at;
    if (!list) break;
    at += list.length + 2;
    rest = path.slice(at);
  }
  if (rest[0] !== "input") known.add("input");
  if (rest[0] === "export") known.add("output");
}

const isBelow = (path: Path, part: Path): boolean =>
  part.every((key, index) => path[index] === key || (key === EACH_ITEM && typeof path[index] === "number"));
