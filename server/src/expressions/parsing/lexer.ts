/**
 * jq's tokens (jq 1.8.2, src/lexer.l), read one at a time: the parser itself reads the inside of strings,
 * because an interpolation may contain another string.
 */
export type Token = {
  kind: "field" | "number" | "variable" | "format" | "name" | "keyword" | "symbol" | "end";
  /** Without the `.`, `$` or `@` in front. */
  text: string;
  start: number;
  end: number;
};

export class SyntaxProblem extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = "SyntaxProblem";
    this.offset = offset;
  }
}

const KEYWORDS: ReadonlySet<string> = new Set(
  "as def module import include if then else elif reduce foreach end and or try catch label break".split(" "),
);

const BLANK = /(?:[ \t\r\n]|#[^\r\n]*)*/y;
const TOKEN =
  /(?<field>\.[A-Za-z_]\w*)|(?<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)|(?<variable>\$(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)|(?<format>@\w+)|(?<name>(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)|(?<symbol>\?\/\/|\/\/=|!=|==|\/\/|\|=|\+=|-=|\*=|\/=|%=|<=|>=|\.\.|[.?=;,:|+\-*/%$<>()[\]{}"])/y;

/** `token` is the next token; `advance` moves on by one. */
export class Lexer {
  readonly source: string;
  token: Token = { kind: "end", text: "", start: 0, end: 0 };

  constructor(source: string) {
    this.source = source;
    this.advance();
  }

  advance(): void {
    this.readFrom(this.token.end);
  }

  /** Makes the token at or after `offset` the next one. */
  readFrom(offset: number): void {
    const start = this.#skipBlank(offset);
    if (start === this.source.length) {
      this.token = { kind: "end", text: "", start, end: start };
      return;
    }
    TOKEN.lastIndex = start;
    const match = TOKEN.exec(this.source);
    if (!match) throw new SyntaxProblem(`syntax error, unexpected ${JSON.stringify(this.source[start])}`, start);
    this.token = tokenOf(match, start);
  }

  #skipBlank(offset: number): number {
    BLANK.lastIndex = offset;
    const blank = BLANK.exec(this.source)![0];
    // jq would continue such a comment on the next line, which a reader would not notice.
    if (/\\(?:[\r\n]|$)/.test(blank)) throw new SyntaxProblem("a comment must not end in a backslash", offset);
    return offset + blank.length;
  }
}

function tokenOf(match: RegExpExecArray, start: number): Token {
  const groups = match.groups!;
  const end = start + match[0].length;
  if (groups["field"]) return { kind: "field", text: match[0].slice(1), start, end };
  if (groups["number"]) return { kind: "number", text: match[0], start, end };
  if (groups["variable"]) return { kind: "variable", text: match[0].slice(1), start, end };
  if (groups["format"]) return { kind: "format", text: match[0].slice(1), start, end };
  if (groups["symbol"]) return { kind: "symbol", text: match[0], start, end };
  return { kind: KEYWORDS.has(match[0]) ? "keyword" : "name", text: match[0], start, end };
}
