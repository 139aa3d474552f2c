import { isObject, parseJson, type Json, type JsonObject } from "../lib/json/json.ts";

/** Finds the JSON object in an answer; some models put it between other words. Undefined if there is none. */
export function objectIn(answer: string): JsonObject | undefined {
  const [from, to] = [answer.indexOf("{"), answer.lastIndexOf("}")];
  try {
    const value = from < 0 ? null : parseJson(answer.slice(from, to + 1), "the answer");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON value that an answer is: alone, or between other words. Undefined if there is none. */
export function valueIn(answer: string): Json | undefined {
  const value = parsed(answer);
  if (value !== undefined) return value;
  const [from, to] = [answer.search(/[[{]/), Math.max(answer.lastIndexOf("}"), answer.lastIndexOf("]"))];
  return from < 0 ? undefined : parsed(answer.slice(from, to + 1));
}

function parsed(text: string): Json | undefined {
  try {
    return parseJson(text, "the answer");
  } catch {
    return undefined;
  }
}
