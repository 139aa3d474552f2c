/**
 * The profile as a JSON Schema (draft 2020-12): what a definition may contain. Any validator can read it. The keywords that
 * begin with `x-` are ours: `x-say` is what to write instead, `x-refused` why a part of the DSL is not accepted, `x-what` the
 * word for it in messages, `x-alone` the keys that exclude each other (`x-because`: why); `x-choose` and `x-value` are explained in
 * schema-walk.ts. Whatever the profile accepts, the DSL 1.0.3's own schema accepts too.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { AUTHENTICATION_SCHEMAS } from "./profile-authentication.ts";
import { FORM_SCHEMAS } from "./profile-forms.ts";
import {
  fixed,
  label,
  list,
  map,
  object,
  ref,
  refused,
  text,
  version,
  type Properties,
} from "../schema/schema-words.ts";
import { VISIBLE } from "../../lib/text.ts";
import { TASK_SCHEMAS } from "./profile-tasks.ts";
import { FUNCTION_NAME } from "../tasks/function.ts";
import { REFUSED } from "../schema/refusals.ts";
import { SchemaWalk, TooCostly, type SchemaObject } from "../schema/schema-walk.ts";

/** Names are shown on one line and stored in columns of type text, which cannot hold NUL. */
const ONE_LINE = "^[^\\p{Cc}\\p{Surrogate}]*$";
const MANY_LINES = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f\\p{Surrogate}]*$";

const DOCUMENT: Properties = {
  dsl: text({ pattern: "^1\\.0\\.(0|[1-9]\\d*)$", "x-say": 'write the version of the language, "1.0.3"' }),
  namespace: label("billing"),
  name: label("order-intake"),
  version,
  title: text({
    pattern: ONE_LINE,
    minLength: 1,
    maxLength: LIMITS.nameCharacters,
    "x-say": "write one line of text",
    allOf: [{ pattern: VISIBLE, "x-say": "write a visible character" }],
  }),
  summary: text({
    pattern: MANY_LINES,
    maxLength: LIMITS.descriptionCharacters,
    "x-say": "write text without control characters",
  }),
  tags: map({ type: ["string", "number", "boolean"], "x-say": "write one word or number" }),
  metadata: map(true),
};

const USE: Properties = {
  authentications: { ...map(ref("authentication")), propertyNames: ref("name") },
  errors: { ...map(ref("error")), propertyNames: ref("name") },
  retries: { ...map(ref("retry")), propertyNames: ref("name") },
  timeouts: { ...map(ref("timeout")), propertyNames: ref("name") },
  functions: {
    ...map(ref("task")),
    propertyNames: ref("functionName"),
    maxProperties: LIMITS.functionsPerDefinition,
    "x-value": "functions",
    "x-say": `write at most ${LIMITS.functionsPerDefinition} functions`,
  },
  secrets: list(ref("secretName"), {
    maxItems: LIMITS.secretsPerDefinition,
    uniqueItems: true,
    "x-say": `write a list of at most ${LIMITS.secretsPerDefinition} names of secrets, each once`,
  }),
  catalogs: refused(REFUSED.catalogs),
  extensions: refused(REFUSED.extensions),
};

const EVALUATE: Properties = {
  language: fixed(["jq"]),
  mode: { type: "string", enum: ["strict"], "x-refused": REFUSED.loose },
};

const ROOT: Properties = {
  document: object("document", DOCUMENT, ["dsl", "namespace", "name", "version"]),
  input: object("input", { schema: schemaOf("form"), from: ref("fromOrAs") }),
  output: ref("output"),
  use: object("use", USE),
  timeout: ref("timeoutOrName"),
  do: ref("tasks"),
  evaluate: object("evaluate", EVALUATE),
  schedule: {
    ...object("schedule", {
      cron: refused(REFUSED.scheduleCron),
      every: refused(REFUSED.scheduleEvery),
      after: refused(REFUSED.scheduleAfter),
      on: refused(REFUSED.scheduleOn),
    }),
    minProperties: 1,
    "x-say": REFUSED.schedule,
  },
};

/** `{format: json, document: …}`. */
function schemaOf(name: "form" | "schema"): SchemaObject {
  const properties: Properties = {
    format: text({ pattern: "^json(:.{1,20})?$", "x-say": "write json" }),
    document: ref(name),
    resource: refused(REFUSED.resource),
  };
  return object("schema", properties, ["document"]);
}

/** Whether the properties of a JSON Schema are such that a form can have them as its fields. */
export function isForm({ type, properties, required = [] }: JsonObject): boolean {
  const form = { type: type ?? "object", properties: properties ?? {}, required };
  try {
    return new SchemaWalk({ ...ref("form"), $defs: PROFILE["$defs"] }, { most: 1 }).check(form).violations.length === 0;
  } catch (error) {
    if (error instanceof TooCostly) return false;
    throw error;
  }
}

