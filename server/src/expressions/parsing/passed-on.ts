/**
 * Whether an expression passes its secrets on as they are: alone, within a text, or as a part of an object or a list. Then its result
 * with other words in place of the secrets shows all the rest of it.
 */
import type { Node } from "./syntax.ts";

/** `secrets`: each `$secrets.NAME` in the expression. */
export const passesOn = (node: Node, secrets: ReadonlySet<Node>): boolean => passedOn(node, secrets) === secrets.size;

/** How many of them reach the result as they are. One that a function, a condition or a pipe takes is not counted. */
function passedOn(node: Node, secrets: ReadonlySet<Node>): number {
  const all = (...nodes: (Node | undefined)[]): number =>
    nodes.reduce((sum, child) => sum + (child ? passedOn(child, secrets) : 0), 0);
  switch (node.kind) {
    case "index":
      return secrets.has(node) ? 1 : 0;
    case "given":
      return all(node.operand);
    case "template":
      return node.format === "text" ? all(...node.parts.filter((part) => typeof part !== "string")) : 0;
    case "array":
    case "bind":
      return all(node.body);
    case "object":
      return all(...node.entries.flatMap(({ key, value }) => [key, value]));
    case "arithmetic":
      return node.operator === "+" ? all(node.left, node.right) : 0;
    case "logical":
      return node.operator === "//" ? all(node.left, node.right) : 0;
    case "comma":
      return all(node.left, node.right);
    case "if":
      return all(node.then, node.otherwise);
    case "pipe":
      return all(node.right, isWrittenOut(node.right) ? node.left : undefined);
    case "assignment":
    case "break":
    case "call":
    case "comparison":
    case "constant":
    case "define":
    case "descent":
    case "foreach":
    case "format":
    case "identity":
    case "iterate":
    case "label":
    case "negate":
    case "number":
    case "reduce":
    case "slice":
    case "try":
    case "variable":
      return 0;
  }
}

/** JSON has a secret as it is, or with escapes that are looked for. */
const isWrittenOut = (node: Node): boolean =>
  (node.kind === "call" && node.args.length === 0 && (node.name === "tojson" || node.name === "tostring")) ||
  (node.kind === "format" && (node.name === "json" || node.name === "text"));
