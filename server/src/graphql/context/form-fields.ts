/** The fields of a form. How many values they are is known only once they are read, not from the query. */
import { inputFields, type FormField } from "../../definition/form/form.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Context } from "./context.ts";

/** How many fields a form field and a choice have. */
const FIELD_VALUES = 8;
const CHOICE_VALUES = 3;

export function fieldsOf({ size }: Context, schema: JsonObject | undefined): FormField[] {
  const fields = inputFields(schema);
  const choices = fields.reduce((sum, field) => sum + (field.choices?.length ?? 0), 0);
  size.addValues(fields.length * FIELD_VALUES + choices * CHOICE_VALUES);
  return fields;
}
