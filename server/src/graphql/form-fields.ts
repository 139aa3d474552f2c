/** The fields of a form: how many values they are is known when they are there, not from the query. */
import { inputFields, type FormField } from "../definition/form.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Context } from "./context.ts";

/** What a field and a choice have of fields. */
const FIELD_VALUES = 7;
const CHOICE_VALUES = 3;

export function fieldsOf({ size }: Context, schema: JsonObject | undefined): FormField[] {
  const fields = inputFields(schema);
  const choices = fields.reduce((sum, field) => sum + (field.choices?.length ?? 0), 0);
  size.addValues(fields.length * FIELD_VALUES + choices * CHOICE_VALUES);
  return fields;
}
