/** Lists of tasks: names, targets of `then`, and names defined under `use`. */
import type { Json } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { hint } from "../../lib/did-you-mean.ts";
import { GIVEN } from "./known-variables.ts";
import type { Found, Lint } from "./lint.ts";
import { quote, valueAt, type Path } from "../text/problem.ts";

const DIRECTIVES = ["continue", "exit", "end"];

export function tasksRule({ path, value }: Found, lint: Lint): void {
  if (depthOf(path) === LIMITS.definitionNesting + 1) {
    lint.report({
      path,
      at: "key",
      message: `tasks are nested deeper than ${LIMITS.definitionNesting} levels; move the inner ones to another agent`,
    });
  }
  const seen = new Set<string>();
  for (const [index, item] of (value as Json[]).entries()) {
    const name = nameOf(item);
    if (name === undefined) continue;
    const report = (message: string): void => lint.report({ path: [...path, index, name], at: "key", message });
    if (DIRECTIVES.includes(name)) report(`"${name}" has a meaning of its own in then; give the task another name`);
    if (seen.has(name)) report(`there is another task ${quote(name)} in this list; give each its own name`);
    seen.add(name);
  }
}

export function thenRule({ path, value }: Found, lint: Lint): void {
  const target = value as string;
  if (DIRECTIVES.includes(target)) return;
  const list = path.slice(0, path.at(-4) === "switch" ? -6 : -3);
  if (list.at(-1) === "branches") return lint.report({ path, at: "value", message: FROM_A_BRANCH });
  if (list.length === 1 && list[0] === "use") return lint.report({ path, at: "value", message: FROM_A_FUNCTION });
  const names = namesIn(valueAt(lint.root, list), lint);
  if (names.has(target)) return;
  const near = hint(target, [...names, ...DIRECTIVES]);
  lint.report({ path, at: "value", message: `there is no task ${quote(target)} in this list${near}` });
}

/** A directive stays within its scope (DSL, "Flow Directive"), and a branch is a scope of one task. */
const FROM_A_BRANCH =
  "a branch cannot continue at another task, because the others run beside it; write continue, exit or end, or put the tasks under do";

const FROM_A_FUNCTION =
  "a function cannot continue at a task, because it may be called anywhere; write continue, exit or end, or put the tasks under do";

const WORDS = new Map<string, string>(
  Object.entries({
    authentications: "authentication",
    errors: "error",
    retries: "retry policy",
    timeouts: "timeout",
  }),
);

export function referenceRule({ path, value, means }: Found, lint: Lint): void {
  const of = means.slice("use.".length);
  const defined = valueAt(lint.root, ["use", of]);
  const names = isObject(defined) ? Object.keys(defined) : [];
  if (names.includes(value as string)) return;
  lint.report({
    path,
    at: "value",
    message: `there is no ${WORDS.get(of)} ${quote(value as string)} under use.${of}${hint(value as string, names)}`,
  });
}

export function variableRule({ path, value }: Found, lint: Lint): void {
  const name = value as string;
  const report = (message: string): void => lint.report({ path, at: "value", message });
  if (GIVEN.has(name)) return report(`$${name} already exists; choose another name`);
  if (path.at(-1) === "item" && name === "index") return report("$index is the item's number; choose another name");
  if (path.at(-1) !== "at") return;
  const each = valueAt(lint.root, [...path.slice(0, -1), "each"]) ?? "item";
  if (each === name) report('"each" and "at" have the same name; choose two');
}

/** Cached: otherwise a list of n tasks would be walked n times. */
function namesIn(list: Json | undefined, lint: Lint): Set<string> {
  if (!Array.isArray(list)) return new Set();
  let names = lint.names.get(list);
  if (!names) lint.names.set(list, (names = new Set(list.flatMap((item) => nameOf(item) ?? []))));
  return names;
}

/** The name of a task or a case, the one key of its item. */
export function nameOf(item: Json): string | undefined {
  const names = isObject(item) ? Object.keys(item) : [];
  return names.length === 1 ? names[0] : undefined;
}

/** How many lists of tasks enclose a list, itself included: on the path to a list, only such lists have indexes. */
const depthOf = (path: Path): number => 1 + path.filter((part) => typeof part === "number").length;
