/** The values of a form's fields, and the object that they make. */
import type { InputFieldType } from "../api/documents.ts";
import { isObject, type Json, type JsonObject } from "../lib/json.ts";
import { FIELD_TYPES, type FieldValue } from "./field-types.ts";

export type { FieldValue };

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

export type Values = { readonly [name: string]: FieldValue };

export const valuesFrom = (fields: readonly FormField[], input?: Json): Values =>
  Object.fromEntries(
    fields.map((field) => [field.name, shownOf(field, isObject(input) ? input[field.name] : field.default)]),
  );

function shownOf({ type, choices }: FormField, value: Json | undefined): FieldValue {
  return value === null || value === undefined ? undefined : FIELD_TYPES[type].shown(value, choices !== null);
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
  return FIELD_TYPES[type].sent(value);
}

/** The problems that show at a glance; all else the server says, in the same place. */
export function problemOf({ type, required }: FormField, value: FieldValue): string | undefined {
  const isEmpty = value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return required ? "is required" : undefined;
  return typeof value === "string" ? FIELD_TYPES[type].problem?.(value) : undefined;
}
