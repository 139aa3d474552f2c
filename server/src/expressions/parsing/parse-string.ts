/** The inside of a string: text, escapes, and queries in `\\( )`. */
import type { Cursor } from "./cursor.ts";
import { SyntaxProblem } from "./lexer.ts";
import type { Node, Span } from "./syntax.ts";

/** At a string's opening quote, or at the `@format` before it. */
export function parseString(cursor: Cursor, query: () => Node, format = "text"): Node {
  if (format === "text" && cursor.token.kind === "format") return parseString(cursor, query, cursor.take("format"));
  if (!cursor.sees('"')) cursor.unexpected();
  const parts: (string | Node)[] = [];
  const spans: Span[] = [];
  let text = "";
  let at = cursor.token.end;
  while (cursor.source[at] !== '"') {
    if (at >= cursor.source.length) throw new SyntaxProblem("syntax error, unterminated string", at);
    if (cursor.source.startsWith("\\(", at)) {
      parts.push(text, interpolation(cursor, query, at + 2));
      spans.push([at + 2, cursor.token.start]);
      text = "";
      at = cursor.token.end;
    } else if (cursor.source[at] === "\\") {
      const escape = readEscape(cursor.source, at);
      text += escape.text;
      at = escape.end;
    } else text += cursor.source[at++];
  }
  cursor.readFrom(at + 1);
  if (parts.length === 0) return { kind: "constant", value: text };
  return cursor.located(
    { kind: "template", format, parts: [...parts, text].filter((part) => part !== "") },
    () => spans,
  );
}

/** Leaves the closing parenthesis as the next token: what follows it is text, not tokens. */
function interpolation(cursor: Cursor, query: () => Node, start: number): Node {
  cursor.readFrom(start);
  const node = query();
  if (!cursor.sees(")")) cursor.unexpected(", expecting ')'");
  return node;
}

const SIMPLE = new Map<string, string>(
  Object.entries({
    '"': '"',
    "\\": "\\",
    "/": "/",
    b: "\b",
    f: "\f",
    n: "\n",
    r: "\r",
    t: "\t",
  }),
);
const UNICODE = /\\u([0-9a-fA-F]{4})/y;

/** Reads the escape at `offset`; a surrogate pair is one escape, half of one is refused, as in jq. */
function readEscape(source: string, offset: number): { text: string; end: number } {
  const simple = SIMPLE.get(source[offset + 1] ?? "");
  if (simple !== undefined) return { text: simple, end: offset + 2 };
  const first = unicodeAt(source, offset);
  if (first === undefined) throw new SyntaxProblem("Invalid escape", offset);
  if (first < 0xd800 || first > 0xdfff) return { text: String.fromCharCode(first), end: offset + 6 };
  const second = first < 0xdc00 ? unicodeAt(source, offset + 6) : undefined;
  if (second === undefined || second < 0xdc00 || second > 0xdfff) {
    throw new SyntaxProblem(String.raw`Invalid \uXXXX\uXXXX surrogate pair escape`, offset);
  }
  return { text: String.fromCharCode(first, second), end: offset + 12 };
}

function unicodeAt(source: string, offset: number): number | undefined {
  UNICODE.lastIndex = offset;
  const match = UNICODE.exec(source);
  return match ? Number.parseInt(match[1]!, 16) : undefined;
}
