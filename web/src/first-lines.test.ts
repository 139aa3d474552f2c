import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSchema, parse, validate } from "graphql";
import { expect, test } from "vitest";

const lines = readFileSync(join(import.meta.dirname, "first-lines.graphql"), "utf8");

test("the ten lines to paste fit the schema", () => {
  const schema = buildSchema(readFileSync(join(import.meta.dirname, "../../schema.graphql"), "utf8"));
  expect(validate(schema, parse(lines)).map(({ message }) => message)).toEqual([]);
  expect(lines.trimEnd().split("\n")).toHaveLength(10);
});
