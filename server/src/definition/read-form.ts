/** Reads the form of a draft, even if the rest is broken. */
import { isObject, type JsonObject } from "../lib/json/json.ts";
import { inSlices, type Steps } from "../fairness/slices.ts";
import { inspect } from "./parse-definition.ts";
import { valueAt } from "./text/problem.ts";
import { readingText } from "./text/read-text.ts";

/** `input.schema.document`; undefined if it is missing or has mistakes. */
export const readFormInSlices = (text: string): Promise<JsonObject | undefined> => inSlices(reading(text));

function* reading(text: string): Steps<JsonObject | undefined> {
  const { value } = yield* readingText(text);
  yield;
  const form = value === undefined ? undefined : valueAt(value, ["input", "schema", "document"]);
  if (!isObject(form)) return undefined;
  const { findings } = yield* inspect({ ...QUIET, input: { schema: { document: form } } });
  return findings.length === 0 ? form : undefined;
}

/** A definition without a mistake. */
const QUIET: JsonObject = {
  document: { dsl: "1.0.3", namespace: "a", name: "a", version: "1.0.0" },
  do: [{ a: { set: { b: 1 } } }],
};
