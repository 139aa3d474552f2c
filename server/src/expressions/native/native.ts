/**
 * Compiles the part of jq that is evaluated in this process to closures. An expression with at most one result becomes an
 * `Evaluate`; one with many (`.[]`, `,`) becomes a `Stream`, and only where it is collected again.
 */
import { ExactNumber, numberIn } from "../../lib/json/exact-number.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { withoutLast } from "../../lib/text.ts";
import { BUILTINS, toString } from "./builtins.ts";
import { lackOf } from "../parsing/given.ts";
import { ARITHMETIC, index, negate, slice } from "./operators.ts";
import { EMPTY, LEFT_TO_JQ, Raised, spend, throwEmpty } from "./signals.ts";
import type { ComparisonOperator, Entry, Node } from "../parsing/syntax.ts";
import {
  atMostOne,
  both,
  chained,
  collected,
  firstOf,
  iterated,
  mapped,
  orElse,
  picked,
  selected,
  summed,
  type Evaluate,
  type Stream,
  type Variables,
} from "./streams.ts";
import { compare, described, equal, isTrue } from "./values.ts";

/** Names of the local variables, innermost last. */
type Names = readonly string[];

export type Native = (data: Json, variables: Variables) => Json;

const NOT_NATIVE = Symbol("not native");

/** The expression as a function; undefined if jq has to evaluate it. */
export function compileNative(node: Node): Native | undefined {
  try {
    const evaluate = single(node, []);
    return (data, variables) => evaluate(data, { variables, local: null, outer: undefined });
  } catch (error) {
    if (error === NOT_NATIVE) return undefined;
    throw error;
  }
}

function refuse(): never {
  throw NOT_NATIVE;
}

function single(node: Node, names: Names): Evaluate {
  switch (node.kind) {
    case "identity":
      return (input) => input;
    case "constant":
      return () => node.value;
    case "number":
      return number(node.text);
    case "variable":
      return variable(node.name, names);
    case "index":
      return indexing(node, names);
    case "slice":
      return slicing(node, names);
    case "negate":
      return negation(single(node.operand, names));
    case "pipe":
      return piped(single(node.left, names), single(node.right, names));
    case "arithmetic":
      return arithmetic(node, names);
    case "comparison":
      return comparison(node.operator, operand(node.left, names), operand(node.right, names));
    case "logical":
      return logical(node, names);
    case "template":
      return template(node, names);
    case "given":
      return given(node, names);
    case "format":
      return node.name === "text" ? toString : refuse();
    case "array":
      return node.body ? collected(stream(node.body, names)) : () => [];
    case "object":
      return object(node.entries, names);
    case "if":
      return condition(node, names);
    case "try":
      return attempt(node, names);
    case "bind":
      return bound(node, names);
    case "reduce":
      return reduction(node, names);
    case "call":
      return call(node, names);
    case "assignment":
    case "break":
    case "comma":
    case "define":
    case "descent":
    case "foreach":
    case "iterate":
    case "label":
      return refuse();
  }
}

// Numbers

/** jq keeps a number as written (1.0, 1e3) until it computes with it; what is not spelled as it would be here is left to jq. */
function number(text: string): Evaluate {
  const value = numberIn(text);
  return String(value) === text ? () => value! : refuse();
}

/** An operand loses its spelling, so any number that a double holds exactly will do. */
function operand(node: Node, names: Names): Evaluate {
  if (node.kind !== "number" || numberIn(node.text) instanceof ExactNumber) return single(node, names);
  const value = Number(node.text);
  return String(value) === plain(node.text) ? () => value : refuse();
}

/** 1.50 → 1.5, 2.0 → 2, .5 → 0.5 */
function plain(text: string): string {
  const trimmed = text.includes(".") && !/e/i.test(text) ? withoutLast(text, "0").replace(/\.$/, "") : text;
  return trimmed.startsWith(".") ? `0${trimmed}` : trimmed;
}

const isRespelled = (node: Node): boolean => node.kind === "number" && String(Number(node.text)) !== node.text;

/** The right side first, as in jq: this decides which of two errors shows. */
function arithmetic(node: Node & { kind: "arithmetic" }, names: Names): Evaluate {
  const operation = ARITHMETIC[node.operator];
  const [left, right] = [operand(node.left, names), operand(node.right, names)];
  if (isRespelled(node.left) || isRespelled(node.right)) return respelled(operation, left, right);
  return (input, scope) => {
    const second = right(input, scope);
    return operation(left(input, scope), second);
  };
}

