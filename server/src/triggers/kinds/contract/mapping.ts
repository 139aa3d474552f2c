/** The policy `mapping`: an expression in jq, as definitions have them, makes the run's input of what came with a firing. */
import { unknownVariable } from "../../../definition/rules/known-variables.ts";
import { compileExpression, type Template } from "../../../expressions/template.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { isStorable, UNSTORABLE } from "../../../lib/text.ts";
import type { Key, Problems } from "./trigger-kind.ts";

/** The policy's key, for kinds that take it. The keys of all kinds have one description. */
export const MAPPING_KEY: Key = {
  api: "String",
  description:
    "A jq expression that turns what was received (the body of a webhook, the data of an event) into the run's input, an object. `$event` has the event's `id`, `source`, `event`, `sourceId`, `time` and `at`; `$headers` and `$query` those of a webhook's request. Default: the input is what was received.",
};

const NO_VARIABLES: ReadonlySet<string> = new Set();

/** The mapping as it is stored. Whether jq compiles it is checked later (`check-trigger.ts`, or with the definition that brings it). */
export function settleMapping(
  { mapping }: JsonObject,
  problems: Problems,
  variables: ReadonlySet<string> = NO_VARIABLES,
): JsonObject {
  if (mapping === undefined) return {};
  const text = mapping as string;
  const add = (message: string): void => problems.add("mapping", "invalid", message);
  const [expression] = compileExpression(text).expressions;
  if (expression!.text === "") add("must be an expression in jq: it is empty");
  else if (!isStorable(text)) add(UNSTORABLE);
  else if (expression!.problem) add(doesNotCompile(expression!.problem.message));
  else
    for (const name of expression!.variables) {
      const message = unknownVariable(name, variables);
      if (message !== undefined) add(`must be an expression in jq: ${message}`);
    }
  return { mapping: text };
}

/** By policy, because a trigger fires often. */
const compiled = new WeakMap<JsonObject, Template>();

/** The mapping of a policy that was checked. */
export function mappingOf(policy: JsonObject): Template | undefined {
  const { mapping } = policy;
  if (mapping === undefined) return undefined;
  let template = compiled.get(policy);
  if (!template) compiled.set(policy, (template = compileExpression(mapping as string)));
  return template;
}

/** The variables that its mapping refers to. */
export const variablesIn = (policy: JsonObject): ReadonlySet<string> =>
  new Set(mappingOf(policy)?.expressions.flatMap(({ variables }) => [...variables]));

export const doesNotCompile = (reason: string): string => `must be an expression in jq: it does not compile: ${reason}`;
