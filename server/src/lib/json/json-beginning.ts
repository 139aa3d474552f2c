/** Reads the beginning of a JSON object whose text was cut somewhere. */
import { LIMITS } from "../limits.ts";
import { parseStored, type Json, type JsonObject } from "./json.ts";

/** The object's first members, no more than a form has, as far as they are there; a text that was cut is as long as it is. None of what is no object. */
export function membersAtStart(text: string): Map<string, Json> {
  const members = new Map<string, Json>();
  if (!text.startsWith("{")) return members;
  let depth = 0;
  let isInText = false;
  let from = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInText) {
      if (character === "\\") at++;
      else if (character === '"') isInText = false;
      continue;
    }
    if (character === '"') isInText = true;
    else if (character === "{" || character === "[") depth++;
    else if (character === "}" || character === "]") depth--;
    const isEnd = (character === "," && depth === 1) || depth === 0;
    if (!isEnd) continue;
    add(members, text.slice(from, at));
    if (members.size >= LIMITS.formFields) return members;
    from = at + 1;
  }
  // Close the text in which the last member was cut.
  if (isInText && depth === 1) add(members, `${text.slice(from).replace(/\\(?:u[\da-f]{0,3})?$/i, "")}"`);
  return members;
}

function add(members: Map<string, Json>, member: string): void {
  try {
    for (const [name, value] of Object.entries(parseStored(`{${member}}`) as JsonObject)) members.set(name, value);
  } catch {
    // The member was cut within its name.
  }
}
