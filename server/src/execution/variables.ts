/** The variables of expressions that do not come from the definition (DSL reference "Runtime expression arguments"). */
import type { Variables } from "../expressions/expressions.ts";
import type { Program } from "../definition/program.ts";
import { encodeId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { VERSION } from "../lib/version.ts";
import type { Head } from "./journal/loaded-run.ts";

/** Makes the variables that an expression sees. Those that are costly, only if it uses them. */
export type MakeVariables = (used: ReadonlySet<string>) => Variables;

/** The DSL's date-time descriptor of a time in ms. */
export const moment = (time: number): JsonObject => ({
  iso8601: new Date(time).toISOString(),
  epoch: { seconds: Math.floor(time / 1000), milliseconds: time },
});

export const workflowOf = (program: Program, head: Head): JsonObject => ({
  id: encodeId("run", head.id),
  definition: program.definition,
  input: head.input,
  startedAt: moment(head.startedAt ?? head.createdAt),
});

/** `$runtime`, with `now` when an expression that uses it is evaluated; the result it went into is committed with the step. */
export const runtimeOf = (now: number): JsonObject => ({
  name: "autograph",
  version: VERSION,
  metadata: {},
  now: moment(now),
});

/** True as in jq: anything except `false` and `null`. */
export const truthy = (value: Json): boolean => value !== false && value !== null;
