/**
 * An outgoing text in which each part must have a value: `"…/orders/\(.id)"` without an id is `…/orders/null` to jq, and
 * `"…/orders/" + .id` is `…/orders/`. The parts are checked while the expression is evaluated, here and by jq.
 */
import { isObject, type Json } from "../../lib/json/json.ts";
import { parseExpression } from "./parse.ts";
import type { Node, Span } from "./syntax.ts";

/** `what` is the expression with its place, `so` the end of the sentence. */
export type Rule = { what: string; so: string; allowsEmpty: boolean };

/** The texts that need this, by their path in the template. */
export type Demand = (path: readonly (string | number)[]) => (Omit<Rule, "what"> & { place: string }) | undefined;

/** The same as lackOf, for jq: stands before the expression. */
const definitionOf = ({ so, allowsEmpty }: Omit<Rule, "what">): string => `def __given($what):
  (if . == null then "null" elif . == ${allowsEmpty ? "null" : '""'} then "an empty text"
    elif type == "array" then "a list" elif type == "object" then "an object" else null end) as $is
  | if $is then error("\\($what) is \\($is), ${so}") else . end;\n`;

/** The word for a missing value, or undefined. */
export function lackOf(value: Json, { allowsEmpty }: Rule): string | undefined {
  if (value === null) return "null";
  if (value === "") return allowsEmpty ? undefined : "an empty text";
  if (Array.isArray(value)) return "a list";
  return isObject(value) ? "an object" : undefined;
}

/** Returns the expression with its parts checked; `program`, its text for jq, is left out if it has no such parts. Throws SyntaxProblem. */
export function withGiven(text: string, demand: NonNullable<ReturnType<Demand>>): { node: Node; program?: string } {
  const spans = new Map<Node, Span[]>();
  const writer = new Writer(text, spans, demand);
  const node = writer.text(parseExpression(text, spans));
  return writer.inserts.length === 0 ? { node } : { node, program: writer.program() };
}

const SHOWN_CHARACTERS = 60;
/** They turn null into a text. */
const FORMATS: ReadonlySet<string> = new Set(["text", "uri", "html", "base64", "base32"]);

class Writer {
  readonly inserts: { at: number; text: string }[] = [];
  readonly #texts = new Map<Node, boolean>();
  readonly #source: string;
  readonly #spans: ReadonlyMap<Node, Span[]>;
  readonly #demand: NonNullable<ReturnType<Demand>>;

  constructor(source: string, spans: ReadonlyMap<Node, Span[]>, demand: NonNullable<ReturnType<Demand>>) {
    this.#source = source;
    this.#spans = spans;
    this.#demand = demand;
  }

  program(): string {
    let program = "";
    let from = 0;
    // Stable: of two at the same place, the outer one was inserted first where it begins.
    for (const { at, text } of this.inserts.toSorted((one, other) => one.at - other.at)) {
      program += this.#source.slice(from, at) + text;
      from = at;
    }
    return definitionOf(this.#demand) + program + this.#source.slice(from);
  }

  /** An expression whose result is such a text. */
  text(node: Node): Node {
    if (node.kind === "template") {
      const spans = this.#spans.get(node)!.values();
      const part = (inner: Node): Node => this.#part(inner, spans.next().value!);
      return { ...node, parts: node.parts.map((inner) => (typeof inner === "string" ? inner : part(inner))) };
    }
    if (node.kind === "arithmetic" && this.#isText(node)) {
      const [left, right] = this.#spans.get(node)!;
      return { ...node, left: this.#operand(node.left, left!), right: this.#operand(node.right, right!) };
    }
    if (node.kind === "if") {
      const { then, otherwise } = node;
      return { ...node, then: this.text(then), ...(otherwise && { otherwise: this.text(otherwise) }) };
    }
    if (node.kind === "logical" && node.operator === "//")
      return { ...node, left: this.text(node.left), right: this.text(node.right) };
    if (node.kind === "pipe") return { ...node, right: this.text(node.right) };
    return node.kind === "bind" ? { ...node, body: this.text(node.body) } : node;
  }

  #operand(node: Node, span: Span): Node {
    return this.#isText(node) ? this.text(node) : this.#part(node, span);
  }

  /** A text, or a sum with one in it. Remembered: in a sum of 400 each sum before it would be looked through again. */
  #isText(node: Node): boolean {
    if (node.kind === "template") return true;
    if (node.kind === "constant") return typeof node.value === "string";
    if (node.kind !== "arithmetic" || node.operator !== "+") return false;
    let known = this.#texts.get(node);
    if (known === undefined) this.#texts.set(node, (known = this.#isText(node.left) || this.#isText(node.right)));
    return known;
  }

  #part(node: Node, span: Span): Node {
    if (node.kind === "constant" || node.kind === "number") return node;
    if (endsInFormat(node)) {
      if (!isFormat(node.right)) return { ...node, right: this.#part(node.right, span) };
      return { ...node, left: this.#part(node.left, this.#spans.get(node)![0]!) };
    }
    const [start, end] = span;
    const { place, ...rest } = this.#demand;
    const written = this.#source.slice(start, end).trim();
    const shown = written.length > SHOWN_CHARACTERS ? `${written.slice(0, SHOWN_CHARACTERS - 3)}...` : written;
    const rule = { what: `${shown} in ${place}`, ...rest };
    // A comment of the author's may end the line.
    this.inserts.push({ at: start, text: "((" });
    const operand = this.text(node);
    this.inserts.push({ at: end, text: `\n) | __given(${JSON.stringify(rule.what)}))` });
    return { kind: "given", operand, rule };
  }
}

const isFormat = (node: Node): boolean =>
  (node.kind === "format" && FORMATS.has(node.name)) || (node.kind === "call" && node.name === "tostring");

const endsInFormat = (node: Node): node is Node & { kind: "pipe" } =>
  node.kind === "pipe" && (isFormat(node.right) || endsInFormat(node.right));
