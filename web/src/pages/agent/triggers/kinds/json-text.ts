import { Refusal } from "../../../../api/refusal.ts";
import { parseJson, problemInJson, type Json } from "../../../../lib/json.ts";

export const jsonText = (value: unknown): string =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

/** The JSON in a field of the form, undefined if it is empty. Throws a Refusal for text that is not JSON. */
export function jsonIn(name: "input" | "filter", text: string): Json | undefined {
  const problem = problemInJson(text);
  if (problem) {
    const field = { path: `input.trigger.${name}`, code: "invalid", message: problem };
    throw new Refusal(`The ${name} ${problem}.`, { code: "BAD_USER_INPUT", fields: [field] });
  }
  return text.trim() === "" ? undefined : parseJson(text);
}
