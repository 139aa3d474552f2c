import { LIMITS } from "../../lib/limits.ts";
import { compileExpression, type Template } from "../../expressions/template.ts";
import { fixed, ref, variable } from "../schema/schema-words.ts";
import type { ExpressionText, InnerList } from "./written.ts";
import { variableName, type Kind, type Variable } from "./kind.ts";

/** Runs the tasks of `do` for every item, several at the same time; the results are in order. */
type EachTask = {
  call: string;
  with: {
    in: ExpressionText;
    /** Name of the variable that holds the item. `index` holds its position, from 0. */
    item?: string;
    /** How many items run at the same time. */
    concurrency?: number;
    /** `stop` (default): the first error ends the task; `collect`: each result is `{output}` or `{error}`. */
    onError?: "stop" | "collect";
    do: InnerList;
  };
};

type Each = { in: Template; item: string; concurrency: number; collects: boolean };

const CONCURRENCY = 10;
const ITEM: Variable = { at: ["with", "item"], otherwise: "item", knownIn: [["with", "do"]] };
const INDEX: Variable = { otherwise: "index", knownIn: [["with", "do"]] };

export const eachTask = {
  call: "each:1.0.0@default",
  properties: {
    in: ref("expression"),
    item: variable,
    concurrency: {
      type: "integer",
      minimum: 1,
      maximum: LIMITS.eachConcurrency,
      "x-say": `write a whole number from 1 to ${LIMITS.eachConcurrency}`,
    },
    onError: fixed(["stop", "collect"]),
    do: ref("tasks"),
  },
  required: ["in", "do"],
  variables: [ITEM, INDEX],
  waitsFor: "nothing",
  blocks: { do: { at: ["with", "do"], way: "items" } },
  compile: (task: EachTask): Each => ({
    in: compileExpression(task.with.in),
    item: variableName(task, ITEM),
    concurrency: task.with.concurrency ?? CONCURRENCY,
    collects: task.with.onError === "collect",
  }),
} satisfies Kind;
