/** A violation of a schema in one sentence: what is wrong, and what to write instead. */
import { isNumber, isObject, type Json, type JsonObject } from "../lib/json/json.ts";
import { hint, nearest } from "./did-you-mean.ts";
import { pointer, quote, type Finding, type Path } from "./problem.ts";
import { explainRefusedCall } from "./explain-call.ts";
import { IGNORED_MEANS } from "./profile/profile-words.ts";
import { typeOf, type SchemaObject, type Violation } from "./schema-walk.ts";

/** The first keys show which task is meant; an object may have thousands. */
const KEYS_COMPARED = 20;

const TYPE_WORDS = new Map<string, string>(
  Object.entries({
    string: "a text",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    object: "an object",
    array: "a list",
    null: "null",
  }),
);

/** For the profile: names the place and uses the profile's own words. */
function findingOf(violation: Violation): Finding {
  const { path, at, keyword, schema } = violation;
  const refusal = schema["x-refused"] as string | undefined;
  if (refusal !== undefined) return { path, at: "key", message: refusal };
  if (keyword === "oneOf") return explainUnmeant(violation);
  if (keyword === "additionalProperties") return { path, at, message: unknownKey(violation) };
  if (keyword === "required")
    return { path, at, message: `${quote(violation.key!)} is missing in ${what(path.slice(0, -1), schema)}` };
  const say = schema["x-say"] as string | undefined;
  const reason = `${keyword === "propertyNames" ? `the name ${quote(violation.key!)}` : place(path)} ${reasonOf(violation)}`;
  if (reason.endsWith("?")) return { path, at, message: reason };
  return { path, at, message: say === undefined ? reason + inQuotes(violation) : `${reason}; ${say}` };
}

/** One mistake, one message: the key that was mistyped is not reported as missing too. */
export function findingsOf(violations: Violation[]): Finding[] {
  const mistyped = new Set(
    violations.flatMap((violation) => {
      const meant =
        violation.keyword === "additionalProperties" ? nearest(violation.key!, knownKeys(violation.schema)) : undefined;
      return meant === undefined ? [] : [pointer([...violation.path.slice(0, -1), meant])];
    }),
  );
  return violations
    .filter(({ keyword, path }) => keyword !== "required" || !mistyped.has(pointer(path)))
    .map(findingOf);
}

/** `must be a number`: why the value does not fit, without its place. */
export function reasonOf({ keyword, schema, value, key }: Violation): string {
  const limit = schema[keyword] as number;
  switch (keyword) {
    case "type":
      return typeReason(schema, value);
    case "enum":
      return enumReason(schema.enum!, value);
    case "const":
      return `must be ${JSON.stringify(schema.const)}`;
    case "required":
      return `lacks ${quote(key!)}`;
    case "minLength":
      return `must have at least ${count(limit, "character")}`;
    case "maxLength":
      return `must have at most ${count(limit, "character")}`;
    case "minItems":
      return limit === 1 ? "is empty" : `must have at least ${count(limit, "item")}`;
    case "maxItems":
      return `must have at most ${count(limit, "item")}`;
    case "uniqueItems":
      return "has an item twice";
    case "minProperties":
      return Object.keys(value as JsonObject).length === 0 ? "is empty" : `must have at least ${count(limit, "key")}`;
    case "maxProperties":
      return limit === 1 ? "has more than one key" : `must have at most ${count(limit, "key")}`;
    case "minimum":
      return `must be at least ${limit}`;
    case "maximum":
      return `must be at most ${limit}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}`;
    case "multipleOf":
      return `must be a multiple of ${limit}`;
    case "format":
      return `must be a ${schema.format === "date" ? "date such as 2026-03-31" : "time such as 2026-03-31T08:30:00Z"}`;
    case "additionalProperties":
      return `must not have the key ${quote(key!)}`;
    default:
      return "does not fit";
  }
}

function typeReason(schema: SchemaObject, value: Json): string {
  if (value === null) return "is empty";
  const types = [schema.type!].flat().map((type) => TYPE_WORDS.get(type) ?? type);
  const isBroken = schema.type === "integer" && isNumber(value);
  return `must be ${types.join(" or ")}${isBroken ? "" : `, not ${TYPE_WORDS.get(typeOf(value))}`}`;
}

function enumReason(values: Json[], value: Json): string {
  const near =
    typeof value === "string"
      ? nearest(
          value,
          values.filter((one) => typeof one === "string"),
        )
      : undefined;
  if (near !== undefined) return `must not be ${quote(value as string)}; did you mean ${quote(near)}?`;
  const shown = values.slice(0, 10).map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return `must be ${shown.length === 1 ? "" : "one of "}${shown.join(", ")}${values.length > 10 ? ", …" : ""}`;
}

const inQuotes = ({ keyword, schema, value }: Violation): string =>
  keyword === "type" && schema.type === "string" && (isNumber(value) || typeof value === "boolean")
    ? "; put it in quotes"
    : "";

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** None of the branches is meant: an unknown task, call, type or scheme. */
function explainUnmeant({ path, at, schema, value }: Violation): Finding {
  const choose = schema["x-choose"];
  if (typeof choose === "object" && isObject(value)) {
    const chosen = value[choose.property] ?? null;
    const message =
      choose.property === "call" && typeof chosen === "string" ? explainRefusedCall(chosen) : String(schema["x-say"]);
    return { path: [...path, choose.property], at: "value", message };
  }
  const known = schema.oneOf!.flatMap((branch) => (branch as SchemaObject).required?.slice(0, 1) ?? []);
  const keys = isObject(value) ? Object.keys(value) : [];
  for (const key of keys.slice(0, KEYS_COMPARED)) {
    const near = nearest(key, known);
    if (near !== undefined)
      return { path: [...path, key], at: "key", message: `${quote(key)} is not known; did you mean ${quote(near)}?` };
  }
  return {
    path,
    at,
    message: `${place(path)} ${keys.length === 0 ? "is empty" : "does not say enough"}; ${String(schema["x-say"] ?? "write one of the known forms")}`,
  };
}

const knownKeys = (schema: SchemaObject): string[] =>
  Object.keys(schema.properties ?? {}).filter((name) => {
    const { "x-refused": refusal, "x-value": means } = schema.properties![name] as SchemaObject;
    return refusal === undefined && !means?.startsWith(IGNORED_MEANS);
  });

function unknownKey({ path, key, schema }: Violation): string {
  const known = knownKeys(schema);
  const owner = what(path.slice(0, -1), schema);
  const others = schema["x-alone"] as string[] | undefined;
  if (others?.includes(key!)) return `${owner} cannot have ${quote(key!)} as well; a task does one thing`;
  if (known.length === 0) return `${quote(key!)} is not known in ${owner}; it has no keys`;
  return `${quote(key!)} is not known in ${owner}${hint(key!, known)}`;
}

function what(path: Path, schema: SchemaObject): string {
  return (schema["x-what"] as string | undefined) ?? (path.length === 0 ? "the definition" : place(path));
}

function place(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return "the definition";
  return typeof last === "number" ? `item ${last + 1}` : quote(last);
}
