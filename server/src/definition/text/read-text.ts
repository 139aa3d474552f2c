/**
 * YAML 1.2 (so JSON too) to a JSON value with the place of each part. Hostile texts are stopped here: tokens are counted and
 * nesting is limited while the text is read, because the library's second half recurses and takes 2 µs per token.
 */
import { Composer, CST, Lexer, LineCounter, Parser, type Document } from "yaml";
import { LIMITS } from "../../lib/limits.ts";
import type { Json } from "../../lib/json/json.ts";
import { atOnce, type Steps } from "../../fairness/slices.ts";
import { readNodes } from "./read-nodes.ts";
import { byPlace, pointer, type Finding, type Problem, type Severity } from "./problem.ts";

type ReadText = { value?: Json; problems: Problem[]; place(finding: Finding): Problem };

/** Where in the text something is wrong, in characters. */
type TextProblem = { offset: number; message: string };

export const readText = (text: string): ReadText => atOnce(readingText(text));

export function* readingText(text: string): Steps<ReadText> {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let index = text.indexOf("\n"); index >= 0; index = text.indexOf("\n", index + 1)) lines.addNewLine(index + 1);

  const problemAt = (offset: number, path: string, message: string, severity: Severity = "error"): Problem => {
    const { line, col } = lines.linePos(Math.min(offset, text.length));
    return { path, line, column: col, message, severity };
  };
  const refused = (problems: TextProblem[]): ReadText => ({
    problems: problems.map(({ offset, message }) => problemAt(offset, "", message)).toSorted(byPlace),
    place: ({ path, message }) => problemAt(0, pointer(path), message),
  });

  const unfit = unfitText(text);
  if (unfit) return refused([unfit]);
  const scanned = yield* scanning(text);
  if ("message" in scanned) return refused([scanned]);
  yield;
  const document = compose(scanned.tokens, text.length);
  if (document.errors.length > 0) return refused(yamlProblems(document, (offset) => lines.linePos(offset).line));
  yield;
  const { value, problems, locate } = readNodes(document);
  return {
    value,
    problems: problems.map(({ offset, path, message }) => problemAt(offset, pointer(path), message)),
    place: ({ path, at, message, severity }) => problemAt(locate(path, at), pointer(path), message, severity),
  };
}

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** Why something is no text of a definition at all, whatever it says. */
export function unfitText(text: string): TextProblem | undefined {
  if (Buffer.byteLength(text) > LIMITS.definitionBytes) {
    return { offset: 0, message: `the definition is larger than ${LIMITS.definitionBytes / 1024} KiB` };
  }
  const control = text.search(CONTROL);
  if (control >= 0)
    return {
      offset: control,
      message: 'control characters are not allowed here; in a quoted text write an escape, such as "\\u0000"',
    };
  if (!text.isWellFormed()) {
    return {
      offset: text.search(/\p{Surrogate}/u),
      message: "half of a surrogate pair is not a character",
    };
  }
  return undefined;
}

const MESSAGES = {
  deep: `the definition is nested deeper than ${LIMITS.definitionTextNesting} levels`,
  long: `the definition has more than ${LIMITS.definitionTokens} words and signs`,
  documents: "the text contains more than one document; write one definition, without `---` after its start",
  directive: "directives such as %YAML are not accepted; leave the line out: the text is read as YAML 1.2",
  tag: "tags such as !!str are not accepted; write the plain value, or a text in quotes",
  escape: "this escape is not known; in double quotes write a backslash twice",
} as const;

/** A backslash in double quotes with what may follow it (YAML 1.2.2, 5.7), or alone when it is followed by anything else. */
const ESCAPE = /\\([0abtnvfre "/\\N_LP\n\r\t]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})?/g;

function badEscape(lexeme: string): number | undefined {
  for (const match of lexeme.matchAll(ESCAPE)) {
    if (match[1] === undefined) return match.index;
  }
  return undefined;
}

/** About 2 ms. */
const LEXEMES_A_STEP = 1_000;

/** The concrete syntax, or the first thing in it that is refused before a value is built. */
function* scanning(text: string): Steps<{ tokens: CST.Token[] } | TextProblem> {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  const stop = (message: string): TextProblem => ({ offset: parser.offset, message });
  let lexemes = 0;
  let documents = 0;
  let started = false;
  let isScalar = false;
  const extra = (token: CST.Token): TextProblem | undefined =>
    token.type === "document" && ++documents > 1 ? { offset: token.offset, message: MESSAGES.documents } : undefined;
  for (const lexeme of new Lexer().lex(text)) {
    if (++lexemes > LIMITS.definitionTokens) return stop(MESSAGES.long);
    if (lexemes % LEXEMES_A_STEP === 0) yield;
    const type = isScalar ? "scalar" : CST.tokenType(lexeme);
    if (type === "tag") return stop(MESSAGES.tag);
    if (type === "directive-line") return stop(MESSAGES.directive);
    const bad = type === "double-quoted-scalar" ? badEscape(lexeme) : undefined;
    if (bad !== undefined) return { offset: parser.offset + bad, message: MESSAGES.escape };
    if (type === "doc-start" && started) return stop(MESSAGES.documents);
    started ||= type !== null && !["doc-mode", "newline", "space", "comment", "byte-order-mark"].includes(type);
    isScalar = !isScalar && lexeme === CST.SCALAR;
    for (const token of parser.next(lexeme)) {
      tokens.push(token);
      const problem = extra(token);
      if (problem) return problem;
    }
    // The document itself is on the stack.
    if (parser.stack.length - 1 > LIMITS.definitionTextNesting) return stop(MESSAGES.deep);
  }
  for (const token of parser.end()) {
    tokens.push(token);
    const problem = extra(token);
    if (problem) return problem;
  }
  return { tokens };
}

/**
 * read-nodes.ts looks for duplicate keys: the library compares each key with each other. The library does not throw its
 * errors: a stack for each of 30,000 would take 200 ms.
 */
function compose(tokens: CST.Token[], end: number): Document {
  const composer = new Composer({
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
  });
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const [document] = composer.compose(tokens, true, end);
    return document as unknown as Document;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** One error tends to cause others of its kind: only the first of each kind on a line is reported. */
function yamlProblems(document: Document, lineOf: (offset: number) => number): TextProblem[] {
  const told = new Set<string>();
  const problems: TextProblem[] = [];
  for (const { code, message, pos } of document.errors) {
    const place = `${code} ${lineOf(pos[0])}`;
    if (told.has(place) || problems.length === LIMITS.definitionProblems) continue;
    told.add(place);
    const hint = YAML_HINTS.get(code) ?? `this is not valid YAML: ${message[0]!.toLowerCase()}${message.slice(1)}`;
    problems.push({ offset: pos[0], message: hint });
  }
  return problems;
}

const YAML_HINTS = new Map<string, string>(
  Object.entries({
    BLOCK_AS_IMPLICIT_KEY: 'a text with ": " in it needs quotes around it; so does an expression with an object in it',
    TAB_AS_INDENT: "this line is indented with a tab; use spaces",
  }),
);
