/** The names that an expression needs from outside: its free variables, and whether it calls functions that workflows must not use. */
import type { ExpressionProblem } from "./expression-error.ts";
import type { Node, Pattern } from "./syntax.ts";

export type Needs = {
  variables: Set<string>;
  /** The names in `$secrets.NAME`, where `$secrets` is not the author's own variable. */
  secrets?: Set<string>;
  /** Each such `$secrets.NAME`. */
  secretNodes?: Set<Node>;
  /** `$secrets` is used in another way, so that one can't tell which of them. */
  allSecrets?: true;
  problem?: ExpressionProblem;
};

const OF_THE_PROCESS = "is not available: an expression sees its data and variables only";
const OF_THE_CLOCK = "is not available: use $runtime.now, which stays the same when a run is resumed";

/** By name and number of arguments. A definition of the author's own with such a name is fine. */
const REFUSED = new Map<string, string>(
  Object.entries({
    "now/0": OF_THE_CLOCK,
    "localtime/0": "is not available: use gmtime",
    "strflocaltime/1": "is not available: use strftime",
    "env/0": OF_THE_PROCESS,
    "input/0": OF_THE_PROCESS,
    "inputs/0": OF_THE_PROCESS,
    "input_filename/0": OF_THE_PROCESS,
    "input_line_number/0": OF_THE_PROCESS,
    "get_search_list/0": OF_THE_PROCESS,
    "modulemeta/0": OF_THE_PROCESS,
    "debug/0": OF_THE_PROCESS,
    "debug/1": OF_THE_PROCESS,
    "stderr/0": OF_THE_PROCESS,
    "halt/0": OF_THE_PROCESS,
    "halt_error/0": "is not available: use error",
    "halt_error/1": "is not available: use error",
  }),
);

/** jq binds these itself. */
const isOfJq = (variable: string): boolean => variable === "ENV" || variable.startsWith("__");

export function needsOf(node: Node): Needs {
  const needs: Needs = { variables: new Set() };
  visit(node, { variables: [], functions: [] }, needs);
  return needs;
}

type Known = { variables: readonly string[]; functions: readonly string[] };

function visit(node: Node, known: Known, needs: Needs): void {
  const each = (...nodes: (Node | undefined)[]): void => {
    for (const child of nodes) if (child) visit(child, known, needs);
  };
  switch (node.kind) {
    case "variable":
      return visitVariable(node, known, needs);
    case "call":
      visitCall(node, known, needs);
      return each(...node.args);
    case "bind":
    case "reduce":
    case "foreach":
      return visitBinding(node, known, needs);
    case "define":
      return visitDefinition(node, known, needs);
    case "index":
      if (visitSecret(node, known, needs)) return;
      return each(node.target, node.key);
    case "slice":
      return each(node.target, node.from, node.to);
    case "iterate":
      return each(node.target);
    case "template":
      return each(...node.parts.filter((part) => typeof part !== "string"));
    case "array":
    case "label":
      return each(node.body);
    case "object":
      return each(...node.entries.flatMap(({ key, value }) => [key, value]));
    case "negate":
    case "given":
      return each(node.operand);
    case "if":
      return each(node.condition, node.then, node.otherwise);
    case "try":
      return each(node.body, node.handler);
    case "pipe":
    case "comma":
    case "arithmetic":
    case "comparison":
    case "logical":
    case "assignment":
      return each(node.left, node.right);
    case "identity":
    case "descent":
    case "constant":
    case "number":
    case "format":
    case "break":
      return;
  }
}

function visitVariable(node: Node & { kind: "variable" }, known: Known, needs: Needs): void {
  if (known.variables.includes(node.name)) return;
  if (node.name === SECRETS) needs.allSecrets = true;
  if (isOfJq(node.name)) needs.problem ??= { message: `$${node.name} ${OF_THE_PROCESS}`, offset: node.offset };
  else needs.variables.add(node.name);
}

const SECRETS = "secrets";

function visitSecret(node: Node & { kind: "index" }, known: Known, needs: Needs): boolean {
  const { target, key } = node;
  if (target.kind !== "variable" || target.name !== SECRETS || known.variables.includes(SECRETS)) return false;
  if (key.kind !== "constant" || typeof key.value !== "string") return false;
  needs.variables.add(SECRETS);
  (needs.secrets ??= new Set()).add(key.value);
  (needs.secretNodes ??= new Set()).add(node);
  return true;
}

function visitCall(node: Node & { kind: "call" }, known: Known, needs: Needs): void {
  const signature = `${node.name}/${node.args.length}`;
  if (known.functions.includes(signature) || !REFUSED.has(signature)) return;
  needs.problem ??= { message: `${node.name} ${REFUSED.get(signature)}`, offset: node.offset };
}

function visitBinding(node: Node & { kind: "bind" | "reduce" | "foreach" }, known: Known, needs: Needs): void {
  visit(node.source, known, needs);
  const inner = withPattern(known, node.pattern);
  for (const key of node.pattern.keys) visit(key, inner, needs);
  if (node.kind === "bind") return visit(node.body, inner, needs);
  visit(node.start, known, needs);
  visit(node.update, inner, needs);
  if (node.kind === "foreach" && node.extract) visit(node.extract, inner, needs);
}

const withPattern = (known: Known, pattern: Pattern): Known => ({
  ...known,
  variables: [...known.variables, ...pattern.names],
});

function visitDefinition(node: Node & { kind: "define" }, known: Known, needs: Needs): void {
  const signature = `${node.name}/${node.parameters.length}`;
  const outer = { ...known, functions: [...known.functions, signature] };
  visit(node.body, outer, needs);
  const values = node.parameters.filter(({ isValue }) => isValue).map(({ name }) => name);
  const functions = node.parameters.map(({ name }) => `${name}/0`);
  const inner = { variables: [...known.variables, ...values], functions: [...outer.functions, ...functions] };
  visit(node.definition, inner, needs);
}
