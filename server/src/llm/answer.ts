import { isObject, parseJson, type JsonObject } from "../lib/json/json.ts";

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
