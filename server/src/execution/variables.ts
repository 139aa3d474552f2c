/** The variables of expressions that do not come from the definition (DSL reference "Runtime expression arguments"). */
import type { Variables } from "../definition/expressions/expressions.ts";
import type { Plan } from "../definition/plan.ts";
import { encodeId } from "../lib/ids.ts";
import type { Json, JsonObject } from "../lib/json/json.ts";
import { VERSION } from "../lib/version.ts";
import type { Execution } from "./execution.ts";
import type { Head } from "./journal/loaded-run.ts";

/** The DSL's date-time descriptor of a time in ms. */
export const moment = (time: number): JsonObject => ({
  iso8601: new Date(time).toISOString(),
  epoch: { seconds: Math.floor(time / 1000), milliseconds: time },
});

export const workflowOf = (plan: Plan, head: Head): JsonObject => ({
  id: encodeId("run", head.id),
  definition: plan.definition,
  input: head.input,
  startedAt: moment(head.startedAt ?? head.createdAt),
});

/** `$runtime`, with `now` fixed when it is first read; the result it went into is committed with the step. */
export function runtimeOf(execution: Execution): Variables {
  let now: JsonObject | undefined;
  const runtime = {
    name: "autograph",
    version: VERSION,
    metadata: {},
    get now(): JsonObject {
      return (now ??= moment(execution.now()));
    },
  };
  return { runtime };
}

/** Defines a variable whose value is made when it is first read. */
export function defineLazily(name: string, make: () => Json): Variables {
  let made: Json | undefined;
  return Object.defineProperty({}, name, { enumerable: true, get: () => (made ??= make()) });
}

/** True as in jq: anything except `false` and `null`. */
export const truthy = (value: Json): boolean => value !== false && value !== null;
