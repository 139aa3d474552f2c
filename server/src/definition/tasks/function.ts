import { compileExpression, compileTemplate, type Template } from "../../expressions/template.ts";
import { LIMITS } from "../../lib/limits.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Kind } from "./kind.ts";

/** A call of a function: a task that is written once, under `use.functions` (DSL reference "Call", "Use"). */
type FunctionTask = { call: string; with?: JsonObject };

/** The calls that the language defines itself, whether this release runs them or not. */
const OWN_CALLS = ["http", "openapi", "asyncapi", "grpc", "mcp", "a2a"];

export const FUNCTION_NAME = `^(?!(?:${OWN_CALLS.join("|")})$)[A-Za-z_][\\w.-]{0,${LIMITS.identifierCharacters - 1}}$`;

export const functionTask = {
  callsFunction: true,
  properties: {
    with: { type: "object", "x-value": "template", "x-say": "write the names of arguments with their values" },
  },
  required: [],
  waitsFor: "nothing",
  blocks: { function: { way: "once" } },
  compile: ({ with: given }: FunctionTask): { arguments: Template } => ({
    // Without arguments, the function gets the task's input.
    arguments: given === undefined ? compileExpression(".") : compileTemplate(given),
  }),
} satisfies Kind;
