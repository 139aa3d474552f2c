/**
 * The variables of an operation against their types, before the executor takes them. It prints the whole value in each of its
 * errors: 7,000 unknown keys of a stranger were 0.5 s of the main thread and an answer of 6 MB. Here each part is looked at
 * once, 20 problems end it, and nothing of a value is repeated but the beginning of a name. What passes, the executor takes.
 */
import {
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  isSpecifiedScalarType,
  typeFromAST,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  type VariableDefinitionNode,
} from "graphql";
import { weighed } from "../../lib/json/weigh.ts";
import { enumerate } from "../../definition/text/problem.ts";
import { badInput, Refusal, shortened, type FieldProblem } from "../../lib/errors.ts";
import { isObject, type Json } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";

/** Throws BAD_USER_INPUT. */
export type VariableCheck = (variables: Record<string, unknown>) => void;

/** Adds the problems of one value. Their paths begin within the value; the caller puts the rest in front. */
type Check = (value: unknown, problems: FieldProblem[]) => void;

const PROBLEMS_SHOWN = 20;

const WORDS: Readonly<Record<string, string>> = {
  Int: "must be a whole number (32 bits)",
  Float: "must be a number",
  String: "must be text",
  Boolean: "must be true or false",
  ID: "must be an id",
};

const nothing: VariableCheck = () => {};

/** `repeats`: of the document (size.ts). */
export type VariableChecks = (
  definitions: readonly VariableDefinitionNode[] | undefined,
  repeats: ReadonlyMap<string, number>,
) => VariableCheck;

/** Each type of the schema is read once. */
export function createVariableChecks(schema: GraphQLSchema): VariableChecks {
  const checks = new Map<GraphQLInputType, Check>();
  const checkOf = (type: GraphQLInputType): Check => {
    let check = checks.get(type);
    if (!check) checks.set(type, (check = compile(type, checkOf)));
    return check;
  };

  return (definitions, repeats) => {
    if (!definitions || definitions.length === 0) return nothing;
    const declared = definitions.map(({ variable, type: node, defaultValue }) => {
      const type = typeFromAST(schema, node) as GraphQLInputType;
      const isRequired = isNonNullType(type) && defaultValue === undefined;
      return { name: variable.name.value, isRequired, check: checkOf(type) };
    });
    const repeated = definitions.flatMap(({ variable: { name }, defaultValue }) => {
      const times = repeats.get(name.value);
      const { start = 0, end = 0 } = defaultValue?.loc ?? {};
      return times === undefined ? [] : [{ name: name.value, times, defaultCharacters: end - start }];
    });
    return (variables) => {
      const problems: FieldProblem[] = [];
      for (const { name, isRequired, check } of declared) {
        if (problems.length >= PROBLEMS_SHOWN) break;
        if (Object.hasOwn(variables, name)) within(name, problems, check, variables[name]);
        else if (isRequired) problems.push(missing(shortened(name)));
      }
      if (problems.length === 0 && repeated.length > 0) holdRepeats(repeated, variables, problems);
      if (problems.length > 0) throw refusalOf(problems);
    };
  };
}

function refusalOf(problems: FieldProblem[]): Refusal {
  const sentences = problems.map(({ path, message }) => `${path} ${message}`);
  return badInput("invalid_variables", `the variables do not fit: ${sentences.join("; ")}`, problems);
}

type Repeated = { name: string; times: number; defaultCharacters: number };

/** A JSON value of literals is written out with its variables: one of 46 kB that stood there 900 times took 5.8 s. */
function holdRepeats(repeated: Repeated[], variables: Record<string, unknown>, problems: FieldProblem[]): void {
  let left: number = LIMITS.bodyBytes;
  for (const { name, times, defaultCharacters } of repeated) {
    const bytes = Object.hasOwn(variables, name)
      ? weighed(variables[name] as Json, left / times, LIMITS.jsonNesting).bytes
      : defaultCharacters;
    left -= times * bytes;
    if (left >= 0) continue;
    const message = `is used ${times} times within values, which makes the variables larger than ${LIMITS.bodyBytes} bytes`;
    return void problems.push({ path: shortened(name), code: "too_large", message });
  }
}

const missing = (path: string): FieldProblem => ({ path, code: "required", message: "is missing" });
const wrongType = (message: string): FieldProblem => ({ path: "", code: "wrong_type", message });

