/** The functions of a definition and their calls: unknown names, functions that lead back to themselves, too deep nesting. */
import { hint } from "../lib/did-you-mean.ts";
import { isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { LIMITS } from "../lib/limits.ts";
import { explainRefusedCall } from "./profile/explain-call.ts";
import type { Found, Lint } from "./rules/lint.ts";
import { KINDS, kindOf } from "./tasks/kinds.ts";
import { quote, valueAt, type Path } from "./text/problem.ts";

/** The value of `use.functions`, whether it fits the profile or not. */
export function functionsOf(root: Json): JsonObject {
  const functions = valueAt(root, ["use", "functions"]);
  return isObject(functions) ? functions : {};
}

/** The name in a call. */
export function callRule({ path, value }: Found, lint: Lint): void {
  const name = value as string;
  const functions = functionsOf(lint.root);
  if (Object.hasOwn(functions, name)) return;
  const names = Object.keys(functions);
  const message =
    names.length === 0
      ? explainRefusedCall(name)
      : `there is no function ${quote(name)} under use.functions${hint(name, names)}`;
  lint.report({ path, at: "value", message });
}

/** `levels`: how many lists of tasks enclose it within its function or under `do`. */
type Call = { name: string; path: Path; levels: number };

/** Reports calls that lead back to their own function, and those with which tasks would be nested too deeply. */
export function functionsRule(_: Found, lint: Lint): void {
  const functions = functionsOf(lint.root);
  const calls = new Map(
    Object.entries(functions).map(([name, task]) => [name, [...callsIn(task, ["use", "functions", name], 1)]]),
  );
  const deepest = deepestOf(lint, functions, calls);
  const own = [...callsInList(valueAt(lint.root, ["do"]), ["do"], 0)];
  for (const call of [...calls.values(), own].flat()) {
    const below = deepest.get(call.name) ?? 0;
    const levels = call.levels + below;
    if (lint.isFull() || levels <= LIMITS.definitionNesting || below > LIMITS.definitionNesting) continue;
    lint.report({
      path: [...call.path, "call"],
      at: "value",
      message: `with the function ${call.name}, tasks are nested ${levels} levels deep here, and at most ${LIMITS.definitionNesting} are allowed; move the inner ones to another agent`,
    });
  }
}

/** How many lists of tasks each function adds to the place of its call. Reports calls that lead back. */
function deepestOf(
  lint: Lint,
  functions: JsonObject,
  calls: ReadonlyMap<string, readonly Call[]>,
): Map<string, number> {
  const known = new Map<string, number>();
  const around: string[] = [];
  const visit = (name: string): number => {
    const before = known.get(name);
    if (before !== undefined) return before;
    let most = listsIn(functions[name]!, 1);
    around.push(name);
    for (const call of calls.get(name)!) {
      if (!calls.has(call.name)) continue;
      const at = around.indexOf(call.name);
      if (at === -1) most = Math.max(most, call.levels + visit(call.name));
      else
        lint.report({
          path: [...call.path, "call"],
          at: "value",
          message: leadsBack([...around.slice(at), call.name]),
        });
    }
    around.pop();
    known.set(name, most);
    return most;
  };
  for (const name of calls.keys()) visit(name);
  return known;
}

const leadsBack = (names: readonly string[]): string =>
  `the function ${names[0]} leads back to itself (${names.join(" → ")}); a function cannot call itself`;

function* callsIn(task: Json, path: Path, levels: number): Generator<Call> {
  const kind = kindOf(task);
  if (kind === undefined) return;
  if (kind === "function") yield { name: (task as JsonObject)["call"] as string, path, levels };
  for (const { at } of Object.values(KINDS[kind].blocks))
    if (at) yield* callsInList(valueAt(task, at), [...path, ...at], levels);
}

function* callsInList(list: Json | undefined, path: Path, levels: number): Generator<Call> {
  for (const [index, name, task] of tasksOf(list)) yield* callsIn(task, [...path, index, name], levels + 1);
}

function listsIn(task: Json, levels: number): number {
  const kind = kindOf(task);
  if (kind === undefined) return levels;
  const inner = Object.values(KINDS[kind].blocks).flatMap(({ at }) => (at ? [...tasksOf(valueAt(task, at))] : []));
  return inner.reduce((most, [, , one]) => Math.max(most, listsIn(one, levels + 1)), levels);
}

function* tasksOf(list: Json | undefined): Generator<[index: number, name: string, task: Json]> {
  if (!Array.isArray(list)) return;
  for (const [index, item] of list.entries())
    if (isObject(item)) for (const [name, task] of Object.entries(item)) yield [index, name, task];
}
