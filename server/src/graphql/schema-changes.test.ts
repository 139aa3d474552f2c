/** The released contract stays: a client that works with the last release's schema works with this one. */
import { readFileSync } from "node:fs";
import {
  buildSchema,
  DangerousChangeType,
  findBreakingChanges,
  findDangerousChanges,
  isEnumType,
  type GraphQLSchema,
} from "graphql";
import { expect, test } from "vitest";
import { MAY_GROW } from "./builder/enums.ts";
import { RELEASED_SCHEMA_FILE, schemaText } from "./print-schema.ts";

/** The changes that can break a client that keeps to the documentation, a sentence each. */
function breaks(from: GraphQLSchema, to: GraphQLSchema): string[] {
  const dangerous = findDangerousChanges(from, to).filter(({ type, description }) => {
    if (type === DangerousChangeType.VALUE_ADDED_TO_ENUM)
      return !growing(from).some((name) => description.startsWith(`Enum value ${name}.`));
    // A client does not notice what it neither sends nor asks for.
    return type === DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE || type === DangerousChangeType.TYPE_ADDED_TO_UNION;
  });
  return [...findBreakingChanges(from, to), ...dangerous].map(({ description }) => description);
}

const growing = (schema: GraphQLSchema): string[] =>
  Object.values(schema.getTypeMap())
    .filter((type) => isEnumType(type) && type.description?.includes(MAY_GROW))
    .map(({ name }) => name);

const SAMPLE = `
  enum Closed { a b }
  """Sample. ${MAY_GROW}"""
  enum Open { a b }
  type Query { one(first: Int = 10, of: Open): String, two: Closed! }`;

test.each([
  ["a field removed", SAMPLE.replace("two: Closed!", "three: Int"), 1],
  ["a field nullable", SAMPLE.replace("two: Closed!", "two: Closed"), 1],
  ["an argument required", SAMPLE.replace("of: Open", "of: Open!"), 1],
  ["a default changed", SAMPLE.replace("= 10", "= 20"), 1],
  ["a value added to a closed enum", SAMPLE.replace("Closed { a b", "Closed { a b c"), 1],
  ["a value added to an enum that may grow", SAMPLE.replace("Open { a b", "Open { a b c"), 0],
  [
    "a field and an optional argument added",
    SAMPLE.replace("of: Open)", "of: Open, more: Int)").replace("two:", "three: Int, two:"),
    0,
  ],
])("%s", (_, text, count) => {
  expect(breaks(buildSchema(SAMPLE), buildSchema(text))).toHaveLength(count);
});

test("docs/api.md names each enumeration that may grow, and no other", () => {
  const page = readFileSync(new URL("../../../docs/api.md", import.meta.url), "utf8");
  const [, names] = /a client must accept values of these that it does not know:\n([^.]*)\./.exec(page)!;
  expect(names!.match(/\w+/g)).toEqual(growing(buildSchema(schemaText())).toSorted());
});

test("nothing that was released breaks: add beside it, and deprecate what goes (CONTRIBUTING.md)", () => {
  const released = buildSchema(readFileSync(RELEASED_SCHEMA_FILE, "utf8"));
  expect(breaks(released, buildSchema(schemaText()))).toEqual([]);
});