/** Paths are built only for problems, so valid values cost no text. */
function within(name: string | number, problems: FieldProblem[], check: Check, value: unknown): void {
  const before = problems.length;
  check(value, problems);
  for (let index = before; index < problems.length; index++) {
    const problem = problems[index]!;
    problem.path = problem.path === "" ? shortened(String(name)) : `${shortened(String(name))}.${problem.path}`;
  }
}

function compile(type: GraphQLInputType, checkOf: (type: GraphQLInputType) => Check): Check {
  if (isNonNullType(type)) {
    const check = compileNullable(type.ofType, checkOf);
    return (value, problems) => {
      if (value == null) problems.push(wrongType("must not be null"));
      else check(value, problems);
    };
  }
  const check = compileNullable(type, checkOf);
  return (value, problems) => {
    if (value != null) check(value, problems);
  };
}

function compileNullable(type: GraphQLInputType, checkOf: (type: GraphQLInputType) => Check): Check {
  if (isListType(type)) return listCheck(checkOf(type.ofType));
  if (isInputObjectType(type)) return objectCheck(type, checkOf);
  return leafCheck(type as GraphQLLeafType);
}

/** A single value counts as a list of one. */
function listCheck(item: Check, most: number = LIMITS.argumentItems): Check {
  return (value, problems) => {
    if (!Array.isArray(value)) return item(value, problems);
    if (value.length > most) {
      const message = `must have at most ${most} items`;
      return void problems.push({ path: "", code: "too_many", message });
    }
    for (let index = 0; index < value.length && problems.length < PROBLEMS_SHOWN; index++)
      within(index, problems, item, value[index]);
  };
}

/** `extensions.mostItems`: a list that may be longer than others. */
function fieldCheck({ type, extensions }: GraphQLInputField, checkOf: (type: GraphQLInputType) => Check): Check {
  const most = extensions["mostItems"] as number | undefined;
  if (most === undefined || !isListType(type)) return checkOf(type);
  const check = listCheck(checkOf(type.ofType), most);
  return (value, problems) => {
    if (value != null) check(value, problems);
  };
}

function objectCheck(type: GraphQLInputObjectType, checkOf: (type: GraphQLInputType) => Check): Check {
  // A type that may have fields of itself: they are read when one comes.
  let fields: Map<string, { isRequired: boolean; check: Check }> | undefined;
  const read = (): NonNullable<typeof fields> =>
    new Map(
      Object.values(type.getFields()).map((field) => [
        field.name,
        { isRequired: isRequiredInputField(field), check: fieldCheck(field, checkOf) },
      ]),
    );
  return (value, problems) => {
    if (!isObject(value)) return void problems.push(wrongType("must be an object"));
    const given = value as Record<string, unknown>;
    fields ??= read();
    for (const [name, field] of fields) {
      if (Object.hasOwn(given, name)) within(name, problems, field.check, given[name]);
      else if (field.isRequired) problems.push(missing(name));
    }
    if (type.isOneOf) checkOneOf(type, given, problems);
    for (const name in given) {
      if (fields.has(name)) continue;
      if (problems.length >= PROBLEMS_SHOWN) return;
      problems.push({ path: shortened(name), code: "unknown", message: `is not a field of ${type.name}` });
    }
  };
}

function checkOneOf(type: GraphQLInputObjectType, given: object, problems: FieldProblem[]): void {
  const values = Object.values(given);
  if (values.length === 1 && values[0] !== null) return;
  const fields = enumerate(Object.keys(type.getFields()), "or");
  problems.push({ path: "", code: "invalid", message: `must have exactly one field, which is not null: ${fields}` });
}

function leafCheck(type: GraphQLLeafType): Check {
  // GraphQL's own scalars print what they refuse, and none of them accepts an object or a list.
  const isStandard = isEnumType(type) || isSpecifiedScalarType(type);
  const standard = isEnumType(type) ? notAChoice(type) : wrongType(WORDS[type.name] ?? `must be a ${type.name}`);
  return (value, problems) => {
    if (isStandard && typeof value === "object") return void problems.push({ ...standard });
    try {
      if (type.coerceInputValue(value, true) !== undefined) return;
    } catch (error) {
      if (error instanceof Refusal) return void problems.push(wrongType(error.message));
    }
    problems.push({ ...standard });
  };
}

function notAChoice(type: GraphQLEnumType): FieldProblem {
  const names = type.getValues().map(({ name }) => name);
  return { path: "", code: "not_a_choice", message: `must be one of ${names.join(", ")}` };
}
