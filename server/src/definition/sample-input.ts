/** An input that fits a form, for a command that somebody copies: only what must be given. */
import type { Json, JsonObject } from "../lib/json/json.ts";
import { inputFields, propertiesOf, type FormField } from "./form.ts";

/** Whoever wants more writes it. */
const MOST_CHARACTERS = 200;

/** `today`: as 2026-11-21. `schema`: has passed the linter. A text that must be longer than 200 characters is shorter. */
export function sampleInput(schema: JsonObject | undefined, today: string): JsonObject {
  const properties = propertiesOf(schema);
  const needed = inputFields(schema).filter((field) => field.required && field.default === null);
  return Object.fromEntries(needed.map((field) => [field.name, valueOf(field, properties[field.name]!, today)]));
}

function valueOf({ type, choices }: Pick<FormField, "type" | "choices">, schema: JsonObject, today: string): Json {
  const limit = (name: string): number | undefined => (typeof schema[name] === "number" ? schema[name] : undefined);
  switch (type) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return Math.min(Math.max(1, limit("minimum") ?? 1), limit("maximum") ?? Infinity);
    case "date":
      return today;
    case "choice":
      return choices?.[0]?.value ?? "";
    case "text":
      return "example".padEnd(Math.min(limit("minLength") ?? 0, MOST_CHARACTERS), ".").slice(0, limit("maxLength"));
    case "list":
      return (choices ?? [{ value: "example" }])
        .slice(0, Math.max(1, limit("minItems") ?? 1))
        .map(({ value }) => value);
  }
}
