import { compileExpression, type Template } from "../../expressions/template.ts";
import { include } from "./program-parts.ts";
import { object, ref, variable } from "../schema/schema-words.ts";
import type { ExpressionText, InnerList } from "./written.ts";
import { variableName, type Kind, type Variable } from "./kind.ts";

type ForTask = {
  for: { each?: string; in: ExpressionText; at?: string };
  while?: ExpressionText;
  do: InnerList;
};

type For = {
  /** The names of the variables that hold the item and its position, from 0. */
  each: string;
  at: string;
  in: Template;
  while?: Template;
};

const EACH: Variable = { at: ["for", "each"], otherwise: "item", knownIn: [["do"], ["while"]] };
const AT: Variable = { at: ["for", "at"], otherwise: "index", knownIn: [["do"], ["while"]] };

export const forTask = {
  properties: {
    for: object("for", { each: variable, in: ref("expression"), at: variable }, ["in"]),
    while: ref("expression"),
    do: ref("tasks"),
  },
  required: ["for", "do"],
  variables: [EACH, AT],
  waitsFor: "nothing",
  blocks: { do: { at: ["do"], way: "items" } },
  compile: (task: ForTask): For => ({
    each: variableName(task, EACH),
    at: variableName(task, AT),
    in: compileExpression(task.for.in),
    ...include("while", task.while, compileExpression),
  }),
} satisfies Kind;
