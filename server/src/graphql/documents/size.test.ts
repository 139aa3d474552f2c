import { parse } from "graphql";
import { expect, test } from "vitest";
import { LIMITS } from "../../lib/limits.ts";
import { checkSize, nestingOf } from "./size.ts";

test.each([
  ["", 0],
  ["{ a(b: [1]) }", 3],
  ["{} {} [] () {}", 1],
  ["{ {} { {} } }", 3],
  ["}}} {", 0],
  ['{ a(b: "[[[[") }', 2],
  ['{ a(b: "\\"[[[[") }', 2],
  ['{ a(b: "\\\\" [[[[', 6],
  ['{ a(b: "" [[', 4],
  ['{ a(b: """ [ " [[ "" [[ """ [', 3],
  ['{ a(b: """ \\""" [[[ """ [', 3],
  ['{ a(b: """"""[', 3],
  ['{ a(b: """ \\" [[ """ [', 3],
  ['{ "[[[[', 1],
  ['{ """[[[[', 1],
  ['{ """[[[["" ', 1],
  ['{ "[[[[\n[', 2],
  ['{ "[[[[\r[', 2],
  ["{ # [[[[\n(", 2],
  ["{ # [[[[\r(", 2],
  ["{ # [[[[", 1],
  ['{ # "\n[ # "', 2],
])("%j has brackets %i deep", (text, depth) => expect(nestingOf(text)).toBe(depth));

const repeat = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");
const nested = (depth: number): string => `${"{ a ".repeat(depth)}${"}".repeat(depth)}`;
const refusalOf = (text: string): string | undefined => {
  try {
    checkSize(parse(text));
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: "QUERY_TOO_COMPLEX" });
    return (error as Error).message;
  }
};
const DEEP = LIMITS.queryDepth;
const DIRECTIVE = "@include(if: true)";

/** Each with one more than there may be; `undefined`: with as many as there may be. */
test.each<[string, (count: number) => string, string, number]>([
  ["nested fields", nested, "levels", DEEP],
  ["an inline fragment is no level", (count) => `{ ... on A { ... ${nested(count)} } }`, "levels", DEEP],
  ["a fragment is no level of its own", (count) => `{ ...F } fragment F on A ${nested(count)}`, "levels", DEEP],
  ["levels around a fragment", (count) => `{ a { ...F } } fragment F on A ${nested(count - 1)}`, "levels", DEEP],
  ["the deepest counts", (count) => `{ b ...F c { d } } fragment F on A ${nested(count)}`, "levels", DEEP],
  ["in the second of two operations", (count) => `query A { a } query B ${nested(count)}`, "levels", DEEP],
  ["aliases", (count) => `{ ${repeat(count, (at) => `a${at}: b`)} }`, "aliases", LIMITS.queryAliases],
  [
    "aliases in all places",
    (count) => `{ c { ${repeat(count - 2, (at) => `a${at}: b`)} } ... { x: b } ...F } fragment F on A { y: b }`,
    "aliases",
    LIMITS.queryAliases,
  ],
  ["directives of a field", (count) => `{ a ${repeat(count, () => DIRECTIVE)} }`, "directives", LIMITS.queryDirectives],
  [
    "directives in all places",
    (count) =>
      `query A @a { a { b ${repeat(count - 4, () => DIRECTIVE)} } ... @b { a } ...F @c } fragment F on A @d { a }`,
    "directives",
    LIMITS.queryDirectives,
  ],
  ["fields of one name", (count) => `{ ${repeat(count, () => "a")} b b }`, "fields of one name", LIMITS.queryRepeats],
  [
    "fields of one name in all places",
    (count) => `{ x: a b { ${repeat(count - 2, () => "x")} } ...F } fragment F on A { x: b }`,
    "fields of one name",
    LIMITS.queryRepeats,
  ],
  [
    "selections, fragments written out",
    // 2 + 100 × (1 + 49)
    (count) =>
      `{ b ...G } fragment G on A { ${repeat(100, () => "...F")} } fragment F on A { ${repeat(48, (at) => `a${at}`)} ${count > LIMITS.querySelections ? "more" : ""} }`,
    "selections with its fragments spread",
    LIMITS.querySelections,
  ],
])("%s: the maximum is accepted, one more is refused", (_, text, what, most) => {
  expect(refusalOf(text(most))).toBeUndefined();
  expect(refusalOf(text(most + 1))).toMatch(new RegExp(`^the query has \\d+ ${what}, and the maximum is ${most}$`));
});

test("selections are counted to the last", () => {
  const text = (count: number): string =>
    `{ ${repeat(50, () => "...F")} ...G } fragment F on A { ${repeat(98, (at) => `a${at}`)} } fragment G on A { ${repeat(count, (at) => `b${at}`)} }`;
  // 50 × (1 + 98) + 1 + 49
  expect(refusalOf(text(49))).toBeUndefined();
  expect(refusalOf(text(50))).toBe("the query has 5001 selections with its fragments spread, and the maximum is 5000");
  expect(refusalOf(`query A ${text(49)} query B { a }`)).toContain("5001 selections");
});

test("a fragment is looked at once, however often it is spread", () => {
  const chain = repeat(50, (at) => `fragment F${at} on A { ...F${at + 1} ...F${at + 1} }`);
  // The last has one, each before it twice what the next has and two; and the first spread.
  expect(refusalOf(`{ ...F0 } ${chain} fragment F50 on A { a }`)).toContain(`${3 * 2 ** 50 - 1} selections`);
});

test("the standard introspection query may be as deep as it is", () => {
  expect(refusalOf(`{ __schema ${nested(40)} }`)).toBeUndefined();
  expect(refusalOf(`{ __schema { ${repeat(5_000, (at) => `a${at}`)} } }`)).toContain("5001 selections");
});

test("what a validation refuses later is no reason to fail here", () => {
  expect(refusalOf("{ ...Nowhere }")).toBeUndefined();
  expect(refusalOf(`{ ...Nowhere ...Nowhere ${"a ".repeat(LIMITS.queryRepeats + 1)} }`)).toContain("of one name");
  expect(refusalOf(`{ ...Nowhere a ${nested(DEEP)} }`)).toContain(`${DEEP + 1} levels`);
  expect(refusalOf("type A { b: C } { a }")).toBeUndefined();
  expect(refusalOf("fragment F on A { a }")).toBeUndefined();
  expect(refusalOf("scalar A")).toBeUndefined();
});

test("answers how many aliases there are", () => {
  expect(checkSize(parse("{ a: b c { d: e f } }")).aliases).toBe(2);
});
