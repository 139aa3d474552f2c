/** The filter of an event trigger as lines of a form: a field of the event's data, and the texts that are accepted of it. */
import { isObject, parseJson } from "../../../../lib/json.ts";

export type FilterLine = { field: string; values: string[] };

/** Undefined: only JSON can say it, such as numbers or a text that is none. */
export function linesIn(text: string): FilterLine[] | undefined {
  if (text.trim() === "") return [];
  try {
    const filter = parseJson(text);
    if (!isObject(filter)) return undefined;
    const lines = Object.entries(filter).map(([field, values]) => ({ field, values: values as string[] }));
    const areTexts = lines.every(
      ({ values }) => Array.isArray(values) && values.every((one) => typeof one === "string"),
    );
    return areTexts ? lines : undefined;
  } catch {
    return undefined;
  }
}

/** A line without a field and without values is one that nobody has filled in yet. */
export function textOf(lines: readonly FilterLine[]): string {
  const said = lines.filter(({ field, values }) => field.trim() !== "" || values.length > 0);
  if (said.length === 0) return "";
  return JSON.stringify(Object.fromEntries(said.map(({ field, values }) => [field.trim(), values])), null, 2);
}
