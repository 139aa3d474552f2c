/** The input of `autograph run`: a JSON text or file, and `key=value` pairs read as the agent's form wants them. */
import type { FormField } from "../../definition/form/form.ts";
import { messageOf, OperatorError } from "../../lib/errors.ts";
import { isObject, parseJson, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { CommandLine } from "./command-line.ts";
import { nameOf, readGiven } from "./given-file.ts";

export type FieldType = Pick<FormField, "name" | "type">;

type GivenInput = {
  text?: string | undefined;
  /** The option that the text was given with. */
  option?: string;
  /** `-` is stdin. */ file?: string | undefined;
  pairs: readonly string[];
};

/** Pairs win over the same keys of the text. Throws OperatorError; the server decides whether it fits the form. */
export async function readInput(
  line: CommandLine,
  { text, file, pairs, option = "--input" }: GivenInput,
  fields: readonly FieldType[],
): Promise<JsonObject> {
  if (text !== undefined && file !== undefined) throw new OperatorError("give --input or --input-file, not both");
  const source = file === undefined ? option : nameOf(file);
  const json = file === undefined ? text : await readText(line, file);
  const base = json === undefined ? {} : parseObject(json, source);
  return { ...base, ...readPairs(pairs, fields) };
}

async function readText(line: CommandLine, file: string): Promise<string> {
  try {
    const bytes = await readGiven(line, file, LIMITS.bodyBytes);
    if (!bytes) throw new Error(`more than ${LIMITS.inputBytes / 1000} kB`);
    return bytes.toString();
  } catch (error) {
    throw new OperatorError(`the input can't be read from ${nameOf(file)}: ${messageOf(error)}`);
  }
}

function parseObject(text: string, source: string): JsonObject {
  if (text.length > LIMITS.bodyBytes)
    throw new OperatorError(`${source} is larger than the ${LIMITS.inputBytes / 1000} kB an input may have`);
  const value = parseJson(text, source);
  if (isObject(value)) return value;
  throw new OperatorError(`${source} must be a JSON object like {"n": 1}`);
}

/** `key=value`; the same key of a list again adds to the list. */
function readPairs(pairs: readonly string[], fields: readonly FieldType[]): JsonObject {
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  const input: JsonObject = Object.create(null) as JsonObject;
  for (const pair of pairs) {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) throw new OperatorError(`${JSON.stringify(pair)} is not of the form key=value`);
    const value = valueOf(key, text!, types.get(key));
    const before = input[key];
    if (before === undefined) input[key] = value;
    else if (Array.isArray(before) && Array.isArray(value)) input[key] = [...before, ...value];
    else throw new OperatorError(`${key} is given twice`);
  }
  return input;
}

/** A field that the form does not name, and every field of an agent without a form, is text. */
function valueOf(key: string, text: string, type: FieldType["type"] | undefined): Json {
  if (type === "list") return text.startsWith("[") ? parseJson(text, key) : [text];
  if (type === "number" || type === "integer") return /^-?\d/.test(text) ? parseJson(text, key) : text;
  if (type === "boolean") return text === "true" || (text === "false" ? false : text);
  return text;
}
