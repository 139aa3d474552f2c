/**
 * JSON with expressions in it, compiled. A string that is wholly `${ … }` (blanks around it do not count) is a jq
 * expression; anything else is itself. Compiling needs no jq and never throws: a template with a mistake in it fails
 * when it is evaluated, and the linter has asked `Expressions.check` before.
 */
import { isObject, type Json } from "../../lib/json.ts";
import type { ExpressionProblem } from "./expression-error.ts";
import { SyntaxProblem } from "./lexer.ts";
import { needsOf } from "./names.ts";
import { compileNative, type Native } from "./native.ts";
import { parseExpression } from "./parse.ts";
import type { Node } from "./syntax.ts";

export type Path = (string | number)[];

export type CompiledExpression = {
  /** Without `${ }`. */
  readonly text: string;
  /** Where it stands in the template. */
  readonly path: Path;
  /** Its free `$variables`, without the `$`. */
  readonly variables: ReadonlySet<string>;
  /** What is wrong with it as far as can be told without jq (which knows what functions there are). */
  readonly problem?: ExpressionProblem;
  /** How it is evaluated in this process; without it, by jq. */
  readonly native?: Native;
  /** A path only (`.a.b`, `$x.c`): the result is a part of what is there already. */
  readonly isPath: boolean;
};

export type Template = {
  /** The JSON it was made of. */
  readonly source: Json;
  /** There is no expression in it. */
  readonly isLiteral: boolean;
  /** The free `$variables` of all its expressions, without the `$`. */
  readonly variables: ReadonlySet<string>;
  readonly expressions: readonly CompiledExpression[];
  /** The source with these values, in order, where the expressions stand. Shares what it can with the source. */
  readonly assemble: Assemble;
};

type Assemble = (results: readonly Json[]) => Json;

const WHOLE = /^\s*\$\{([^]*)\}\s*$/;

/** The expression of a string that is wholly `${ … }`. */
export const expressionIn = (text: string): string | undefined => WHOLE.exec(text)?.[1]?.trim();

export function compileTemplate(value: Json): Template {
  const expressions: CompiledExpression[] = [];
  const assemble = assembly(value, [], expressions);
  return templateOf(value, expressions, assemble ?? (() => value));
}

/** The whole text is an expression, with or without `${ }`. */
export function compileExpression(text: string): Template {
  return templateOf(text, [compiled(expressionIn(text) ?? text.trim(), [])], ([result]) => result!);
}

function templateOf(source: Json, expressions: CompiledExpression[], assemble: Assemble): Template {
  const variables = new Set(expressions.flatMap((expression) => [...expression.variables]));
  return { source, isLiteral: expressions.length === 0, variables, expressions, assemble };
}

function compiled(text: string, path: Path): CompiledExpression {
  let node: Node;
  try {
    node = parseExpression(text);
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const problem = { message: error.message, offset: error.offset };
    return { text, path, variables: new Set(), problem, isPath: false };
  }
  const { variables, problem } = needsOf(node);
  const native = compileNative(node);
  return { text, path, variables, ...(problem && { problem }), ...(native && { native }), isPath: isPath(node) };
}

function isPath(node: Node): boolean {
  if (node.kind === "identity" || node.kind === "variable") return true;
  return node.kind === "index" && node.key.kind === "constant" && isPath(node.target);
}

/** Undefined when nothing in the value is an expression. */
function assembly(value: Json, path: Path, expressions: CompiledExpression[]): Assemble | undefined {
  if (typeof value === "string") {
    const text = expressionIn(value);
    if (text === undefined) return undefined;
    const place = expressions.push(compiled(text, path)) - 1;
    return (results) => results[place]!;
  }
  if (Array.isArray(value)) {
    const items = value.map((item, at) => assembly(item, [...path, at], expressions));
    return items.some(Boolean) ? (results) => value.map((item, at) => items[at]?.(results) ?? item) : undefined;
  }
  return isObject(value) ? objectAssembly(Object.entries(value), path, expressions) : undefined;
}

function objectAssembly(
  entries: [string, Json][],
  path: Path,
  expressions: CompiledExpression[],
): Assemble | undefined {
  const parts = entries.map(([key, value]) => ({ key, value, assemble: assembly(value, [...path, key], expressions) }));
  if (!parts.some(({ assemble }) => assemble)) return undefined;
  return (results) => {
    const object: { [key: string]: Json } = {};
    for (const { key, value, assemble } of parts) object[key] = assemble ? assemble(results) : value;
    return object;
  };
}
