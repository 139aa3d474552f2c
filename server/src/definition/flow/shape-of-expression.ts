/** The shape of an expression's result, as far as it is known; reports fields it reads that cannot exist. */
import { hint } from "../../lib/did-you-mean.ts";
import type { Node } from "../../expressions/parsing/syntax.ts";
import { isFields, type Shape, type Shapes } from "./shape.ts";

export type Variables = ReadonlyMap<string, Shape>;
/** The sentence is made only for a finding that is kept: a hint compares the name with 500 others. */
export type Report = (message: () => string) => void;

type Local = { name: string; shape: Shape; outer: Local | undefined };
type Scope = {
  data: Shape;
  variables: Variables;
  locals: Local | undefined;
  shapes: Shapes;
  /** Undefined where the author says that a field may be missing: before `//` and `?`. */
  report: Report | undefined;
};

type NodeOf<Kind extends Node["kind"]> = Node & { kind: Kind };

export function shapeOfExpression(
  node: Node,
  data: Shape,
  variables: Variables,
  shapes: Shapes,
  report: Report | undefined,
): Shape {
  return shapeOf(node, { data, variables, locals: undefined, shapes, report });
}

function shapeOf(node: Node, scope: Scope): Shape {
  switch (node.kind) {
    case "identity":
      return scope.data;
    case "variable":
      return variable(node.name, scope);
    case "index":
      return indexed(node, scope);
    case "object":
      return object(node, scope);
    case "pipe":
      return shapeOf(node.right, { ...scope, data: shapeOf(node.left, scope) });
    case "comma":
      return scope.shapes.union(shapeOf(node.left, scope), shapeOf(node.right, scope));
    case "arithmetic":
      return arithmetic(node, scope);
    case "logical":
      if (node.operator !== "//") return visit(scope, node.left, node.right);
      return scope.shapes.union(shapeOf(node.left, { ...scope, report: undefined }), shapeOf(node.right, scope));
    case "if":
      return either(node, scope);
    case "try":
      return attempt(node, scope);
    case "bind":
      return binding(node, scope);
    case "reduce":
    case "foreach":
      return fold(node, scope);
    case "define":
      return definition(node, scope);
    case "label":
      return shapeOf(node.body, scope);
    case "call":
      // The data that a function gives to its arguments is not known.
      return visit({ ...scope, data: "any" }, ...node.args);
    case "assignment":
      // The left side may name a new field.
      return visit(node.operator === "|=" ? { ...scope, data: "any" } : scope, node.right);
    case "template":
      return visit(scope, ...node.parts.filter((part) => typeof part !== "string"));
    case "array":
      return visit(scope, node.body);
    case "negate":
    case "given":
      return visit(scope, node.operand);
    case "comparison":
      return visit(scope, node.left, node.right);
    case "slice":
      return visit(scope, node.target, node.from, node.to);
    case "iterate":
      return visit(scope, node.target);
    case "break":
    case "constant":
    case "descent":
    case "format":
    case "number":
      return "any";
  }
}

function visit(scope: Scope, ...nodes: (Node | undefined)[]): "any" {
  for (const node of nodes) if (node) shapeOf(node, scope);
  return "any";
}

const hidden = (names: readonly string[], { locals }: Scope): Local | undefined =>
  names.reduce<Local | undefined>((outer, name) => ({ name, shape: "any", outer }), locals);

function arithmetic(node: NodeOf<"arithmetic">, scope: Scope): Shape {
  const [left, right] = [shapeOf(node.left, scope), shapeOf(node.right, scope)];
  return node.operator === "+" || node.operator === "*" ? scope.shapes.union(left, right) : "any";
}

function either({ condition, then, otherwise }: NodeOf<"if">, scope: Scope): Shape {
  shapeOf(condition, scope);
  return scope.shapes.union(shapeOf(then, scope), otherwise ? shapeOf(otherwise, scope) : scope.data);
}

function attempt({ body, handler }: NodeOf<"try">, scope: Scope): Shape {
  const tried = shapeOf(body, { ...scope, report: undefined });
  return handler ? scope.shapes.union(tried, shapeOf(handler, { ...scope, data: "any" })) : tried;
}

function binding({ source, pattern, body }: NodeOf<"bind">, scope: Scope): Shape {
  const shape = shapeOf(source, scope);
  const locals = pattern.names.reduce<Local | undefined>(
    (outer, name) => ({ name, shape: name === pattern.single ? shape : "any", outer }),
    scope.locals,
  );
  return shapeOf(body, { ...scope, locals });
}

function fold(node: NodeOf<"reduce"> | NodeOf<"foreach">, scope: Scope): Shape {
  visit(scope, node.source, node.start);
  const inner: Scope = { ...scope, data: "any", locals: hidden(node.pattern.names, scope) };
  return visit(inner, node.update, node.kind === "foreach" ? node.extract : undefined);
}

function definition(node: NodeOf<"define">, scope: Scope): Shape {
  const parameters = node.parameters.filter(({ isValue }) => isValue).map(({ name }) => name);
  visit({ ...scope, data: "any", locals: hidden(parameters, scope) }, node.definition);
  return shapeOf(node.body, scope);
}

function variable(name: string, { locals, variables }: Scope): Shape {
  for (let local = locals; local; local = local.outer) if (local.name === name) return local.shape;
  return variables.get(name) ?? "any";
}

function indexed(node: NodeOf<"index">, scope: Scope): Shape {
  const within = node.optional ? { ...scope, report: undefined } : scope;
  const target = shapeOf(node.target, within);
  if (node.key.kind !== "constant" || typeof node.key.value !== "string") return visit(scope, node.key);
  return fieldOf(target, node.key.value, within.report, () => textOf(node));
}

/** Reports a field that cannot be there. `shown` is how the author wrote it. */
export function fieldOf(target: Shape, name: string, report: Report | undefined, shown: () => string): Shape {
  if (!isFields(target)) return "any";
  const shape = target.fields.get(name);
  if (shape === undefined) report?.(() => `${shown()} is not known here${hint(name, target.fields.keys().toArray())}`);
  return shape ?? "any";
}

function object(node: NodeOf<"object">, scope: Scope): Shape {
  const fields = new Map<string, Shape>();
  let isKnown = true;
  for (const { key, value } of node.entries) {
    const name = key.kind === "constant" && typeof key.value === "string" ? key.value : undefined;
    if (name === undefined) {
      isKnown = false;
      visit(scope, key);
    }
    if (value) fields.set(name ?? "", shapeOf(value, scope));
    else if (name !== undefined)
      fields.set(
        name,
        fieldOf(scope.data, name, scope.report, () => `.${name}`),
      );
  }
  return isKnown ? scope.shapes.object(fields) : "any";
}

const SHOWN_CHARACTERS = 60;

/** `$input.a.b`, from a path that is written so. */
function textOf(node: Node): string {
  const names: string[] = [];
  let at = node;
  for (; at.kind === "index" && at.key.kind === "constant"; at = at.target) names.push(`.${at.key.value}`);
  const start = at.kind === "variable" ? `$${at.name}` : at.kind === "identity" ? "" : "…";
  const text = start + names.toReversed().join("");
  return text.length > SHOWN_CHARACTERS ? `…${text.slice(1 - SHOWN_CHARACTERS)}` : text;
}
