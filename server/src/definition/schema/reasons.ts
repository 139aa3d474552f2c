/** Why a value does not fit a schema, in words that follow its place: `must be a number`. */
import { nearest } from "../../lib/did-you-mean.ts";
import { isNumber, type Json, type JsonObject } from "../../lib/json/json.ts";
import { quote } from "../text/problem.ts";
import { typeOf, type SchemaObject, type Violation } from "./schema-walk.ts";

const TYPE_WORDS = new Map<string, string>(
  Object.entries({
    string: "text",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    object: "an object",
    array: "a list",
    null: "null",
  }),
);

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
      return "has duplicate items";
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

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;