/** Where such a number passes through unchanged (`1.0 + null`, a division by zero's message), its spelling would show. */
function respelled(operation: (left: Json, right: Json) => Json, left: Evaluate, right: Evaluate): Evaluate {
  return (input, scope) => {
    const second = right(input, scope);
    const first = left(input, scope);
    if (typeof first !== "number" || typeof second !== "number" || Math.trunc(second) === 0) throw LEFT_TO_JQ;
    return operation(first, second);
  };
}

function negation(evaluate: Evaluate): Evaluate {
  return (input, scope) => negate(evaluate(input, scope));
}

const COMPARISONS: Record<ComparisonOperator, (left: Json, right: Json) => boolean> = {
  "==": equal,
  "!=": (left, right) => !equal(left, right),
  "<": (left, right) => compare(left, right) < 0,
  "<=": (left, right) => compare(left, right) <= 0,
  ">": (left, right) => compare(left, right) > 0,
  ">=": (left, right) => compare(left, right) >= 0,
};

function comparison(operator: ComparisonOperator, left: Evaluate, right: Evaluate): Evaluate {
  const holds = COMPARISONS[operator];
  return (input, scope) => {
    const second = right(input, scope);
    return holds(left(input, scope), second);
  };
}

// Paths and variables

function variable(name: string, names: Names): Evaluate {
  const steps = names.length - 1 - names.lastIndexOf(name);
  if (steps === names.length) return (_, { variables }) => variables[name]!;
  return (_, scope) => {
    let at = scope;
    for (let step = steps; step > 0; step--) at = at.outer!;
    return at.local;
  };
}

/** The key is evaluated first, and on the same input as the target. */
function indexing(node: Node & { kind: "index" }, names: Names): Evaluate {
  const target = single(node.target, names);
  const { optional } = node;
  if (node.key.kind === "constant" && !optional) {
    const key = node.key.value;
    return node.target.kind === "identity"
      ? (input) => index(input, key)
      : (input, scope) => index(target(input, scope), key);
  }
  const key = single(node.key, names);
  return (input, scope) => {
    const at = key(input, scope);
    const from = target(input, scope);
    if (typeof at === "string") spend(at.length >> 6);
    if (!optional) return index(from, at);
    spend(2);
    return orEmpty(() => index(from, at));
  };
}

function slicing(node: Node & { kind: "slice" }, names: Names): Evaluate {
  const target = single(node.target, names);
  const from = node.from ? single(node.from, names) : () => null;
  const to = node.to ? single(node.to, names) : () => null;
  const { optional } = node;
  return (input, scope) => {
    const [start, end] = [from(input, scope), to(input, scope)];
    const value = target(input, scope);
    return optional ? orEmpty(() => slice(value, start, end)) : slice(value, start, end);
  };
}

function orEmpty(evaluate: () => Json): Json {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof Raised) throwEmpty();
    throw error;
  }
}

function piped(left: Evaluate, right: Evaluate): Evaluate {
  return (input, scope) => right(left(input, scope), scope);
}

// Logic

function logical(node: Node & { kind: "logical" }, names: Names): Evaluate {
  const [left, right] = [single(node.left, names), single(node.right, names)];
  if (node.operator === "and") return (input, scope) => isTrue(left(input, scope)) && isTrue(right(input, scope));
  if (node.operator === "or") return (input, scope) => isTrue(left(input, scope)) || isTrue(right(input, scope));
  return (input, scope) => {
    const value = orElse(left, input, scope, null)!;
    return isTrue(value) ? value : right(input, scope);
  };
}

function condition(node: Node & { kind: "if" }, names: Names): Evaluate {
  const test = single(node.condition, names);
  const then = single(node.then, names);
  const otherwise: Evaluate = node.otherwise ? single(node.otherwise, names) : (input) => input;
  return (input, scope) => (isTrue(test(input, scope)) ? then : otherwise)(input, scope);
}

function attempt(node: Node & { kind: "try" }, names: Names): Evaluate {
  const body = single(node.body, names);
  const handler = node.handler && single(node.handler, names);
  return (input, scope) => {
    try {
      return body(input, scope);
    } catch (error) {
      if (!(error instanceof Raised)) throw error;
      if (!handler) return throwEmpty();
      return handler(error.value, scope);
    }
  };
}

// Building

