/** The length of functions. */
import type { ESTree } from "vite";
import { at, lineOf, walk, type Source } from "./source.ts";

type Span = { start: number; end: number };

const lines = (source: Source, { start, end }: Span): number => lineOf(source, end) - lineOf(source, start) + 1;

/** `(t) => ({ id: t.id(…), … })`: fields of the API's schema, each of them a call of the builder that is given. */
function isTableOfFields(node: ESTree.ArrowFunctionExpression): boolean {
  const [builder] = node.params;
  const body: ESTree.Node = node.body.type === "ParenthesizedExpression" ? node.body.expression : node.body;
  if (builder?.type !== "Identifier" || body.type !== "ObjectExpression") return false;
  return body.properties.every(
    (property) => property.type === "SpreadElement" || isCallOn(property.value, builder.name),
  );
}

function isCallOn(value: ESTree.Node, name: string): boolean {
  if (value.type !== "CallExpression" || value.callee.type !== "MemberExpression") return false;
  const { object } = value.callee;
  return (object.type === "Identifier" && object.name === name) || isCallOn(object, name);
}

/** Functions of more than `most` lines, as `path:line: 80 lines`. The lines of a table of fields count for none of those around it. */
export function longFunctions(most: number, source: Source): string[] {
  if (source.text.split("\n").length <= most) return [];
  const functions: Span[] = [];
  const tables: Span[] = [];
  walk(source, {
    FunctionDeclaration: (node) => void functions.push(node),
    FunctionExpression: (node) => void functions.push(node),
    ArrowFunctionExpression: (node) => void (isTableOfFields(node) ? tables : functions).push(node),
  });
  return functions.flatMap((span) => {
    const inside = tables.filter(({ start, end }) => span.start <= start && end <= span.end);
    const own = lines(source, span) - inside.reduce((sum, table) => sum + lines(source, table) - 1, 0);
    return own > most ? [`${at(source, span.start)}: ${own} lines`] : [];
  });
}
