/**
 * Text to syntax tree, by the grammar of jq 1.8.2 (src/parser.y) without modules. Each function is one rule:
 * a query is expressions joined by `,` and `|`; an expression is terms joined by operators; a term binds tightest.
 */
import { LIMITS } from "../../lib/limits.ts";
import { Cursor } from "./cursor.ts";
import { SyntaxProblem, type Token } from "./lexer.ts";
import { parsePatterns } from "./parse-pattern.ts";
import { parseString } from "./parse-string.ts";
import type {
  ArithmeticOperator,
  AssignmentOperator,
  ComparisonOperator,
  Entry,
  LogicalOperator,
  Node,
  Parameter,
  Pattern,
  Span,
} from "./syntax.ts";

/** `spans` is filled with where the parts of texts, sums and pipes are written. Throws SyntaxProblem. */
export function parseExpression(text: string, spans?: Map<Node, Span[]>): Node {
  if (text.length > LIMITS.expressionCharacters) {
    throw new SyntaxProblem(`an expression may have ${LIMITS.expressionCharacters} characters`, 0);
  }
  const parser = new Parser(text, spans);
  return parser.program();
}

const ARITHMETIC: ReadonlySet<string> = new Set<ArithmeticOperator>(["+", "-", "*", "/", "%"]);
const COMPARISON: ReadonlySet<string> = new Set<ComparisonOperator>(["==", "!=", "<", "<=", ">", ">="]);
const ASSIGNMENT: ReadonlySet<string> = new Set<AssignmentOperator>(["=", "|=", "+=", "-=", "*=", "/=", "%=", "//="]);
const LOGICAL: ReadonlySet<string> = new Set<LogicalOperator>(["and", "or", "//"]);

/** Loosest first. Only `//` leans right; assignments and comparisons do not chain. */
function bindingOf(token: Token): { strength: number; side: "left" | "right" | "none" } | undefined {
  if (token.kind !== "symbol" && token.kind !== "keyword") return undefined;
  if (token.text === "//") return { strength: 1, side: "right" };
  if (ASSIGNMENT.has(token.text)) return { strength: 2, side: "none" };
  if (token.text === "or") return { strength: 3, side: "left" };
  if (token.text === "and") return { strength: 4, side: "left" };
  if (COMPARISON.has(token.text)) return { strength: 5, side: "none" };
  if (token.text === "+" || token.text === "-") return { strength: 6, side: "left" };
  if (ARITHMETIC.has(token.text)) return { strength: 7, side: "left" };
  return undefined;
}

function joined(operator: string, left: Node, right: Node): Node {
  if (ARITHMETIC.has(operator)) return { kind: "arithmetic", operator: operator as ArithmeticOperator, left, right };
  if (COMPARISON.has(operator)) return { kind: "comparison", operator: operator as ComparisonOperator, left, right };
  if (LOGICAL.has(operator)) return { kind: "logical", operator: operator as LogicalOperator, left, right };
  return { kind: "assignment", operator: operator as AssignmentOperator, left, right };
}

const IDENTITY: Node = { kind: "identity" };

class Parser {
  readonly #cursor: Cursor;

  constructor(text: string, spans: Map<Node, Span[]> | undefined) {
    this.#cursor = new Cursor(text, spans);
  }

