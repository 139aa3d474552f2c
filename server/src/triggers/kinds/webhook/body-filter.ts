/** The policy `filter` of a webhook: which bodies start a run, by the rules of an event's filter. */
import { isObject, type JsonObject } from "../../../lib/json/json.ts";
import { checkFilter, compileFilter, Fields, unmatched, type Filter } from "../../../lib/events/event-filter.ts";
import type { Key, Problems } from "../contract/trigger-kind.ts";

export const FILTER_KEY: Key = {
  api: "JSON",
  description:
    'For each field of the body, a list of the values that it accepts: `{action: ["opened", "reopened"]}`, by the rules of an event\'s `filter`. A call that does not match starts nothing. Default: every call matches.',
};

/** The filter as it is stored. */
export function settleFilter({ filter }: JsonObject, problems: Problems): JsonObject {
  if (filter === undefined) return {};
  checkFilter(filter, problems);
  return { filter };
}

/** By policy, because a webhook is called often. */
const compiled = new WeakMap<JsonObject, Filter>();

/** The first field in which the body does not match; undefined if it matches. */
export function unmatchedField(policy: JsonObject, body: JsonObject): string | undefined {
  const { filter } = policy;
  if (!isObject(filter)) return undefined;
  let known = compiled.get(policy);
  if (!known) compiled.set(policy, (known = compileFilter(filter)));
  return unmatched(known, new Fields(body));
}
