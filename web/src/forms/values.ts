/** The values of a form's fields, and the object that they make. */
import type { InputFieldType } from "../api/documents.ts";
import { numberOf, type ExactNumber } from "../lib/exact-number.ts";
import { isObject, type Json, type JsonObject } from "../lib/json.ts";

export type FormField = {
  name: string;
  type: InputFieldType;
  title: string;
  description: string | null;
  required: boolean;
  choices: readonly { value: string; title: string }[] | null;
  default: Json;
  /** The length of a text, in characters. */
  maxLength: number | null;
};

/** As people see it: text, also of numbers and of lists (a line each); undefined: nothing was said. */
export type FieldValue = string | boolean | readonly string[] | undefined;
export type Values = { readonly [name: string]: FieldValue };

export const valuesFrom = (fields: readonly FormField[], input?: Json): Values =>
  Object.fromEntries(
    fields.map((field) => [field.name, shownOf(field, isObject(input) ? input[field.name] : field.default)]),
  );

function shownOf({ type, choices }: FormField, value: Json | undefined): FieldValue {
  if (value === null || value === undefined) return undefined;
  if (type === "boolean") return typeof value === "boolean" ? value : undefined;
  if (type !== "list") return typeof value === "string" ? value : JSON.stringify(value);
  if (!Array.isArray(value)) return undefined;
  const texts = value.map((one: Json) => (typeof one === "string" ? one : JSON.stringify(one)));
  return choices ? texts : texts.join("\n");
}

/** The object to send: fields that say nothing are left out. */
export function inputFrom(fields: readonly FormField[], values: Values): JsonObject {
  const pairs = fields.flatMap((field): [string, Json][] => {
    const value = jsonOf(field, values[field.name]);
    return value === undefined ? [] : [[field.name, value]];
  });
  return Object.fromEntries(pairs);
}

/** Whether the form can say all of an input: nothing that it has no field for, and no value that a field cannot show. */
export function canSay(fields: readonly FormField[], input: Json | undefined): boolean {
  if (fields.length === 0) return false;
  if (input === undefined) return true;
  if (!isObject(input)) return false;
  const said = inputFrom(fields, valuesFrom(fields, input));
  return Object.entries(input).every(([name, value]) => JSON.stringify(said[name]) === JSON.stringify(value));
}

function jsonOf({ type }: FormField, value: FieldValue): Json | undefined {
  if (value === undefined || value === "") return undefined;
  if (typeof value !== "string") return typeof value === "boolean" ? value : value.length === 0 ? undefined : value;
  if (type === "list")
    return value
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
  if (type !== "number" && type !== "integer") return value;
  const number = numberIn(value);
  return Number.isNaN(number) ? value : number;
}

/** `1,200.50` and `1200,5` are numbers for those who write them so; NaN if it is none. */
export function numberIn(text: string): number | ExactNumber {
  const plain = text.trim().replace(/(?<=\d)[\s_'](?=\d{3})/g, "");
  if (/^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(plain)) return numberOf(plain.replaceAll(",", ""));
  return plain === "" ? Number.NaN : numberOf(plain.replace(/^([-+]?\d+),(\d+)$/, "$1.$2"));
}

/** The problems that show at a glance; all else the server says, in the same place. */
export function problemOf({ type, required }: FormField, value: FieldValue): string | undefined {
  const isEmpty = value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return required ? "is required" : undefined;
  if ((type === "number" || type === "integer") && typeof value === "string") {
    const number = numberIn(value);
    if (Number.isNaN(number)) return "must be a number";
    if (type === "integer" && !Number.isInteger(Number(number))) return "must be a whole number";
  }
  return undefined;
}