  program(): Node {
    const node = this.#query();
    if (this.#cursor.token.kind !== "end") this.#cursor.unexpected();
    return node;
  }

  // Queries

  #query(): Node {
    return this.#cursor.nested(() => {
      const parts: Node[] = [];
      const spans: Span[] = [];
      do {
        const { start } = this.#cursor.token;
        parts.push(this.#commas());
        spans.push([start, this.#cursor.token.start]);
      } while (this.#cursor.accept("|"));
      return parts.reduceRight((right, left, at) =>
        this.#cursor.linked(this.#cursor.located({ kind: "pipe", left, right }, () => [spans[at]!])),
      );
    });
  }

  #commas(): Node {
    let left = this.#queryItem();
    while (this.#cursor.accept(",")) left = this.#cursor.linked({ kind: "comma", left, right: this.#queryItem() });
    return left;
  }

  /** `def`, `label` and `as` reach as far to the right as they can. */
  #queryItem(): Node {
    if (this.#cursor.accept("def")) return this.#define();
    if (this.#cursor.accept("label")) {
      return { kind: "label", name: this.#cursor.take("variable"), body: this.#afterPipe() };
    }
    const source = this.#expression();
    if (!this.#cursor.accept("as")) return source;
    return { kind: "bind", source, pattern: this.#patterns(), body: this.#afterPipe() };
  }

  #afterPipe(): Node {
    this.#cursor.expect("|");
    return this.#query();
  }

  #define(): Node {
    const name = this.#cursor.take("name");
    const parameters: Parameter[] = [];
    if (this.#cursor.accept("(")) {
      do {
        const isValue = this.#cursor.token.kind === "variable";
        parameters.push({ name: this.#cursor.take(isValue ? "variable" : "name"), isValue });
      } while (this.#cursor.accept(";"));
      this.#cursor.expect(")");
    }
    this.#cursor.expect(":");
    const definition = this.#query();
    this.#cursor.expect(";");
    return { kind: "define", name, parameters, definition, body: this.#query() };
  }

  // Expressions

  #expression(least = 0): Node {
    const { start } = this.#cursor.token;
    let left = this.#term();
    for (;;) {
      const binding = bindingOf(this.#cursor.token);
      if (!binding || binding.strength < least) return left;
      const { text: operator, start: end } = this.#cursor.token;
      this.#cursor.advance();
      const second = this.#cursor.token.start;
      const right = this.#expression(binding.side === "right" ? binding.strength : binding.strength + 1);
      const spans = (): Span[] => [
        [start, end],
        [second, this.#cursor.token.start],
      ];
      left = this.#cursor.linked(this.#cursor.located(joined(operator, left, right), spans));
      const isChained = bindingOf(this.#cursor.token)?.strength === binding.strength;
      if (isChained && binding.side === "none") this.#cursor.unexpected();
    }
  }

  // Terms

  #term(): Node {
    return this.#cursor.nested(() => {
      let term = this.#primary();
      for (;;) {
        const next = this.#suffix(term);
        if (!next) return term;
        term = this.#cursor.linked(next);
      }
    });
  }

  #suffix(target: Node): Node | undefined {
    if (this.#cursor.token.kind === "field") {
      const key: Node = { kind: "constant", value: this.#cursor.take("field") };
      return { kind: "index", target, key, optional: this.#cursor.accept("?") };
    }
    if (this.#cursor.accept("?")) return { kind: "try", body: target };
    if (this.#cursor.accept(".")) {
      if (this.#cursor.accept("[")) return this.#bracketAfterDot(target);
      return this.#stringIndex(target);
    }
    return this.#cursor.accept("[") ? this.#bracket(target) : undefined;
  }

  /** `."a"` */
  #stringIndex(target: Node): Node {
    return { kind: "index", target, key: this.#string(), optional: this.#cursor.accept("?") };
  }

  /** `.a.["b"]` is `.a["b"]`, but there is no `.a.[1:2]` in jq. */
  #bracketAfterDot(target: Node): Node {
    const { start } = this.#cursor.token;
    const node = this.#bracket(target);
    if (node.kind === "slice") throw new SyntaxProblem("a slice stands without a dot before it: .a[1:2]", start);
    return node;
  }

  /** After `[`: `[]`, `[key]`, `[from:to]`. */
  #bracket(target: Node): Node {
    if (this.#cursor.accept("]")) return { kind: "iterate", target, optional: this.#cursor.accept("?") };
    const from = this.#cursor.sees(":") ? undefined : this.#query();
    if (from && this.#cursor.accept("]")) {
      return { kind: "index", target, key: from, optional: this.#cursor.accept("?") };
    }
    this.#cursor.expect(":");
    const to = from && this.#cursor.sees("]") ? undefined : this.#query();
    this.#cursor.expect("]");
    return { kind: "slice", target, ...(from && { from }), ...(to && { to }), optional: this.#cursor.accept("?") };
  }

  #primary(): Node {
    const { kind, text, start } = this.#cursor.token;
    if (kind === "field") return this.#suffix(IDENTITY)!;
    if (kind === "symbol") return this.#symbolTerm();
    if (kind === "keyword") return this.#keywordTerm();
    if (kind === "end") this.#cursor.unexpected();
    if (kind === "format") return this.#format();
    this.#cursor.advance();
    if (kind === "number") return { kind: "number", text };
    if (kind === "variable") return { kind: "variable", name: text, offset: start };
    return this.#call(text, start);
  }

  #symbolTerm(): Node {
    if (this.#cursor.sees('"')) return this.#string();
    if (this.#cursor.accept("..")) return { kind: "descent" };
    if (this.#cursor.accept("-")) return { kind: "negate", operand: this.#term() };
    if (this.#cursor.accept("{")) return this.#object();
    if (this.#cursor.accept(".")) {
      if (!this.#cursor.sees('"') && this.#cursor.token.kind !== "format") return IDENTITY;
      return this.#stringIndex(IDENTITY);
    }
    if (this.#cursor.accept("(")) {
      const inner = this.#query();
      this.#cursor.expect(")");
      return inner;
    }
    if (!this.#cursor.accept("[")) this.#cursor.unexpected();
    if (this.#cursor.accept("]")) return { kind: "array" };
    const body = this.#query();
    this.#cursor.expect("]");
    return { kind: "array", body };
  }

  #keywordTerm(): Node {
    if (this.#cursor.accept("if")) return this.#if();
    if (this.#cursor.accept("try")) {
      const body = this.#term();
      return this.#cursor.accept("catch") ? { kind: "try", body, handler: this.#term() } : { kind: "try", body };
    }
    if (this.#cursor.accept("break")) return { kind: "break", name: this.#cursor.take("variable") };
    if (this.#cursor.accept("reduce")) return this.#fold("reduce");
    if (this.#cursor.accept("foreach")) return this.#fold("foreach");
    return this.#cursor.unexpected();
  }

  #if(): Node {
    const condition = this.#query();
    this.#cursor.expect("then");
    const then = this.#query();
    if (this.#cursor.accept("elif")) return this.#cursor.linked({ kind: "if", condition, then, otherwise: this.#if() });
    const otherwise = this.#cursor.accept("else") ? this.#query() : undefined;
    this.#cursor.expect("end");
    return { kind: "if", condition, then, ...(otherwise && { otherwise }) };
  }

  #fold(kind: "reduce" | "foreach"): Node {
    const source = this.#expression();
    this.#cursor.expect("as");
    const pattern = this.#patterns();
    this.#cursor.expect("(");
    const start = this.#query();
    this.#cursor.expect(";");
    const update = this.#query();
    const extract = kind === "foreach" && this.#cursor.accept(";") ? this.#query() : undefined;
    this.#cursor.expect(")");
    if (kind === "reduce") return { kind, source, pattern, start, update };
    return { kind, source, pattern, start, update, ...(extract && { extract }) };
  }

  #call(name: string, offset: number): Node {
    if (name === "null") return { kind: "constant", value: null };
    if (name === "true" || name === "false") return { kind: "constant", value: name === "true" };
    const args: Node[] = [];
    if (this.#cursor.accept("(")) {
      do args.push(this.#query());
      while (this.#cursor.accept(";"));
      this.#cursor.expect(")");
    }
    return { kind: "call", name, args, offset };
  }

  #format(): Node {
    const name = this.#cursor.take("format");
    return this.#cursor.sees('"') ? this.#string(name) : { kind: "format", name };
  }

  // Objects

  #object(): Node {
    const entries: Entry[] = [];
    while (!this.#cursor.accept("}")) {
      entries.push(this.#entry());
      if (!this.#cursor.accept(",") && !this.#cursor.sees("}")) this.#cursor.unexpected(", expecting '}'");
    }
    return { kind: "object", entries };
  }

  #entry(): Entry {
    const { kind, text, start } = this.#cursor.token;
    if (kind === "variable") {
      this.#cursor.advance();
      const variable: Node = { kind: "variable", name: text, offset: start };
      if (this.#cursor.accept(":")) return { key: variable, value: this.#entryValue() };
      return { key: { kind: "constant", value: text }, value: variable };
    }
    const key = this.#entryKey();
    if (this.#cursor.accept(":")) return { key, value: this.#entryValue() };
    if (kind === "symbol" && text === "(") this.#cursor.unexpected();
    return { key };
  }

  /** A name, a keyword, a string, or any query in parentheses. */
  #entryKey(): Node {
    const { kind, text, start } = this.#cursor.token;
    if (kind === "name" || kind === "keyword") {
      this.#cursor.advance();
      return { kind: "constant", value: text };
    }
    if (!this.#cursor.accept("(")) return this.#string();
    const key = this.#query();
    this.#cursor.expect(")");
    const isConstant = key.kind === "constant" && typeof key.value !== "string";
    if (isConstant || key.kind === "number" || key.kind === "array" || key.kind === "object") {
      throw new SyntaxProblem("an object key must be a string", start);
    }
    return key;
  }

  #entryValue(): Node {
    const left = this.#expression();
    return this.#cursor.accept("|") ? this.#cursor.linked({ kind: "pipe", left, right: this.#entryValue() }) : left;
  }

  // Parts that have rules of their own

  #string(format?: string): Node {
    return parseString(this.#cursor, () => this.#query(), format);
  }

  #patterns(): Pattern {
    return parsePatterns(this.#cursor, () => this.#entryKey());
  }
}
