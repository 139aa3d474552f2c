/** Building blocks of programs. */
import type { Json } from "../../lib/json/json.ts";
import type { Demand } from "../../expressions/parsing/given.ts";
import { secretArgumentsOf, type SecretArguments } from "../../expressions/secret-arguments.ts";
import { compileExpression, compileTemplate, type Template } from "../../expressions/template.ts";
import type { Duration } from "./written.ts";

export const compileDuration = (value: Duration): Template => compileTemplate(value);

/** `from` and `as` take an expression text, or an object with expressions in it. */
export const compileTemplateOrExpression = (value: Json): Template =>
  typeof value === "string" ? compileExpression(value) : compileTemplate(value);

/** The arguments of a call. `secretive`: how it is kept and filled in, if it names secrets. */
export type CallArguments = { arguments: Template; secretive?: SecretArguments };

export function compileArguments(values: Json, demand: Demand): CallArguments {
  const template = compileTemplate(values, demand);
  return { arguments: template, ...include("secretive", secretArgumentsOf(template), (secretive) => secretive) };
}

/** `{[key]: make(value)}`, or nothing if there is no value: exactOptionalPropertyTypes forbids undefined. */
export function include<Key extends string, Value, Made>(
  key: Key,
  value: Value | undefined,
  make: (value: Value) => Made,
): { [K in Key]?: Made } {
  return value === undefined ? {} : ({ [key]: make(value) } as { [K in Key]?: Made });
}
