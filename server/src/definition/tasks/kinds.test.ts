/** A kind's schema and its program agree. */
import { expect, test } from "vitest";
import { isObject } from "../../lib/json/json.ts";
import type { Inner } from "./kind.ts";
import { KINDS, kindOf } from "./kinds.ts";

/** Where in a task of these keys a value of this meaning stands. */
function placesOf(schema: unknown, isMeant: (schema: object) => boolean, path: string[] = []): string[] {
  if (!isObject(schema)) return [];
  if (isMeant(schema)) return [path.join("/")];
  const inner = Object.entries(schema["properties"] ?? {});
  const choices = (schema["oneOf"] as unknown[] | undefined) ?? [];
  return [
    ...inner.flatMap(([key, child]) => placesOf(child, isMeant, [...path, key])),
    ...choices.flatMap((child) => placesOf(child, isMeant, path)),
  ];
}

const written = (name: keyof typeof KINDS): object => {
  const { call, properties } = KINDS[name];
  return { properties: call === undefined ? properties : { with: { properties } } };
};

const isList = (schema: object): boolean =>
  ("$ref" in schema && schema.$ref === "#/$defs/tasks") || ("x-value" in schema && schema["x-value"] === "tasks");
const isVariable = (schema: object): boolean => "x-value" in schema && schema["x-value"] === "variable";

const names = Object.keys(KINDS) as (keyof typeof KINDS)[];

test.each(names)("%s: each list of tasks that an author may write is compiled, and each variable known", (name) => {
  const { blocks, variables = [] } = KINDS[name];
  expect(Object.values<Inner>(blocks).flatMap(({ at }) => (at ? [at.join("/")] : []))).toEqual(
    placesOf(written(name), isList),
  );
  expect(variables.flatMap(({ at }) => (at ? [at.join("/")] : []))).toEqual(placesOf(written(name), isVariable));
});

test("a task's kind is its keyword, a call's is the one that it names", () => {
  expect(kindOf({ for: {}, do: [] })).toBe("for");
  expect(kindOf({ then: "end", do: [] })).toBe("do");
  expect(kindOf({ call: "each:1.0.0@default" })).toBe("each");
  expect(kindOf({ call: "each" })).toBe("function");
  expect(kindOf({ call: "grpc" })).toBe(undefined);
  expect(kindOf({ call: "each:1.0.0@elsewhere" })).toBe(undefined);
  expect(kindOf({ call: 7 })).toBe(undefined);
  expect(kindOf({ http: {} })).toBe(undefined);
  expect(kindOf(null)).toBe(undefined);
});
