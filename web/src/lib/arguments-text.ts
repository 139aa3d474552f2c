import { showInvisibleInJson } from "./invisible.ts";

const SHOWN_CHARACTERS = 80;

/** The beginning of a tool call's arguments, for its line; a text if the model wrote no JSON object. */
export function argumentsText(given: unknown): string {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  if (text === "{}") return "";
  return `${showInvisibleInJson(text.slice(0, SHOWN_CHARACTERS))}${text.length > SHOWN_CHARACTERS ? "…" : ""}`;
}
