/** Finds expressions and texts that are allowed but probably a mistake. */
import { expressionIn } from "../../expressions/template.ts";
import type { Node } from "../../expressions/parsing/syntax.ts";
import { isFields, type Shape } from "./shape.ts";
import type { Variables } from "./shape-of-expression.ts";

/** Why a condition always has the same result, or undefined. */
export function sameResult(node: Node): string | undefined {
  if (assigns(node)) return "this assigns a value, which always counts as true; write == to compare";
  if (isConstant(node)) return "this condition refers to no data, so its result is always the same";
  return undefined;
}

function assigns(node: Node): boolean {
  if (node.kind === "assignment") return true;
  if (node.kind === "pipe") return assigns(node.right);
  return node.kind === "logical" && (assigns(node.left) || assigns(node.right));
}

function isConstant(node: Node): boolean {
  if (node.kind === "constant" || node.kind === "number") return true;
  if (node.kind === "negate") return isConstant(node.operand);
  if (node.kind === "array") return node.body === undefined || isConstant(node.body);
  if (node.kind === "object") {
    return node.entries.every(({ key, value }) => value !== undefined && isConstant(key) && isConstant(value));
  }
  return JOINS.has(node.kind) && "left" in node && isConstant(node.left) && isConstant(node.right);
}

const JOINS: ReadonlySet<Node["kind"]> = new Set(["arithmetic", "comma", "comparison", "logical"]);

/** Names of fields and variables, as in `.order.id` and `$input.id`. */
const PATH = /^(\$[A-Za-z_]\w{0,62})?((?:\.[A-Za-z_]\w{0,62}){0,16})$/;
/** A placeholder, which only endpoints have. */
const NAME = /\{(\w{1,64})\}/g;
const BRACES = /\{\{[^{}]{1,100}\}\}/;
const INTERPOLATION = /\\\([.$]/;

/** Why a plain text looks like an expression, or undefined. A path counts only if its name is known. */
export function unmeantText(text: string, data: Shape, variables: Variables): string | undefined {
  if (expressionIn(text) !== undefined) return undefined;
  const written = text.trim();
  const [, variable, path] = PATH.exec(written) ?? [];
  const field = path?.split(".")[1];
  const isKnown = variable ? variables.has(variable.slice(1)) : field !== undefined && hasField(data, field);
  if (isKnown) return `this is a text, not an expression; write \${ ${written} } for its value`;
  for (const [whole, name] of text.matchAll(NAME)) {
    if (hasField(data, name!)) return `${whole} is filled in only in an endpoint; write one expression with .${name}`;
  }
  if (BRACES.test(text)) return '{{ }} is not filled in; write one expression, such as ${ "Hello \\(.name)" }';
  if (INTERPOLATION.test(text)) return '\\( ) is filled in only within an expression, such as ${ "Hello \\(.name)" }';
  return undefined;
}

const hasField = (shape: Shape, name: string): boolean => isFields(shape) && shape.fields.has(name);
