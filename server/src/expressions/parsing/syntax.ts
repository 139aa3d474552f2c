/** The syntax tree of a jq expression. `offset` counts characters of the expression's text, from 0. */

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%";
export type ComparisonOperator = "==" | "!=" | "<" | "<=" | ">" | ">=";
export type LogicalOperator = "and" | "or" | "//";
export type AssignmentOperator = "=" | "|=" | "+=" | "-=" | "*=" | "/=" | "%=" | "//=";

/** `as` patterns, reduced to what scoping needs; `single` is set for a plain `$name`. */
export type Pattern = { names: string[]; keys: Node[]; single?: string };

/** `value` is left out in `{a}` and `{"a b"}`, which mean `.a` and `.["a b"]`. */
export type Entry = { key: Node; value?: Node };

export type Node =
  | { kind: "identity" }
  | { kind: "descent" }
  | { kind: "index"; target: Node; key: Node; optional: boolean }
  | { kind: "slice"; target: Node; from?: Node; to?: Node; optional: boolean }
  | { kind: "iterate"; target: Node; optional: boolean }
  | { kind: "constant"; value: null | boolean | string }
  | { kind: "number"; text: string }
  | { kind: "template"; format: string; parts: (string | Node)[] }
  | { kind: "format"; name: string }
  | { kind: "variable"; name: string; offset: number }
  | { kind: "array"; body?: Node }
  | { kind: "object"; entries: Entry[] }
  | { kind: "negate"; operand: Node }
  | { kind: "pipe"; left: Node; right: Node }
  | { kind: "comma"; left: Node; right: Node }
  | { kind: "arithmetic"; operator: ArithmeticOperator; left: Node; right: Node }
  | { kind: "comparison"; operator: ComparisonOperator; left: Node; right: Node }
  | { kind: "logical"; operator: LogicalOperator; left: Node; right: Node }
  | { kind: "assignment"; operator: AssignmentOperator; left: Node; right: Node }
  | { kind: "if"; condition: Node; then: Node; otherwise?: Node }
  | { kind: "try"; body: Node; handler?: Node }
  | { kind: "reduce"; source: Node; pattern: Pattern; start: Node; update: Node }
  | { kind: "foreach"; source: Node; pattern: Pattern; start: Node; update: Node; extract?: Node }
  | { kind: "bind"; source: Node; pattern: Pattern; body: Node }
  | { kind: "define"; name: string; parameters: Parameter[]; definition: Node; body: Node }
  | { kind: "label"; name: string; body: Node }
  | { kind: "break"; name: string }
  | { kind: "call"; name: string; args: Node[]; offset: number }
  /** Not of jq: a part that must have a value (given.ts). */
  | { kind: "given"; operand: Node; rule: { what: string; so: string; allowsEmpty: boolean } };

/** From the first character to behind the last one. */
export type Span = readonly [start: number, end: number];

/** `def f(g; $x)`: `$x` is a value, `g` is a function. */
export type Parameter = { name: string; isValue: boolean };
