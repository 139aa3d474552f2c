import { compileExpression, compileTemplate, type Template } from "../../expressions/template.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { compileDuration, include } from "./program-parts.ts";
import { object, ref, variable } from "../schema/schema-words.ts";
import type { Duration, ErrorDefinition, ExpressionText, InnerList } from "./written.ts";
import { variableName, type Kind, type Named, type Variable } from "./kind.ts";

type TryTask = {
  try: InnerList;
  catch: {
    errors?: { with?: Partial<ErrorDefinition> };
    as?: string;
    when?: ExpressionText;
    exceptWhen?: ExpressionText;
    retry?: RetryPolicy | string;
    do?: InnerList;
  };
};

export type RetryPolicy = {
  when?: ExpressionText;
  exceptWhen?: ExpressionText;
  delay?: Duration;
  backoff?:
    | { constant: JsonObject }
    | { linear: { increment?: Duration } }
    | { exponential: { factor?: number; maxDelay?: Duration } };
  limit?: { attempt?: { count?: number; duration?: Duration }; duration?: Duration };
  jitter?: { from: Duration; to: Duration };
};

export type Catch = {
  /** Only errors with these fields are caught; `type` is compared by its last segment. */
  with?: Template;
  as: string;
  when?: Template;
  exceptWhen?: Template;
  retry?: Retry;
};

export type Retry = {
  when?: Template;
  exceptWhen?: Template;
  delay?: Template;
  backoff:
    | { is: "constant" }
    | { is: "linear"; increment?: Template }
    | { is: "exponential"; factor: number; maxDelay?: Template };
  attempts?: number;
  attemptDuration?: Template;
  duration?: Template;
  jitter?: { from: Template; to: Template };
};

const ERROR: Variable = { at: ["catch", "as"], otherwise: "error", knownIn: [["catch"]] };

export const tryTask = {
  properties: {
    try: ref("tasks"),
    catch: object("catch", {
      errors: object("errors", { with: ref("errorFilter") }),
      as: variable,
      when: ref("expression"),
      exceptWhen: ref("expression"),
      retry: {
        type: ["string", "object"],
        "x-say": "write a retry policy, or the name of one under use.retries",
        "x-choose": "type",
        oneOf: [
          { type: "string", "x-value": "use.retries" },
          { type: "object", ...ref("retry") },
        ],
      },
      do: ref("tasks"),
    }),
  },
  required: ["try", "catch"],
  variables: [ERROR],
  waitsFor: "nothing",
  blocks: { try: { at: ["try"], way: "tries" }, catch: { at: ["catch", "do"], way: "catch", isOptional: true } },
  compile: (task: TryTask, named: Named): { catch: Catch } => ({ catch: compileCatch(task, named) }),
} satisfies Kind;

function compileCatch(task: TryTask, named: Named): Catch {
  const { errors, when, exceptWhen, retry } = task.catch;
  return {
    ...include("with", errors?.with as Json | undefined, compileTemplate),
    as: variableName(task, ERROR),
    ...include("when", when, compileExpression),
    ...include("exceptWhen", exceptWhen, compileExpression),
    ...include("retry", retry, (policy) => compileRetry(named("retries", policy))),
  };
}

function compileRetry(policy: RetryPolicy): Retry {
  const { backoff, limit, jitter } = policy;
  return {
    ...include("when", policy.when, compileExpression),
    ...include("exceptWhen", policy.exceptWhen, compileExpression),
    ...include("delay", policy.delay, compileDuration),
    backoff: compileBackoff(backoff),
    ...include("attempts", limit?.attempt?.count, (count) => count),
    ...include("attemptDuration", limit?.attempt?.duration, compileDuration),
    ...include("duration", limit?.duration, compileDuration),
    ...include("jitter", jitter, ({ from, to }) => ({ from: compileTemplate(from), to: compileTemplate(to) })),
  };
}

function compileBackoff(backoff: RetryPolicy["backoff"]): Retry["backoff"] {
  if (backoff && "exponential" in backoff) {
    const { factor, maxDelay } = backoff.exponential;
    return { is: "exponential", factor: factor ?? 2, ...include("maxDelay", maxDelay, compileDuration) };
  }
  if (backoff && "linear" in backoff)
    return { is: "linear", ...include("increment", backoff.linear.increment, compileDuration) };
  return { is: "constant" };
}