/** The last part first, as in jq. */
function template(node: Node & { kind: "template" }, names: Names): Evaluate {
  if (node.format !== "text") return refuse();
  const pieces = node.parts.map((part) => (typeof part === "string" ? part : single(part, names)));
  return (input, scope) => {
    let text = "";
    for (let at = pieces.length - 1; at >= 0; at--) {
      const piece = pieces[at]!;
      text = (typeof piece === "string" ? piece : toString(piece(input, scope))) + text;
    }
    spend(1 + (text.length >> 7));
    return text;
  };
}

/** The same for jq, as the text of given.ts. */
function given({ operand: node, rule }: Node & { kind: "given" }, names: Names): Evaluate {
  const operand = single(node, names);
  return (input, scope) => {
    const value = operand(input, scope);
    const lack = lackOf(value, rule);
    if (lack !== undefined) throw new Raised(`${rule.what} is ${lack}, ${rule.so}`);
    return value;
  };
}

/** A key not known at compile time: with thousands of object shapes, finding each takes 10 µs. */
const NEW_KEY = 100;

function object(entries: Entry[], names: Names): Evaluate {
  const compiled = entries.map(({ key, value }) => {
    if (key.kind === "constant" && key.value === "__proto__") return refuse();
    const name = single(key, names);
    return { name, value: value ? single(value, names) : undefined, isConstant: key.kind === "constant" };
  });
  return (input, scope) => {
    const result: JsonObject = {};
    for (const entry of compiled) {
      const name = entry.name(input, scope);
      const value = entry.value ? entry.value(input, scope) : index(input, name);
      if (typeof name !== "string") throw new Raised(`Cannot use ${described(name)} as object key`);
      if (name === "__proto__") throw LEFT_TO_JQ;
      if (!entry.isConstant) spend(NEW_KEY + (name.length >> 6));
      result[name] = value;
    }
    return result;
  };
}

function bound(node: Node & { kind: "bind" }, names: Names): Evaluate {
  const name = node.pattern.single ?? refuse();
  const source = single(node.source, names);
  const body = single(node.body, [...names, name]);
  return (input, scope) => body(input, { variables: scope.variables, local: source(input, scope), outer: scope });
}

function reduction(node: Node & { kind: "reduce" }, names: Names): Evaluate {
  const name = node.pattern.single ?? refuse();
  const source = stream(node.source, names);
  const start = single(node.start, names);
  const update = single(node.update, [...names, name]);
  const steps = parts(node.update);
  return (input, scope) => {
    let state = start(input, scope);
    source(input, scope, (local) => {
      spend(steps);
      try {
        state = update(state, { variables: scope.variables, local, outer: scope });
      } catch (error) {
        throw error === EMPTY ? LEFT_TO_JQ : error;
      }
    });
    return state;
  };
}

// Calls

function call(node: Node & { kind: "call" }, names: Names): Evaluate {
  const signature = `${node.name}/${node.args.length}`;
  const [first] = node.args;
  if (signature === "map/1") return mapped(stream(first!, names));
  if (signature === "first/1") return firstOf(stream(first!, names));
  if (signature === "add/1") return summed(stream(first!, names));
  if (signature === "select/1") return selected(single(first!, names));
  if (!Object.hasOwn(BUILTINS, signature)) return refuse();
  const builtin = BUILTINS[signature]!;
  if (!first) return (input) => builtin(input);
  const argument = single(first, names);
  return (input, scope) => builtin(input, argument(input, scope));
}

function stream(node: Node, names: Names): Stream {
  if (node.kind === "comma") return both(stream(node.left, names), stream(node.right, names));
  if (node.kind === "pipe") return chained(stream(node.left, names), stream(node.right, names));
  if (node.kind === "iterate") return iterated(stream(node.target, names), node.optional);
  if (node.kind === "index" && node.target.kind !== "identity" && !node.optional && node.key.kind === "constant") {
    const key = node.key.value;
    return chained(stream(node.target, names), (input, _, emit) => {
      spend(1);
      emit(index(input, key));
    });
  }
  if (node.kind === "call") {
    const [first, ...rest] = node.args;
    if (node.name === "empty" && !first) return () => {};
    if (node.name === "select" && first && rest.length === 0) return picked(single(first, names), parts(node));
  }
  return atMostOne(single(node, names), parts(node));
}

/** The tree's number of nodes: the cost of evaluating it once. */
function parts(node: object): number {
  let count = 1;
  for (const child of Object.values(node)) if (typeof child === "object" && child !== null) count += parts(child);
  return count;
}
