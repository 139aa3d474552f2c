/** Steps through an expression's tokens and enforces its limits, because later walks of the tree recurse. */
import { LIMITS } from "../../lib/limits.ts";
import { Lexer, SyntaxProblem, type Token } from "./lexer.ts";
import type { Node, Span } from "./syntax.ts";

export class Cursor {
  readonly source: string;
  readonly #lexer: Lexer;
  readonly #spans: Map<Node, Span[]> | undefined;
  #depth = 0;
  #operators = 0;

  /** `spans`: is told where the parts of texts, sums and pipes are written. */
  constructor(source: string, spans?: Map<Node, Span[]>) {
    this.source = source;
    this.#spans = spans;
    this.#lexer = new Lexer(source);
  }

  /** The next token. */
  get token(): Token {
    return this.#lexer.token;
  }

  /** Is the next token this symbol or keyword? */
  sees(text: string): boolean {
    const { kind } = this.token;
    return this.token.text === text && (kind === "symbol" || kind === "keyword");
  }

  accept(text: string): boolean {
    const isThere = this.sees(text);
    if (isThere) this.#lexer.advance();
    return isThere;
  }

  expect(text: string): void {
    if (!this.accept(text)) this.unexpected(`, expecting '${text}'`);
  }

  /** The text of the next token, which must be of this kind. */
  take(kind: Token["kind"]): string {
    if (this.token.kind !== kind) this.unexpected();
    const { text } = this.token;
    this.#lexer.advance();
    return text;
  }

  advance(): void {
    this.#lexer.advance();
  }

  /** Makes the token at or after `offset` the next one. */
  readFrom(offset: number): void {
    this.#lexer.readFrom(offset);
  }

  unexpected(hint = ""): never {
    const { kind, start, end } = this.token;
    const what = kind === "end" ? "end of expression" : `'${this.source.slice(start, end)}'`;
    throw new SyntaxProblem(`syntax error, unexpected ${what}${hint}`, start);
  }

  /** Nested brackets; each is a term within a query. */
  nested<Result>(rule: () => Result): Result {
    if (++this.#depth > LIMITS.expressionNesting * 2) {
      throw new SyntaxProblem(`an expression may be nested ${LIMITS.expressionNesting} deep`, this.token.start);
    }
    const result = rule();
    this.#depth--;
    return result;
  }

  /** Where the parts of a node are written. */
  located<Of extends Node>(node: Of, spans: () => Span[]): Of {
    this.#spans?.set(node, spans());
    return node;
  }

  /** One more link of a chain, like an operator or a path's step. */
  linked<Result>(result: Result): Result {
    if (++this.#operators > LIMITS.expressionOperators) {
      throw new SyntaxProblem(`an expression may have ${LIMITS.expressionOperators} operators`, this.token.start);
    }
    return result;
  }
}
