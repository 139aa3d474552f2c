/** The schemas of a task's input, output and export and of the workflow's output. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { LIMITS } from "../../lib/limits.ts";
import { quote } from "../text/problem.ts";
import { reasonOf } from "./reasons.ts";
import { SchemaWalk, TooCostly, type Violation } from "./schema-walk.ts";

/** undefined: the value fits; else a sentence such as `items.3.price must be a number`. */
export type SchemaCheck = (value: Json) => string | undefined;

const TOO_COSTLY = `is too large to be checked by this schema in ${LIMITS.schemaSteps} steps`;

/** `document` has passed the linter. A check fails after `LIMITS.schemaSteps` steps (about 20 ms). */
export function compileSchema(document: JsonObject): SchemaCheck {
  return (value) => {
    try {
      const [violation] = new SchemaWalk(document, { most: 1 }).check(value).violations;
      return violation && sentence(violation);
    } catch (error) {
      if (error instanceof TooCostly) return TOO_COSTLY;
      throw error;
    }
  };
}

function sentence(violation: Violation): string {
  const isOfParent = violation.key !== undefined;
  const path = isOfParent ? violation.path.slice(0, -1) : violation.path;
  const place =
    path.length === 0
      ? "the value"
      : path.map((part) => (typeof part === "number" ? part : /^[\w-]+$/.test(part) ? part : quote(part))).join(".");
  return `${place} ${reasonOf(violation)}`;
}
