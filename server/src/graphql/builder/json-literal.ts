/** Reads a literal of the scalar JSON as `parseJson` reads a variable, with the digits as written. */
import { Kind, type ObjectValueNode, type ValueNode } from "graphql";
import { badInput, shortened, type Refusal } from "../../lib/errors.ts";
import { numberOf } from "../../lib/json/exact-number.ts";
import { forbiddenKey, isForbidden, isScalar, type Json, type JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";

type Variables = { readonly [name: string]: unknown } | null | undefined;

export const jsonOfLiteral = (node: ValueNode, variables: Variables): Json => read(node, variables, []) ?? null;

const WHAT = "the value";

/** Undefined for a variable that is not given. */
function read(node: ValueNode, variables: Variables, path: string[]): Json | undefined {
  if (path.length > LIMITS.jsonNesting) throw tooDeep();
  switch (node.kind) {
    case Kind.NULL:
      return null;
    case Kind.INT:
    case Kind.FLOAT:
      return numberAt(node.value, path);
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value;
    case Kind.LIST:
      return node.values.map((item, index) => read(item, variables, [...path, `${index}`]) ?? null);
    case Kind.OBJECT:
      return objectOf(node, variables, path);
    case Kind.VARIABLE:
      return within(variables?.[node.name.value] as Json | undefined, LIMITS.jsonNesting - path.length);
  }
}

const tooDeep = (): Refusal => badInput("invalid_input", `${WHAT} is nested deeper than ${LIMITS.jsonNesting} levels`);

/** A variable's value where so many levels are left. */
function within(value: Json | undefined, levels: number): Json | undefined {
  if (value !== undefined && levelsOf(value) > levels) throw tooDeep();
  return value;
}

/** Values that are asked for again: a literal may name a variable a thousand times. */
const LEVELS = new WeakMap<object, number>();

function levelsOf(value: Json): number {
  if (isScalar(value)) return 0;
  const levels = LEVELS.get(value) ?? nestingOf(value);
  LEVELS.set(value, levels);
  return levels;
}

/** `{}` has one level. How many there are was bounded when it came in. */
function nestingOf(value: Json): number {
  if (isScalar(value)) return 0;
  let deepest = 0;
  for (const child of Object.values(value)) deepest = Math.max(deepest, nestingOf(child));
  return deepest + 1;
}

function objectOf(node: ObjectValueNode, variables: Variables, path: string[]): JsonObject {
  const object: JsonObject = {};
  for (const { name, value } of node.fields) {
    const child = read(value, variables, [...path, name.value]);
    if (isForbidden(name.value, child ?? null)) throw forbiddenKey(WHAT);
    if (child !== undefined) object[name.value] = child;
  }
  return object;
}

function numberAt(text: string, path: string[]): Json {
  try {
    return numberOf(text)!;
  } catch (error) {
    const place = path.join(".");
    throw badInput(
      "invalid_input",
      `${WHAT} has ${(error as RangeError).message}${place && ` at ${shortened(place)}`}`,
      [{ path: place, code: "out_of_range", message: "has more digits than can be kept" }],
    );
  }
}
