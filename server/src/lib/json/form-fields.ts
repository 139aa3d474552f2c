/** Reads an HTML form (WHATWG URL, `application/x-www-form-urlencoded`) or a URL's query as JSON. */
import { badInput } from "../errors.ts";
import { isObject, parseJson, type JsonObject } from "./json.ts";
import { LIMITS } from "../limits.ts";

/**
 * Every value is a text, or a list of texts in order if the name repeats. `what` names the text in a sentence. Throws
 * BAD_USER_INPUT for too many fields, for a field that is not percent-encoded UTF-8, and for names that the JSON entrance refuses.
 */
export function readFormFields(text: string, what: string): JsonObject {
  const fields = new Map<string, string | string[]>();
  const pairs = text.split("&", LIMITS.formBodyFields + 1);
  if (pairs.length > LIMITS.formBodyFields)
    throw badInput("invalid_input", `${what} has more than ${LIMITS.formBodyFields} fields`);
  for (const [index, pair] of pairs.entries()) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const [name, value] = [at < 0 ? pair : pair.slice(0, at), at < 0 ? "" : pair.slice(at + 1)].map((part) =>
      decoded(part, what, index + 1),
    ) as [string, string];
    const before = fields.get(name);
    if (before === undefined) fields.set(name, value);
    else if (typeof before === "string") fields.set(name, [before, value]);
    else before.push(value);
  }
  const members = [...fields].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const read = parseJson(`{${members.join(",")}}`, what);
  return isObject(read) ? read : {};
}

function decoded(part: string, what: string, place: number): string {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch {
    throw badInput("invalid_input", `${what} is not percent-encoded UTF-8 in its field ${place}`);
  }
}
