/** Makes an input that fits a form, for a command to copy: required fields only. */
import { compareNumbers, isMultiple, isWhole, type ExactNumber } from "../../lib/json/exact-number.ts";
import { isNumber, isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { inputFields, propertiesOf, type FormField } from "./form.ts";

/** Limits of a sample that people still copy. */
const MAX_CHARACTERS = 200;
const MAX_ITEMS = 20;

/**
 * `today`: as 2026-11-21. `schema` has passed the linter. Texts and lists are cut at these
 * limits, so the sample does not fit a form that requires longer ones.
 */
export function sampleInput(schema: JsonObject | undefined, today: string): JsonObject {
  const properties = propertiesOf(schema);
  const needed = inputFields(schema).filter((field) => field.required && field.default === null);
  return Object.fromEntries(needed.map((field) => [field.name, valueOf(field, properties[field.name]!, today)]));
}

type Limit = (name: string) => number | ExactNumber | undefined;

function valueOf({ type, choices }: Pick<FormField, "type" | "choices">, schema: JsonObject, today: string): Json {
  const limit: Limit = (name) => (isNumber(schema[name]) ? schema[name] : undefined);
  switch (type) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return numberOf(limit, type === "integer");
    case "date":
      return today;
    case "choice":
      return choices?.[0]?.value ?? "";
    case "text":
      return textOf(schema);
    case "list": {
      const count = Math.min(Math.max(1, Number(limit("minItems") ?? 1)), MAX_ITEMS);
      if (choices) return choices.slice(0, count).map(({ value }) => value);
      const { items } = schema;
      return Array.from({ length: count }, (_, index) => textOf(isObject(items) ? items : {}, index));
    }
  }
}

/** Items of a list differ in their first characters. */
function textOf({ minLength, maxLength }: JsonObject, index = 0): string {
  const text = index === 0 ? "example" : `${index + 1} example`;
  const least = typeof minLength === "number" ? Math.min(minLength, MAX_CHARACTERS) : 0;
  return text.padEnd(least, ".").slice(0, typeof maxLength === "number" ? maxLength : undefined);
}

/** 1, or the first number near a limit that satisfies all limits. */
function numberOf(limit: Limit, isInteger: boolean): number | ExactNumber {
  const [least, most] = [limit("minimum"), limit("maximum")];
  const [above, below] = [limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  const step = limit("multipleOf") ?? (isInteger ? 1 : 0);
  const fits = (value: number | ExactNumber): boolean =>
    (least === undefined || compareNumbers(value, least) >= 0) &&
    (above === undefined || compareNumbers(value, above) > 0) &&
    (most === undefined || compareNumbers(value, most) <= 0) &&
    (below === undefined || compareNumbers(value, below) < 0) &&
    (step === 0 || isMultiple(value, step)) &&
    (!isInteger || isWhole(value));
  const [low, high] = [least ?? above, most ?? below].map((end) => (end === undefined ? undefined : Number(end)));
  const near = [low, high].flatMap((end) => (end === undefined ? [] : [end, end + 1, end - 1]));
  const between = low !== undefined && high !== undefined ? [(low + high) / 2] : [];
  const stepped = step === 0 ? [] : [low ?? 0, high ?? 0].flatMap((end) => steps(end, Number(step)));
  const written = [least, most].filter((end) => end !== undefined);
  return [1, step, ...written, ...near, ...between, ...stepped].find(fits) ?? 1;
}

const steps = (end: number, step: number): number[] =>
  [Math.ceil(end / step), Math.floor(end / step)].flatMap((count) => [
    count * step,
    (count + 1) * step,
    (count - 1) * step,
  ]);