export const PROFILE: SchemaObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Autograph's profile of the CNCF workflow DSL 1.0.3",
  ...object("a definition", ROOT, ["document", "do"]),
  $defs: {
    ...TASK_SCHEMAS,
    ...FORM_SCHEMAS,
    input: object("input", { schema: schemaOf("schema"), from: ref("fromOrAs") }),
    output: object("output", { schema: schemaOf("schema"), as: ref("fromOrAs") }),
    export: object("export", { schema: schemaOf("schema"), as: ref("fromOrAs") }),
    expression: text({
      "x-value": "expression",
      "x-say": 'write an expression in quotes, such as "${ .total > 100 }"',
    }),
    fromOrAs: {
      type: ["string", "object"],
      "x-value": "fromOrAs",
      "x-say": "write an expression, or an object with expressions in it",
    },
    name: {
      type: "string",
      pattern: `^[A-Za-z_][\\w.-]{0,${LIMITS.identifierCharacters - 1}}$`,
      "x-say": `write 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores`,
    },
    functionName: {
      type: "string",
      pattern: FUNCTION_NAME,
      "x-say": `write 1 to ${LIMITS.identifierCharacters} letters, digits, dots, hyphens and underscores that are not a call of the language such as http`,
    },
    timeout: { ...object("timeout", { after: ref("duration") }, ["after"]), "x-value": "timeout" },
    timeoutOrName: {
      type: ["string", "object"],
      "x-say": "write `after: PT30S` under it, or the name of a timeout under use.timeouts",
      "x-choose": "type",
      oneOf: [
        { type: "string", "x-value": "use.timeouts" },
        { type: "object", ...ref("timeout") },
      ],
    },
    duration: {
      type: ["string", "object"],
      "x-say": "write a duration such as PT1M30S, or an object such as {minutes: 1, seconds: 30}",
      "x-choose": "type",
      oneOf: [
        { type: "string", "x-value": "duration" },
        {
          ...object(
            "a duration",
            Object.fromEntries(
              ["days", "hours", "minutes", "seconds", "milliseconds"].map((unit) => [unit, ref("amount")]),
            ),
          ),
          minProperties: 1,
          "x-value": "duration",
          "x-say": "write at least one of them, such as {minutes: 1, seconds: 30}",
        },
      ],
    },
    amount: { type: "integer", minimum: 0, "x-say": "write a whole number from 0" },
    errorType: text({ "x-value": "errorType" }),
    error: object(
      "an error",
      {
        type: ref("errorType"),
        status: { type: "integer", minimum: 100, maximum: 599, "x-say": "write a number such as 500" },
        instance: text({ "x-value": "instance" }),
        title: text({ "x-value": "template" }),
        detail: text({ "x-value": "template" }),
      },
      ["type", "status"],
    ),
    errorFilter: {
      ...object("an error filter", {
        type: text({ "x-value": "template" }),
        status: { type: "integer" },
        instance: text({ "x-value": "template" }),
        title: text({ "x-value": "template" }),
        detail: text({ "x-value": "template" }),
      }),
      minProperties: 1,
      "x-say": "write at least one of type, status, title, detail, instance",
    },
    ...AUTHENTICATION_SCHEMAS,
    retry: {
      ...object("a retry policy", {
        when: ref("expression"),
        exceptWhen: ref("expression"),
        delay: ref("duration"),
        backoff: ref("backoff"),
        limit: object("limit", {
          attempt: object("attempt", {
            count: {
              type: "integer",
              minimum: 1,
              maximum: LIMITS.attemptsPerStep,
              "x-say": `write a whole number from 1 to ${LIMITS.attemptsPerStep}`,
            },
            duration: ref("duration"),
          }),
          duration: ref("duration"),
        }),
        jitter: {
          ...object("jitter", { from: ref("duration"), to: ref("duration") }, ["from", "to"]),
          "x-value": "jitter",
        },
      }),
      "x-value": "retry",
    },
    backoff: {
      type: "object",
      minProperties: 1,
      maxProperties: 1,
      "x-choose": "key",
      "x-say": "write exactly one of constant, linear, exponential",
      oneOf: [
        object("backoff", { constant: object("constant", {}) }, ["constant"]),
        object("backoff", { linear: object("linear", { increment: ref("duration") }) }, ["linear"]),
        object(
          "backoff",
          {
            exponential: object("exponential", {
              factor: { type: "number", minimum: 1, maximum: 100, "x-say": "write a number from 1 to 100" },
              maxDelay: ref("duration"),
            }),
          },
          ["exponential"],
        ),
      ],
    },
  },
};
