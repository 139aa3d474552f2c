/**
 * Compiled JSON with expressions in it. A string that is entirely `${ … }` (ignoring surrounding blanks) is a jq
 * expression; anything else is literal. Compiling needs no jq and never throws: a template with a mistake fails when it is
 * evaluated, and the linter has called `Expressions.check` before.
 */
import { isObject, type Json } from "../lib/json/json.ts";
import type { ExpressionProblem } from "./parsing/expression-error.ts";
import { SyntaxProblem } from "./parsing/lexer.ts";
import { withGiven, type Demand } from "./parsing/given.ts";
import { needsOf } from "./parsing/names.ts";
import { compileNative, type Native } from "./native/native.ts";
import { parseExpression } from "./parsing/parse.ts";
import { passesOn } from "./parsing/passed-on.ts";
import type { Node } from "./parsing/syntax.ts";

export type Path = (string | number)[];

export type CompiledExpression = {
  /** Without `${ }`. */
  readonly text: string;
  /** The program that jq runs instead, if parts of it must have a value. */
  readonly program?: string;
  /** Its place in the template. */
  readonly path: Path;
  /** Its free `$variables`, without the `$`. */
  readonly variables: ReadonlySet<string>;
  /** The names in its `$secrets.NAME`. */
  readonly secrets?: ReadonlySet<string>;
  /** It uses `$secrets` in another way. */
  readonly allSecrets?: true;
  /** Its result has more of these secrets than the secrets themselves: a part, a hash, the outcome of a condition. */
  readonly altersSecrets?: true;
  /** Its problem, as far as we can tell without jq (which knows the functions). */
  readonly problem?: ExpressionProblem;
  /** Evaluates it in this process; without this, jq does. */
  readonly native?: Native;
  /** Only a path (`.a.b`, `$x.c`): the result is part of existing data. */
  readonly isPath: boolean;
};

export type Template = {
  /** The JSON that it was made from. */
  readonly source: Json;
  /** There is no expression in it. */
  readonly isLiteral: boolean;
  /** The free `$variables` of all its expressions, without the `$`. */
  readonly variables: ReadonlySet<string>;
  /** The names in the `$secrets.NAME` of all its expressions. */
  readonly secrets: readonly string[];
  readonly expressions: readonly CompiledExpression[];
  /** The source with its expressions replaced by these values, in order. Shares what it can with the source. */
  readonly assemble: Assemble;
};

type Assemble = (results: readonly Json[]) => Json;

const WHOLE = /^\s*\$\{([^]*)\}\s*$/;

/** The expression of a string that is entirely `${ … }`. */
export const expressionIn = (text: string): string | undefined => WHOLE.exec(text)?.[1]?.trim();

/** `demand`: the texts in which each part must have a value. */
export function compileTemplate(value: Json, demand: Demand = () => undefined): Template {
  const expressions: CompiledExpression[] = [];
  const assemble = assembly(value, [], { expressions, demand });
  return templateOf(value, expressions, assemble ?? (() => value));
}

/** The whole text is an expression, with or without `${ }`. */
export function compileExpression(text: string): Template {
  return templateOf(text, [compiled(expressionIn(text) ?? text.trim(), [])], ([result]) => result!);
}

function templateOf(source: Json, expressions: CompiledExpression[], assemble: Assemble): Template {
  const variables = new Set(expressions.flatMap((expression) => [...expression.variables]));
  const secrets = variables.has("secrets")
    ? [...new Set(expressions.flatMap((expression) => [...(expression.secrets ?? [])]))]
    : NO_SECRETS;
  return { source, isLiteral: expressions.length === 0, variables, secrets, expressions, assemble };
}

const NO_SECRETS: readonly string[] = [];

function compiled(text: string, path: Path, demanded?: ReturnType<Demand>): CompiledExpression {
  let read: ReturnType<typeof withGiven>;
  try {
    read = demanded ? withGiven(text, demanded) : { node: parseExpression(text) };
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    const problem = { message: error.message, offset: error.offset };
    return { text, path, variables: new Set(), problem, isPath: false };
  }
  const { node, program } = read;
  const { variables, secrets, secretNodes, allSecrets, problem } = needsOf(node);
  const native = compileNative(node);
  return {
    text,
    path,
    variables,
    ...(program !== undefined && { program }),
    ...(secrets && { secrets }),
    ...(allSecrets && { allSecrets }),
    ...(secretNodes && !passesOn(node, secretNodes) && { altersSecrets: true }),
    ...(problem && { problem }),
    ...(native && { native }),
    isPath: isPath(node),
  };
}

function isPath(node: Node): boolean {
  if (node.kind === "identity" || node.kind === "variable") return true;
  return node.kind === "index" && node.key.kind === "constant" && isPath(node.target);
}

type Making = { expressions: CompiledExpression[]; demand: Demand };

/** Undefined if nothing in the value is an expression. */
function assembly(value: Json, path: Path, making: Making): Assemble | undefined {
  if (typeof value === "string") {
    const text = expressionIn(value);
    if (text === undefined) return undefined;
    const place = making.expressions.push(compiled(text, path, making.demand(path))) - 1;
    return (results) => results[place]!;
  }
  if (Array.isArray(value)) {
    const items = value.map((item, at) => assembly(item, [...path, at], making));
    return items.some(Boolean)
      ? (results) => value.map((item, at) => (items[at] ? items[at](results) : item))
      : undefined;
  }
  return isObject(value) ? objectAssembly(Object.entries(value), path, making) : undefined;
}

function objectAssembly(entries: [string, Json][], path: Path, making: Making): Assemble | undefined {
  const parts = entries.map(([key, value]) => ({ key, value, assemble: assembly(value, [...path, key], making) }));
  if (!parts.some(({ assemble }) => assemble)) return undefined;
  return (results) => {
    const object: { [key: string]: Json } = {};
    for (const { key, value, assemble } of parts) object[key] = assemble ? assemble(results) : value;
    return object;
  };
}
