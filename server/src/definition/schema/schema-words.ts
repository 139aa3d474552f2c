/** The building blocks of the profile's schema. */
import { LIMITS } from "../../lib/limits.ts";
import type { IGNORED } from "./refusals.ts";
import type { Schema, SchemaObject } from "./schema-walk.ts";

export type Properties = Record<string, Schema>;

/** An object with these keys and no others. `what` names it in messages. */
export const object = (what: string, properties: Properties, required: string[] = []): SchemaObject => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
  "x-what": what,
});

export const map = (values: Schema): SchemaObject => ({ type: "object", additionalProperties: values });
export const list = (items: Schema, more: SchemaObject = {}): SchemaObject => ({ type: "array", items, ...more });
export const text = (more: SchemaObject = {}): SchemaObject => ({ type: "string", ...more });
export const boolean: SchemaObject = { type: "boolean" };
export const fixed = (values: string[]): SchemaObject => ({ type: "string", enum: values });
export const ref = (name: string): SchemaObject => ({ $ref: `#/$defs/${name}` });
/** A part of the DSL that is not accepted, with the sentence that says so. */
export const refused = (why: string): SchemaObject => ({ not: {}, "x-refused": why });

/** A part of the DSL that has no effect here (`IGNORED`): what fits its schema is a warning. */
export const ignored = (why: keyof typeof IGNORED, schema: SchemaObject): SchemaObject => ({
  ...schema,
  "x-value": `${IGNORED_MEANS}${why}`,
});
/** The prefix of such a part's meaning. */
export const IGNORED_MEANS = "ignored.";

/** An object that is refused because it has this key. */
export const refusedKey = (key: string, why: string): SchemaObject => ({
  type: "object",
  required: [key],
  properties: { [key]: refused(why) },
});

/** The keys that every task may have besides its keyword. */
export const COMMON: Properties = {
  if: ref("expression"),
  input: ref("input"),
  output: ref("output"),
  export: ref("export"),
  timeout: ref("timeoutOrName"),
  then: ref("then"),
  metadata: { type: "object" },
};

/** Tasks under their names, one per item. */
export function taskList(more: SchemaObject): SchemaObject {
  const item: SchemaObject = {
    type: "object",
    minProperties: 1,
    maxProperties: 1,
    propertyNames: ref("taskName"),
    additionalProperties: ref("task"),
    "x-say": "write one task per list item, as `- name:` with its keys indented below the name",
  };
  return list(item, { "x-value": "tasks", ...more });
}

export const variable = text({
  pattern: `^[A-Za-z_]\\w{0,${LIMITS.identifierCharacters - 1}}$`,
  "x-value": "variable",
  "x-say": `write a name of 1 to ${LIMITS.identifierCharacters} letters, digits and underscores`,
});

const SEMVER =
  "(0|[1-9]\\d{0,8})\\.(0|[1-9]\\d{0,8})\\.(0|[1-9]\\d{0,8})(-(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?";
const LABEL = `[a-z0-9]([a-z0-9-]{0,${LIMITS.handleCharacters - 2}}[a-z0-9])?`;

export const isLabel = (value: unknown): value is string => typeof value === "string" && WHOLE_LABEL.test(value);
const WHOLE_LABEL = new RegExp(`^${LABEL}$`);

/** The handle of a project or an agent. */
export const label = (example: string): SchemaObject =>
  text({
    pattern: `^${LABEL}$`,
    "x-say": `write 1 to ${LIMITS.handleCharacters} lower-case letters, digits and hyphens, such as ${example}`,
  });

/** A handle, or an expression that yields one. */
export const labelOrExpression = (example: string): SchemaObject => ({
  ...label(example),
  pattern: `^(?:${LABEL}|\\s*\\$\\{[^]*\\}\\s*)$`,
  "x-value": "template",
});

/** The version of a definition: semver. */
export const version = text({
  pattern: `^${SEMVER}$`,
  maxLength: LIMITS.versionCharacters,
  "x-say": 'write three numbers with dots, such as "1.0.0"',
});
export const versionOrLatest = text({
  pattern: `^(latest|${SEMVER})$`,
  maxLength: LIMITS.versionCharacters,
  "x-say": 'write latest, or three numbers with dots, such as "1.0.0"',
});
