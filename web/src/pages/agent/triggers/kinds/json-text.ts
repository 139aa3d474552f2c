import { Refusal } from "../../../../api/refusal.ts";
import { parseJson, type Json } from "../../../../lib/json.ts";

export const jsonText = (value: unknown): string =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

/** The JSON in a field of the form, undefined if it is empty. Throws a Refusal for text that is not JSON. */
export function jsonIn(name: "input" | "filter", text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  try {
    return parseJson(text);
  } catch {
    throw new Refusal(`The ${name} is not JSON.`, {
      code: "BAD_USER_INPUT",
      fields: [{ path: `input.trigger.${name}`, code: "invalid", message: "is not JSON" }],
    });
  }
}
