/**
 * The form: `input.schema.document` as one flat object that people can fill in. An approval's answer has one, too.
 */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { isObject } from "../../lib/json/json.ts";

export type FormField = {
  name: string;
  type: "text" | "choice" | "date" | "boolean" | "number" | "integer" | "list";
  /** The field's name if its author gave none. */
  title: string;
  description: string | null;
  required: boolean;
  /** For a choice, and for a list of choices; otherwise null. */
  choices: Choice[] | null;
  /** The value if the field is left out; null: none. */
  default: Json;
  /** A text's maximum in characters; null: no maximum of its own. */
  maxLength: number | null;
};
export type Choice = { value: string; title: string };

/** The fields in the order of the document. `schema` has passed the linter; without one there are no fields. */
export function inputFields(schema: JsonObject | undefined): FormField[] {
  const required = schema?.["required"];
  return Object.entries(propertiesOf(schema)).map(([name, field]) => ({
    name,
    type: typeOfField(field),
    title: textOf(field["title"]) ?? name,
    description: textOf(field["description"]) ?? null,
    required: Array.isArray(required) && required.includes(name),
    choices: choicesOf(isObject(field["items"]) ? field["items"] : field),
    default: field["default"] ?? null,
    maxLength: field["type"] === "string" && typeof field["maxLength"] === "number" ? field["maxLength"] : null,
  }));
}

export function propertiesOf(schema: JsonObject | undefined): Record<string, JsonObject> {
  const properties = schema?.["properties"];
  return isObject(properties) ? (properties as Record<string, JsonObject>) : {};
}

export function typeOfField(field: JsonObject): FormField["type"] {
  const type = field["type"];
  if (type === "array") return "list";
  if (type === "boolean" || type === "number" || type === "integer") return type;
  if (field["enum"] !== undefined || field["oneOf"] !== undefined) return "choice";
  return field["format"] === "date" ? "date" : "text";
}

/** `enum: [a, b]` or `oneOf: [{const: a, title: A}]`. */
export function choicesOf(field: JsonObject): Choice[] | null {
  if (Array.isArray(field["enum"]))
    return field["enum"].map((value) => ({ value: String(value), title: String(value) }));
  if (!Array.isArray(field["oneOf"])) return null;
  return field["oneOf"].filter(isObject).map((choice) => {
    const value = String(choice["const"]);
    return { value, title: textOf(choice["title"]) ?? value };
  });
}

const textOf = (value: Json | undefined): string | undefined => (typeof value === "string" ? value : undefined);
