import { describe, expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { leastMs } from "../../lib/processor-time.testsuite.ts";
import { parseDefinition } from "../parse-definition.ts";
import { readText } from "./read-text.ts";

const messages = (text: string): string[] =>
  readText(text).problems.map(({ line, column, message }) => `${line}:${column} ${message}`);

test.each([
  ["9007199254740993", "9007199254740993"],
  ["+9007199254740993", "9007199254740993"],
  ["-009007199254740993", "-9007199254740993"],
  ["0x20000000000001", "9007199254740993"],
  ["0o400000000000000001", "9007199254740993"],
  [".10000000000000000555", "0.10000000000000000555"],
  ["1e400", "1E+400"],
  ["-0", "-0"],
  ["1.", "1"],
  ["1.e3", "1000"],
  ["-.5", "-0.5"],
  ["+1.50", "1.5"],
  ["007", "7"],
  ["0x1F", "31"],
  ['"9007199254740993"', '"9007199254740993"'],
])("the number %s keeps its digits", (written, json) => {
  for (const text of [`a: [${written}]`, `{"a": [${written}]}`, `a: [&n ${written}]`])
    expect(JSON.stringify(readText(text))).toBe(`{"value":{"a":[${json}]},"problems":[]}`);
});

describe("hostile texts", () => {
  test.each([
    ["too large", `a: ${"x".repeat(LIMITS.definitionBytes)}`, "1:1 the definition is larger than 256 KiB"],
    ["too many words", "- a\n".repeat(20_000), "6000:4 the definition has more than 30000 words and signs"],
    ["nested in brackets", "[".repeat(1_000), "1:102 the definition is nested deeper than 100 levels"],
    ["nested in JSON", `{"a":`.repeat(1_000), "1:502 the definition is nested deeper than 100 levels"],
    ["nested on one line", "- ".repeat(1_000), "1:202 the definition is nested deeper than 100 levels"],
    [
      "nested by indents",
      Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"),
      "101:102 the definition is nested deeper than 100 levels",
    ],
    ["nested keys", "? ".repeat(1_000), "1:202 the definition is nested deeper than 100 levels"],
    [
      "a tag",
      "a: !!js/function 'function () {}'",
      "1:4 tags such as !!str are not accepted; write the plain value, or a text in quotes",
    ],
    [
      "a known tag",
      "a: !!set {b}",
      "1:4 tags such as !!str are not accepted; write the plain value, or a text in quotes",
    ],
    [
      "a directive",
      "%YAML 1.1\n---\na: yes",
      "1:1 directives such as %YAML are not accepted; leave the line out: the text is read as YAML 1.2",
    ],
    [
      "two documents",
      "a: 1\n---\nb: 2",
      "2:1 the text contains more than one document; write one definition, without `---` after its start",
    ],
    [
      "two documents with dots",
      "a: 1\n...\nb: 2",
      "3:1 the text contains more than one document; write one definition, without `---` after its start",
    ],
    [
      "NUL",
      "a: b\0c",
      '1:5 control characters are not allowed here; in a quoted text write an escape, such as "\\u0000"',
    ],
    ["a lone surrogate", "a: b\ud800c", "1:5 half of a surrogate pair is not a character"],
    ["an unknown escape", 'a: "\\n\\\\\\q"', "1:9 this escape is not known; in double quotes write a backslash twice"],
    ["a tab for indenting", "a:\n\tb: 1", "2:1 this line is indented with a tab; use spaces"],
    ["an open quote", 'a: "b', '1:6 this is not valid YAML: missing closing "quote'],
    [
      "a colon in a text",
      "a: b: c",
      '1:4 a text with ": " in it needs quotes around it; so does an expression with an object in it',
    ],
  ])("%s", (_, text, message) => expect(messages(text)).toEqual([message]));

  test("accepts the maximum of words, signs and levels, and refuses one more", () => {
    // The document is one, a line five: a dash, a space, the beginning of a text, the text, the line's end.
    const words = (count: number): string =>
      `${"- a\n".repeat(Math.floor((count - 1) / 5))}${"\n".repeat((count - 1) % 5)}`;
    expect(messages(words(LIMITS.definitionTokens))).toEqual([]);
    expect(messages(words(LIMITS.definitionTokens + 1))).toEqual([
      expect.stringContaining("more than 30000 words and signs"),
    ]);
    const levels = (count: number): string => "[".repeat(count) + "]".repeat(count);
    expect(messages(levels(LIMITS.definitionTextNesting))).toEqual([]);
    expect(messages(levels(LIMITS.definitionTextNesting + 1))).toEqual([
      expect.stringContaining("nested deeper than 100 levels"),
    ]);
  });

  test.each([
    [
      "__proto__",
      "__proto__: {a: 1}",
      "1:1 the key __proto__ is not accepted: it would change what objects are in JavaScript",
    ],
    [
      "__proto__ in quotes",
      'a: {"__proto__": 1}',
      "1:5 the key __proto__ is not accepted: it would change what objects are in JavaScript",
    ],
    ["a merge", "a: {<<: {b: 1}}", "1:5 merging with << is not part of YAML 1.2; write the keys out"],
    ["a number as key", "a:\n  1: b", "2:3 the key 1 is not a text; put it in quotes"],
    ["a list as key", "? [a]\n: b", "1:3 a key must be text, not a list, an object or an alias"],
    ["a key twice", "a:\n  b: 1\n  c: 2\n  b: 3", '4:3 the key "b" is written twice; keep one'],
    ["NUL in a key", 'a: {"b\\0": 1}', "1:5 a key contains a control character or half of a surrogate pair"],
    [
      "half a pair in a key",
      'a: {"b\\ud800": 1}',
      "1:5 a key contains a control character or half of a surrogate pair",
    ],
    ["infinity", "a: .inf", "1:4 .inf is not a JSON value; put it in quotes if it is a text"],
    ["a number beyond", "a: 1e9999999", "1:4 this is a number beyond 1e±999999; put it in quotes if it is a text"],
    [
      "a hexadecimal number without end",
      `a: 0x${"f".repeat(5_000)}`,
      "1:4 this is a number of more than 4096 digits; put it in quotes if it is a text",
    ],
    ["no anchor", "a: *b", "1:4 there is no anchor &b before this alias"],
    ["a cycle", "a: &b [*b]", "1:8 the alias *b is inside what it refers to"],
    ["a cycle of two", "a: &b {c: &d {e: *b}}", "1:18 the alias *b is inside what it refers to"],
  ])("%s", (_, text, message) => {
    expect(messages(text)).toEqual([message]);
  });

  test("a billion laughs end at the limit of values", () => {
    const lines = [..."bcdefghij"].map((name, index) => `${name}: &${name} [${`*${"abcdefghi"[index]},`.repeat(10)}]`);
    const text = ["a: &a [x,x,x,x,x,x,x,x,x,x]", ...lines].join("\n");
    const { value, problems } = readText(text);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the aliases here repeat too much: .* at most 30000 values and 1048576 characters/),
    ]);
    expect(JSON.stringify(value).length).toBeLessThan(1_000_000);
  });

  test.each([
    ["text", `a: &a ${"x".repeat(150_000)}\nb: [${"*a,".repeat(9_000)}]`],
    ["key", `a: &a {${"x".repeat(150_000)}: 1}\nb: [${"*a,".repeat(9_000)}]`],
  ])("10,000 aliases of a long %s end at the limit of characters", (_, text) => {
    const { value, problems } = readText(text);
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^the aliases here repeat too much: .* at most 30000 values and 1048576 characters/),
    ]);
    expect(JSON.stringify(value).length).toBeLessThan(1_500_000);
  });

  test("a chain of aliases does not nest deeper than texts may", () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}]`);
    const { problems } = readText(["a0: &a0 [x]", ...lines].join("\n"));
    expect(problems[0]!.message).toBe("aliases nest deeper than 100 levels here");
    expect(problems.length).toBeLessThanOrEqual(LIMITS.definitionProblems);
  });

  /** The text that grows worst in the library, up to just below the limit of words. */
  const LONG: [string, string][] = [
    ["keys", Array.from({ length: 3_600 }, (_, index) => `k${index}: 1\n`).join("")],
    ["one key again", "a: b\n".repeat(3_600)],
    ["closing brackets", "]".repeat(29_000)],
    ["commas", `[${",".repeat(29_000)}`],
    ["quotes", '"'.repeat(14_000)],
    ["anchors", "&a ".repeat(9_000)],
    ["aliases of a long list", `a: &a [${"x,".repeat(8_000)}]\nb:\n${"- *a\n".repeat(2_500)}`],
    ["spaces in an expression", `do:\n  - a: {if: '${" ".repeat(200_000)}'}`],
    ["digits of a duration", `do:\n  - a: {wait: P${"1".repeat(200_000)}}`],
    ["escaped quotes", `do:\n  - a: {set: {b: '\${ "${'\\"'.repeat(100_000)} }'}}`],
    ["a version", `document: {version: '1.0.0-${"1".repeat(200_000)}_'}`],
    [
      "variables of a URI",
      `do:\n  - a: {call: http, with: {method: GET, endpoint: 'https://${"{a}".repeat(60_000)} '}}`,
    ],
    [
      "unknown targets",
      `do:\n${Array.from({ length: 1_700 }, (_, index) => `  - t${index}: {wait: P1Q, then: x${index}}\n`).join("")}`,
    ],
  ];
  test.each(LONG)("%s end within 1.5 s of the processor", (_, text) => {
    const { problems } = parseDefinition(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(LIMITS.definitionProblems);
    // 30 to 90 ms alone.
    expect(leastMs(1_500, () => parseDefinition(text))).toBeLessThan(1_500);
  });
});

describe("what may be written", () => {
  test("anchors and aliases are copied in", () => {
    expect(readText("a: &a {b: [1]}\nc: *a\nd: [*a, *a]").value).toEqual({
      a: { b: [1] },
      c: { b: [1] },
      d: [{ b: [1] }, { b: [1] }],
    });
  });

  test("NUL and half pairs stay in values when they are escaped", () => {
    expect(readText('a: "\\0 \\ud800 \\ud83d\\ude00 \\/ \\x41 \\U0001F600"').value).toEqual({
      a: "\0 \ud800 😀 / A 😀",
    });
  });

  test("words of YAML 1.1 are texts, as 1.2 has it", () => {
    expect(readText("a: yes\nb: 0o17\nc: 2026-01-01\nd: 1_000\ne: ~\nf: off").value).toEqual({
      a: "yes",
      b: 15,
      c: "2026-01-01",
      d: "1_000",
      e: null,
      f: "off",
    });
  });

  test("a text may look like a mark, a tag or a directive", () => {
    expect(readText("a: ---\nb: |\n  !x\n  %y\nc: '!z'").value).toEqual({ a: "---", b: "!x\n%y\n", c: "!z" });
  });

  test("a byte order mark, a leading `---`, comments and CRLF", () => {
    expect(readText("\ufeff# note\r\n---\r\na: 1 # one\r\n").value).toEqual({ a: 1 });
  });
});
