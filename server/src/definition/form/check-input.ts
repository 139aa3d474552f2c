/** Checks an input against the form: nothing is converted, unknown keys are refused (for webhooks: dropped), and defaults are filled in. */
import { isObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { badInput, shortened, type FieldProblem, type Refusal } from "../../lib/errors.ts";
import { LIMITS } from "../../lib/limits.ts";
import { hint } from "../../lib/did-you-mean.ts";
import { compileField, type FieldCheck } from "./field-check.ts";
import { propertiesOf } from "./form.ts";
import { quote } from "../text/problem.ts";

type CheckedInput = { value: JsonObject; problems?: undefined } | { value?: undefined; problems: FieldProblem[] };

/** `unknown: "drop"`: webhook senders include dozens of keys that the form does not know. */
export type InputOptions = { unknown?: "refuse" | "drop" };

type Field = { name: string; check: FieldCheck; default: Json | undefined; isRequired: boolean };

/** Keyed by the schema object of a parsed definition, which lives as long as its version is in memory. */
const compiled = new WeakMap<JsonObject, Field[]>();

/** `path` is the prefix of the fields' paths. Without a schema, any JSON object is accepted. */
export function checkInput(
  schema: JsonObject | undefined,
  input: Json,
  path = "input",
  options: InputOptions = {},
): CheckedInput {
  if (!isObject(input)) return { problems: [{ path, code: "wrong_type", message: "must be an object" }] };
  if (schema === undefined) return { value: input };
  let fields = compiled.get(schema);
  if (!fields) compiled.set(schema, (fields = compile(schema)));

  const value: JsonObject = {};
  const problems: FieldProblem[] = [];
  let taken = 0;
  for (const field of fields) {
    if (Object.hasOwn(input, field.name)) {
      taken++;
      const given = (value[field.name] = input[field.name]!);
      const refusal = field.check(given);
      if (refusal)
        problems.push({
          path: `${path}.${field.name}${refusal.path ?? ""}`,
          code: refusal.code,
          message: refusal.message,
        });
    } else if (field.default !== undefined) value[field.name] = field.default;
    else if (field.isRequired)
      problems.push({ path: `${path}.${field.name}`, code: "required", message: "is missing" });
  }
  if (options.unknown !== "drop" && Object.keys(input).length > taken)
    problems.push(...unknownFields(fields, input, path));
  return problems.length === 0 ? { value } : { problems };
}

/** The message names at most this many fields; `extensions.fields` has them all. */
const FIELDS_NAMED = 10;

/** `the input does not fit the agent's form: n: must be a number; m: is missing`. `path` is that of `checkInput`. */
export function misfitOf(sentence: string, problems: FieldProblem[], path: string): Refusal {
  const named = problems.slice(0, FIELDS_NAMED).map((problem) => {
    const field = shortened(problem.path.slice(path.length + 1));
    return field === "" ? problem.message : `${field}: ${problem.message}`;
  });
  return badInput("invalid_input", `${sentence}: ${named.join("; ")}`, problems);
}

function compile(schema: JsonObject): Field[] {
  const required = schema["required"];
  return Object.entries(propertiesOf(schema)).map(([name, field]) => ({
    name,
    check: compileField(field),
    default: field["default"],
    isRequired: Array.isArray(required) && required.includes(name),
  }));
}

function unknownFields(fields: Field[], input: JsonObject, path: string): FieldProblem[] {
  const names = fields.map(({ name }) => name);
  const known = new Set(names);
  return Object.keys(input)
    .filter((key) => !known.has(key))
    .slice(0, LIMITS.formFields)
    .map((key) => ({
      path: `${path}.${key}`,
      code: "unknown",
      message: `there is no field ${quote(key)}${hint(key, names)}`,
    }));
}
