import type { FormField } from "../../definition/form/form.ts";
import type { Json } from "../../lib/json/json.ts";
import { plainText } from "./terminal.ts";

/** A `FormField`, as the API answers it. */
export const FORM_FIELD = "name type title description required default choices { value title }";

/** In thousandths. */
const CHOICES_SHOWN = 20;

/** `How fast (rush, normal; by default normal)`: the values are what `key=value` takes. */
export function titleOf(field: FormField): string {
  const choices = field.choices?.map(({ value }) => value) ?? [];
  const more = choices.length > CHOICES_SHOWN ? ", …" : "";
  const notes = [
    ...(choices.length > 0 ? [choices.slice(0, CHOICES_SHOWN).join(", ") + more] : []),
    ...(field.default === null ? [] : [`by default ${textOf(field.default)}`]),
  ];
  return plainText(notes.length === 0 ? field.title : `${field.title} (${notes.join("; ")})`);
}

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));
